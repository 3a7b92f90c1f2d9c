"""The optimisation model as a table: one row per rule, read from the registry that builds the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.milp.rules import Rule
from planner.report.grid import paragraph
from planner.report.markdown import plain, table

_KINDS = {
    "choice": "Choices: what is picked exactly once",
    "promise": "Promises: what the service level asks",
    "supply": "Supplies: what the hardware and the budget give",
    "physics": "Physics: how hits, bytes and roles hang together",
}


@dataclass(frozen=True)
class RuleRow:
    """One rule without its code."""

    name: str
    kind: str
    title: str
    formula: str
    unit: str
    scenario_key: str | None
    index: tuple[str, ...]


def rule_rows(rules: Sequence[Rule]) -> tuple[RuleRow, ...]:
    """The registry's rows, by kind and in the order of the model."""
    rows = [RuleRow(r.name, r.kind, r.title, r.formula, r.unit, r.scenario_key, r.index) for r in rules]
    kinds = [*_KINDS, *(row.kind for row in rows)]
    return tuple(sorted(rows, key=lambda row: kinds.index(row.kind)))


def to_text(rows: Sequence[RuleRow]) -> str:
    """The formulation for a terminal, rules grouped by kind."""
    lines: list[str] = []
    for kind in dict.fromkeys(row.kind for row in rows):
        lines += ["", _KINDS.get(kind, kind)]
        for row in (row for row in rows if row.kind == kind):
            lines += _rule_lines(row)
    return "\n".join(lines[1:]) + "\n"


def _rule_lines(row: RuleRow) -> list[str]:
    over = f"[{', '.join(row.index)}]".lower() if row.index else ""
    unit = f" [{row.unit}]" if row.unit != "-" else ""
    key = f" · {row.scenario_key}" if row.scenario_key else ""
    title = row.title[:1].lower() + row.title[1:] if row.title[1:2].islower() else row.title
    lines = paragraph(f"{row.name}{over}: {title}{unit}{key}", hang=4)
    return lines + paragraph(row.formula, indent=6, hang=2)


def to_markdown(rows: Sequence[RuleRow]) -> str:
    """The formulation as one Markdown table."""
    cells = [
        [row.name, row.kind, row.title, row.formula, row.unit, row.scenario_key or "", ", ".join(row.index)]
        for row in rows
    ]
    return plain(table("Formulation", ["rule", "kind", "meaning", "formula", "unit", "scenario key", "over"], cells))


def as_data(rows: Sequence[RuleRow]) -> list[dict[str, Any]]:
    """The formulation as data."""
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "title": row.title,
            "formula": row.formula,
            "unit": row.unit,
            "scenario_key": row.scenario_key,
            "index": list(row.index),
        }
        for row in rows
    ]
