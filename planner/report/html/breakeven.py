"""Break-even marks on the hit curve: what ``planner breakeven`` finds at the plan that the page is about.

Every capacity comes from :mod:`planner.study.breakeven`, valued at the stored decision, so nothing is solved; a tier is
marked where a capacity that the plan's nodes hold pays beside free HBM.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.physics.system import System
from planner.plan import Evaluation
from planner.report.derivation import meaning
from planner.report.format import safe, significant, size, usd
from planner.report.tabular import HOURS_PER_MONTH
from planner.study.breakeven import BreakEven, BreakEvens, at_plan, partition_name

CLOSE = 0.02  # relative: a plan that holds so nearly what breaks even needs no reason
HEAD = (
    "Break-even: the capacity of that tier, beside free HBM and up to what the plan's nodes hold, at which the next "
    "byte rents for what it saves in prefill GPUs (planner breakeven)."
)


@dataclass(frozen=True)
class Mark:
    """One tier's break-even on one partition's curve; ``reached_bytes`` counts the HBM that it does not repeat."""

    tier: str
    partition: int
    capacity_bytes: float
    reached_bytes: float
    hit_rate: float


@dataclass(frozen=True)
class Marks:
    """All marks, and why the plan holds something else."""

    marks: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()


def break_evens(system: System, found: Evaluation) -> Marks:
    """The marks of every tier that has a price; none where the plan is not of this scenario."""
    decision = found.decision
    configs = {decision.prefill_config, decision.decode_config or decision.prefill_config}
    if not configs <= system.config_by_name.keys():
        return Marks()
    try:
        known = at_plan(system, found)
    except ArithmeticError:  # a decision that no solve wrote: capacities or hits without physics
        return Marks()
    places = {partition_name(system, j): j for j in range(len(system.laws))}
    marks, notes = [], []
    for row in known.rows:
        j = places[row.partition]
        if row.within.pays:
            law = system.partition_law(j, decision.architecture, decision.prefill_instances)
            reached = row.within.size_bytes + (0.0 if system.inclusive else known.plan.decision.hbm_bytes[j])
            marks.append(Mark(row.tier, j, row.within.size_bytes, reached, law.hit_rate(reached)))
        notes += [f"{_name(row)}: {said}." for said in _reasons(row, known)]
    return Marks(tuple(marks), (HEAD, *notes) if marks else tuple(notes))


def _name(row: BreakEven) -> str:
    return safe(row.tier, 24) + (f" ({safe(row.partition, 40)})" if row.partition else "")


def _reasons(row: BreakEven, known: BreakEvens) -> list[str]:
    """Why there is no mark, or why the plan holds more or less than where it stands."""
    if not row.optimum.pays:
        return ["no capacity of it saves more than it costs: what pays is in free HBM already"]
    out = []
    if row.optimum.size_bytes > row.limit_bytes * (1 + CLOSE):
        out.append(f"the curve alone would pay for {size(row.optimum.size_bytes)}, and the plan's nodes hold "
                   f"{size(row.limit_bytes)}")  # fmt: skip
    if not row.within.pays:
        return out
    if not row.plan_bytes:
        why = next((tier.why for tier in known.plan.tiers if tier.name == row.tier), "")
        return [*out, f"the plan leaves it out ({safe(why, 200)})"]
    if row.plan_bytes > row.within.size_bytes * (1 + CLOSE):
        out.append(f"the plan holds more, {size(row.plan_bytes)}{_because(_more(row, known))}")
    elif row.plan_bytes < row.within.size_bytes * (1 - CLOSE):
        out.append(f"the plan holds less, {size(row.plan_bytes)}{_because(_less(row))}")
    return out


def _because(why: str) -> str:
    return f": {why}" if why else ""


def _more(row: BreakEven, known: BreakEvens) -> str:
    """The promise or supply that asks for it: the tier's own first, else what the plan as a whole is held by."""
    binding = known.plan.binding
    own = [rule for rule in binding if rule.startswith(f"{row.tier}_")]
    shared = [rule for rule in binding if rule in ("ttft_budget", "prefill_queue", "prefill_utilization")]
    return "; ".join(meaning(rule).removeprefix(f"{row.tier}: ") for rule in own or shared)


def _less(row: BreakEven) -> str:
    """What the next terabyte is worth with whole GPUs."""
    worth = row.next_tb.plan_usd_per_hour
    if worth is None:
        return f"{size(row.next_tb.added_bytes)} more does not fit, its nodes hold {size(row.limit_bytes)}"
    if worth > 0:
        return ""
    amount = -worth * HOURS_PER_MONTH
    shown = usd(amount, 0) if amount >= 10 else f"${significant(amount)}"
    return f"with whole GPUs {size(row.next_tb.added_bytes)} more would cost {shown} a month more than it saves"
