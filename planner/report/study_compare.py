"""A comparison as text, Markdown, JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.report import study_markdown as md
from planner.report.certainty import basis
from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, joined, number, percent, safe, significant, usd, usd_per_mtok
from planner.report.grid import page_columns, paragraph
from planner.report.sections import pool
from planner.report.study_common import csv_text, plan_row, table, titled

if TYPE_CHECKING:
    from planner.study.compare import Comparison, InputDifference, Outcome, Side

Data = dict[str, Any]
INPUTS_SHOWN = 20
ROOMY = 96  # columns
NAME = 40
SMALLEST = 0.005  # dollars per hour that anybody would be told


def to_table(found: Comparison) -> str:
    """The services side by side; with two, what differs and why."""
    titles, rows = _services(found)
    words = titles.index("reuse") + 1
    if page_columns() < ROOMY:  # a plan has no room beside the figures
        plans = [t for row in rows for t in paragraph(f"{row[0]}: {_in_words(row[words:])}", hang=2)]
        titles, rows, wrapped = titles[:words], [row[:words] for row in rows], [0]
    else:
        plans = paragraph(f"times: {joined(f'{row[0]}: {row[-2]}' for row in rows if row[-2] != ABSENT)}", hang=2)
        titles, rows = [*titles[:-2], titles[-1]], [[*row[:-2], row[-1]] for row in rows]
        wrapped = [0, len(titles) - 1]
    parts = [[*table(titles, rows, _right(titles), wrapped), *plans]]
    if len(found.sides) == 2:
        parts += [_inputs(found.inputs), _why(found)]
    notes = [line for text in _notes(found) for line in paragraph(text, hang=2)]
    return titled(_title(found), *parts, notes)


def _in_words(cells: Sequence[str]) -> str:
    """The plan, and the verdict where there is one."""
    *verdict, times, plan = cells
    words = [("verdict", word) for word in verdict] + [("times", times)]
    return joined([plan, *(f"{title}: {word}" for title, word in words if word != ABSENT)])


def to_markdown(found: Comparison) -> str:
    """The same as tables."""
    titles, rows = _services(found)
    blocks = [md.table(titles, rows, _right(titles))]
    if len(found.sides) == 2:
        shown = md.table(*_input_cells(found.inputs)) if found.inputs else md.text("No input differs.")
        blocks.append(md.section("Inputs that differ", shown, md.text(_more(found.inputs))))
        blocks.append(md.section("Outcomes", md.bullets(_reasons(found))))
    return md.document(_title(found), *blocks, md.bullets(_notes(found)))


def _title(found: Comparison) -> str:
    names = " against ".join(safe(name, NAME) for name in found.labels) if len(found.sides) == 2 else "services"
    return f"compare · {names}"


def _notes(found: Comparison) -> list[str]:
    return [
        f"{safe(label, NAME)}: {safe(note, 300)}"
        for label, side in zip(found.labels, found.sides, strict=True)
        for note in side.notes
    ]


def _right(titles: Sequence[str]) -> list[int]:
    """Columns of numbers: all up to the capacities."""
    return [n for n, title in enumerate(titles) if title in ("$/Mtok", "$/h", "GPUs") or title.endswith(" TB")]


def _services(found: Comparison) -> tuple[list[str], list[list[str]]]:
    names = list(dict.fromkeys(t.name for s in found.sides if s.plan for t in s.plan.tiers[1:]))
    told = any(side.verdict for side in found.sides)
    titles = ["service", "$/Mtok", "$/h", "GPUs", *(safe(n, 12) + " TB" for n in names), "reuse"]
    titles += [*["verdict"] * told, "times", "plan"]
    return titles, [_service(s, label, names, told) for s, label in zip(found.sides, found.labels, strict=True)]


def _service(side: Side, label: str, names: list[str], told: bool) -> list[str]:
    reuse = side.scenario.workload.reuse
    law = f"β {significant(reuse.beta)}" if reuse.beta is not None else reuse.law
    verdict = [side.verdict or ABSENT] if told else []
    plan = side.plan
    if plan is None:
        why = "no plan was found in time" if side.gave_up else "no design keeps every promise"
        return [safe(label, NAME), *[ABSENT] * (3 + len(names)), law, *verdict, ABSENT, why]
    sizes = {t.name: number(t.capacity_bytes / 1e12, 2) if t.role != "unused" else ABSENT for t in plan.tiers[1:]}
    gpus = plan.prefill.gpus + (plan.decode.gpus if plan.decode else 0)
    shape = f"{plan.decision.architecture}, {pool(plan.prefill)}"
    shape += f" / {pool(plan.decode)}" if plan.decode else ""
    roles = ", ".join(f"{safe(t.name, 12)} {t.role}" for t in plan.tiers[1:] if t.role != "unused")
    return [
        safe(label, NAME), usd_per_mtok(plan.usd_per_million_tokens).lstrip("$"), number(plan.usd_per_hour, 2),
        number(gpus), *(sizes.get(n, ABSENT) for n in names), law, *verdict, basis(side.scenario, plan),
        f"{shape}, {roles or 'no tier'}",
    ]  # fmt: skip


def _inputs(inputs: tuple[InputDifference, ...]) -> list[str]:
    if not inputs:
        return ["  No input differs."]
    titles, rows, right = _input_cells(inputs)
    more = _more(inputs)
    return ["  Inputs that differ", *table(titles, rows, right, (0, 1, 2)), *(paragraph(more) if more else [])]


def _input_cells(inputs: tuple[InputDifference, ...]) -> tuple[list[str], list[list[str]], list[int]]:
    """Without the last column where nothing was tried alone."""
    tried = any(d.alone_usd_per_hour is not None for d in inputs)
    rows = [
        [safe(d.key, 60), *(_value(v) for v in d.values), *([_alone(d)] if tried else [])]
        for d in inputs[:INPUTS_SHOWN]
    ]
    return ["input", "first", "second", *(["alone, $/h"] if tried else [])], rows, [1, 2, 3][: 2 + tried]


def _more(inputs: tuple[InputDifference, ...]) -> str:
    left = len(inputs) - INPUTS_SHOWN
    return f"and {left} more: --format json" if left > 0 else ""


def _value(value: Any) -> str:
    if value is None:
        return ABSENT
    return significant(value, 4) if isinstance(value, float) else safe(str(value), 80)


def _alone(difference: InputDifference) -> str:
    moved = difference.alone_usd_per_hour
    if moved is None:
        return ABSENT
    return usd(moved, signed=True) if math.isfinite(moved) else "impossible"


def _why(found: Comparison) -> list[str]:
    return ["  Outcomes", *(line for text in _reasons(found) for line in paragraph(text, indent=4, hang=2))]


def _reasons(found: Comparison) -> list[str]:
    """The second against the first: cost, plan, the bill's largest change, rules, the input that does most."""
    outcome = found.outcomes[0]
    if outcome.usd_per_hour is None:
        without = [safe(label, NAME) for label, s in zip(found.labels, found.sides, strict=True) if s.plan is None]
        return [f"nothing to compare: no plan for {' and '.join(without)}"]
    same = abs(outcome.usd_per_hour) < SMALLEST
    out = ["costs the same" if same else f"costs {usd(outcome.usd_per_hour, signed=True)}/h"]
    out.append("the same plan" if outcome.same_plan else f"plan: {'; '.join(outcome.structure) or 'another size'}")
    if outcome.cost_lines and abs(outcome.cost_lines[0][1]) >= SMALLEST:
        item, moved = outcome.cost_lines[0]
        out.append(f"largest change in the bill: {safe(item, 30)} {usd(moved, signed=True)}/h")
    for word, rules in (("became binding", outcome.binding_gained), ("no longer binding", outcome.binding_lost)):
        out += [f"{word}: {', '.join(safe(rule, 40) for rule in rules)}"] if rules else []
    return out + _cause(outcome, found.inputs)


def _cause(outcome: Outcome, inputs: tuple[InputDifference, ...]) -> list[str]:
    """The input that alone moves the cost most, and its share where it pulls the same way and no further."""
    known = [d for d in inputs if d.alone_usd_per_hour is not None and math.isfinite(d.alone_usd_per_hour)]
    if not known or abs(known[0].alone_usd_per_hour or 0.0) < SMALLEST or not outcome.usd_per_hour:
        return []
    moved = known[0].alone_usd_per_hour or 0.0
    share = moved / outcome.usd_per_hour
    text = f"the input that alone does most: {safe(known[0].key, 60)} {usd(moved, signed=True)}/h"
    return [f"{text}, {percent(share)} of the difference" if 0 < share < 1.005 else text]


def to_data(found: Comparison) -> Data:
    """All sides, inputs and outcomes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "compare",
        "differs": found.differs,
        "services": [_side(s) | {"label": label} for s, label in zip(found.sides, found.labels, strict=True)],
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
        "notes": "; ".join(side.notes),
        "times": basis(side.scenario, side.plan) if side.plan else "",
        "status": "plan" if side.plan else "gave up" if side.gave_up else "infeasible",
        **row,
    }


def to_csv(found: Comparison) -> str:
    """One row per service."""
    return csv_text([_side(s) for s in found.sides], ("file", "service"))
