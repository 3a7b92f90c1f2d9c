"""The plan's tables as plain text, for every document: HTML and Markdown only lay them out."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan import Evaluation, Plan, Pool, TierUse, TtftPath
from planner.report.format import (
    ABSENT,
    joined,
    ms,
    number,
    percent,
    quantity,
    rounded_to_sum,
    safe,
    size,
    usd,
    usd_per_mtok,
)
from planner.report.sections import pool
from planner.report.table import in_use
from planner.report.words import even

HOURS_PER_MONTH = 730.0  # a twelfth of a year, as clouds bill
HOURS_PER_YEAR = 8760.0


@dataclass(frozen=True)
class Table:
    """Rows of plain text; columns named in ``right`` are numbers. The last ``totals`` rows are sums."""

    caption: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    totals: int = 0
    code: frozenset[int] = frozenset()  # columns that are keys or formulas
    marked: frozenset[int] = frozenset()  # rows to set apart
    whole: frozenset[int] = frozenset()  # columns that never break
    under: int | None = None  # a column that may stand under the first one, in small print
    stack: bool = False  # each row is a block of its own on a narrow screen


def per_month(usd_per_hour: float) -> str:
    """Dollars per hour as whole dollars per month.

    >>> per_month(131.1525)
    '$95,741'
    """
    return usd(usd_per_hour * HOURS_PER_MONTH, 0)


def per_year(usd_per_hour: float) -> str:
    """Dollars per hour as whole dollars per year.

    >>> per_year(100)
    '$876,000'
    """
    return usd(usd_per_hour * HOURS_PER_YEAR, 0)


def short_design(found: Evaluation) -> str:
    """A design in a few words: architecture, GPUs, tiers.

    The bill tells the GPUs, so this also reads for a design whose pools are not known.
    """
    gpus = sum(line.quantity for line in found.costs if line.unit == "GPU")
    held = [f"{size(t.capacity_bytes)} {safe(t.name, 24)}" for t in in_use(found.tiers)]
    if not found.tiers:
        held = [f"{size(line.quantity * 1e9)} {safe(line.item, 24)}" for line in found.costs if line.unit == "GB"]
    return joined([found.decision.architecture, joined([f"{quantity(gpus)} GPUs" if gpus else "", *held], " + ")])


def ranked(plans: tuple[Plan, ...]) -> Table:
    """The ranked plans and what sets each apart from the first."""
    first = plans[0].evaluation.usd_per_hour or 1.0
    rows = [
        (
            str(plan.rank),
            per_month(plan.evaluation.usd_per_hour),
            per_year(plan.evaluation.usd_per_hour),
            usd_per_mtok(plan.evaluation.usd_per_million_tokens),
            "" if n == 0 else percent(plan.evaluation.usd_per_hour / first - 1.0, 1, signed=True),
            short_design(plan.evaluation),
            " + ".join(pool(p) for p in (plan.evaluation.prefill, plan.evaluation.decode) if p),
            even(safe("; ".join(plan.differs_by), 400)) or ABSENT,
        )
        for n, plan in enumerate(plans)
    ]
    titles = ("#", "per month", "per year", "$/Mtok", "above", "design", "instances", "differs by")
    right, marked = frozenset({1, 2, 3, 4}), frozenset({0})
    return Table("Ranked plans", titles, tuple(rows), right, marked=marked, stack=True)


def tiers(found: Evaluation) -> Table:
    """Each tier's role, and why it has that role; hits and misses sum to 100 %."""
    shares = rounded_to_sum([*(t.hit_rate for t in found.tiers), 1.0 - sum(t.hit_rate for t in found.tiers)], 3)
    rows = [_tier(tier, share) for tier, share in zip(found.tiers, shares, strict=False)]
    rows.append(("miss", "", "", percent(shares[-1], 1), "", "", "", ""))
    titles = ("tier", "role", "capacity", "hits", "reads", "fetch", "slack", "why")
    return Table("Cache tiers of the first plan", titles, tuple(rows), frozenset({2, 3, 4, 5, 6}), stack=True)


def _tier(tier: TierUse, share: float) -> tuple[str, ...]:
    why = safe(tier.why, 400)
    if tier.role == "unused":
        return (safe(tier.name, 40), "unused", *[ABSENT] * 5, why)
    fetched = tier.fetch_s > 0
    reads, fetch = (percent(tier.read_utilization), ms(tier.fetch_s)) if fetched else (ABSENT, ABSENT)
    figures = (size(tier.capacity_bytes), percent(share, 1), reads, fetch, ms(tier.slack_s))
    return (safe(tier.name, 40), tier.role, *figures, why)


def pools(found: Evaluation) -> Table:
    """What each pool runs and how busy it is."""
    named = [("prefill" if found.decode else "prefill and decode", found.prefill)]
    named += [("decode", found.decode)] if found.decode else []
    titles = ("pool", "instances", "GPUs", "nodes", "prefill load", "busy", "batch", "slots used", "TPOT")
    rows = tuple(_pool(*one) for one in named)
    return Table("Pools of the first plan", titles, rows, frozenset(range(2, 9)), stack=True)


def _pool(name: str, one: Pool) -> tuple[str, ...]:
    slots = one.instances * one.batch if one.batch else None
    return (
        name,
        pool(one),
        number(one.gpus),
        f"{one.nodes:.4g}",
        ABSENT if one.offered_load is None else f"{number(one.offered_load, 2)} of {quantity(one.servers or 0)}",
        ABSENT if one.utilization is None else percent(one.utilization),
        ABSENT if one.batch is None else number(one.batch),
        ABSENT if one.slots_needed is None or slots is None else f"{number(one.slots_needed)} of {number(slots)}",
        ABSENT if one.tpot_s is None else ms(one.tpot_s),
    )


def stages(path: TtftPath) -> tuple[float, ...]:
    """Queue, fetch, prefill and transfer, seconds."""
    return path.queue_s, path.fetch_s, path.prefill_s, path.transfer_s


def ttft(found: Evaluation) -> Table:
    """Every path in use, stage by stage; equal times look equal, so that sums may be off in the last digit."""
    rows = [
        (safe(path.class_name), safe(path.path), percent(path.probability, 1),
         *(number(1e3 * time_s, 1) for time_s in (*stages(path), path.total_s, path.slack_s)))
        for path in found.paths if path.in_use
    ]  # fmt: skip
    titles = ("class", "path", "share", "queue", "fetch", "prefill", "transfer", "total", "slack")
    caption = "Time to first token, path by path, ms (each rounded)"
    return Table(caption, titles, tuple(rows), frozenset(range(2, 9)))
