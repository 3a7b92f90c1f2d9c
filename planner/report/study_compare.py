"""A comparison as text, JSON and CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, safe, significant, usd, usd_per_mtok
from planner.report.grid import paragraph
from planner.report.sections import pool
from planner.report.study_common import csv_text, plan_row, table, titled

if TYPE_CHECKING:
    from planner.study.compare import Comparison, InputDifference, Outcome, Side

Data = dict[str, Any]
INPUTS_SHOWN = 20


def to_table(found: Comparison) -> str:
    """The services side by side; with two, what differs and why."""
    names = " against ".join(safe(s.name, 40) for s in found.sides[:2]) if len(found.sides) == 2 else "services"
    parts = [_services(found)]
    if len(found.sides) == 2:
        parts += [_inputs(found.inputs), _why(found.outcomes[0], found.inputs)]
    return titled(f"compare · {names}", *parts)


def _services(found: Comparison) -> list[str]:
    names = list(dict.fromkeys(t.name for s in found.sides if s.plan for t in s.plan.tiers[1:]))
    titles = ["service", "$/Mtok", "$/h", "GPUs", *(safe(n, 12) + " TB" for n in names), "β", "verdict", "plan"]
    rows = [_service(side, names) for side in found.sides]
    return table(titles, rows, tuple(range(1, 5 + len(names))), (0, len(titles) - 1))


def _service(side: Side, names: list[str]) -> list[str]:
    reuse = side.scenario.workload.reuse
    beta = significant(reuse.beta) if reuse.beta is not None else reuse.law
    plan = side.plan
    if plan is None:
        return [safe(side.name, 30), *[ABSENT] * (3 + len(names)), beta, "", "no design keeps every promise"]
    sizes = {t.name: number(t.capacity_bytes / 1e12, 2) if t.role != "unused" else ABSENT for t in plan.tiers[1:]}
    gpus = plan.prefill.gpus + (plan.decode.gpus if plan.decode else 0)
    shape = f"{plan.decision.architecture}, {pool(plan.prefill)}"
    shape += f" / {pool(plan.decode)}" if plan.decode else ""
    roles = ", ".join(f"{safe(t.name, 12)} {t.role}" for t in plan.tiers[1:] if t.role != "unused")
    return [
        safe(side.name, 30), usd_per_mtok(plan.usd_per_million_tokens).lstrip("$"), number(plan.usd_per_hour, 2),
        number(gpus), *(sizes.get(n, ABSENT) for n in names), beta, side.verdict or ABSENT,
        f"{shape}, {roles or 'no tier'}",
    ]  # fmt: skip


def _inputs(inputs: tuple[InputDifference, ...]) -> list[str]:
    if not inputs:
        return ["  No input differs."]
    rows = [[safe(d.key, 60), *(_value(v) for v in d.values), _alone(d)] for d in inputs[:INPUTS_SHOWN]]
    lines = ["  Inputs that differ", *table(["input", "first", "second", "alone, $/h"], rows, (1, 2, 3), (0, 1, 2))]
    left = len(inputs) - INPUTS_SHOWN
    return lines + ([f"  and {left} more: --format json"] if left > 0 else [])


def _value(value: Any) -> str:
    if value is None:
        return ABSENT
    return significant(value, 4) if isinstance(value, float) else safe(str(value), 40)


def _alone(difference: InputDifference) -> str:
    moved = difference.alone_usd_per_hour
    if moved is None:
        return ABSENT
    return usd(moved, signed=True) if math.isfinite(moved) else "impossible"


def _why(outcome: Outcome, inputs: tuple[InputDifference, ...]) -> list[str]:
    if outcome.usd_per_hour is None:
        return ["  One of them has no plan."]
    lines = ["  Outcomes"]
    lines += paragraph(f"costs {usd(outcome.usd_per_hour, signed=True)}/h", indent=4)
    lines += paragraph(
        "the same plan" if outcome.same_plan else f"plan: {'; '.join(outcome.structure) or 'another size'}", indent=4
    )
    if outcome.cost_lines:
        item, moved = outcome.cost_lines[0]
        lines += paragraph(f"largest change in the bill: {safe(item, 30)} {usd(moved, signed=True)}/h", indent=4)
    for word, rules in (("became binding", outcome.binding_gained), ("no longer binding", outcome.binding_lost)):
        if rules:
            lines += paragraph(f"{word}: {', '.join(rules)}", indent=4)
    known = [d for d in inputs if d.alone_usd_per_hour and math.isfinite(d.alone_usd_per_hour)]
    if known and outcome.usd_per_hour:
        share = (known[0].alone_usd_per_hour or 0.0) / outcome.usd_per_hour
        lines += paragraph(f"{safe(known[0].key, 60)} alone explains {percent(share)} of it", indent=4)
    return lines


def to_data(found: Comparison) -> Data:
    """All sides, inputs and outcomes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "compare",
        "differs": found.differs,
        "services": [_side(s) for s in found.sides],
        "inputs": [
            {"key": d.key, "values": list(d.values), "alone_usd_per_hour": d.alone_usd_per_hour} for d in found.inputs
        ],
        "outcomes": [
            {"file": o.file, "usd_per_hour": o.usd_per_hour, "same_plan": o.same_plan, "structure": list(o.structure),
             "cost_lines": [{"item": i, "usd_per_hour": v} for i, v in o.cost_lines],
             "binding_gained": list(o.binding_gained), "binding_lost": list(o.binding_lost)} for o in found.outcomes
        ],
    }  # fmt: skip


def _side(side: Side) -> Data:
    reuse = side.scenario.workload.reuse
    row = plan_row(side.plan) if side.plan else {}
    return {
        "file": side.file,
        "service": side.name,
        "law": reuse.law,
        "beta": reuse.beta,
        "verdict": side.verdict,
        **row,
    }


def to_csv(found: Comparison) -> str:
    """One row per service."""
    return csv_text([_side(s) for s in found.sides], ("file", "service"))
