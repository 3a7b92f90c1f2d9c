"""What the renderers of studies share: CSV from rows of plain values, titles, a plan in cells of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.plan import Evaluation
from planner.report.csv_rows import _inert
from planner.report.format import ABSENT, number, quantity, safe, size, usd_per_mtok
from planner.report.grid import Column, grid, paragraph
from planner.report.sections import pool
from planner.study.row import plan_row

__all__ = [
    "HOURS_PER_MONTH",
    "PLAN_TITLES",
    "counted",
    "csv_text",
    "plan_cells",
    "plan_row",
    "table",
    "tiers_text",
    "titled",
]
HOURS_PER_MONTH = 730.0
Data = dict[str, Any]


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Rows as CSV; columns in the order in which they first appear, after the ones given."""
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([_inert(name) for name in names])
    for row in rows:
        writer.writerow([_inert(row.get(name)) for name in names])
    return stream.getvalue()


def counted(amount: float, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "service"), counted(3, "GPU"), counted(2, "vertex", "vertices")
    ('1 service', '3 GPUs', '2 vertices')
    """
    return f"{quantity(amount)} {noun if amount == 1 else plural or noun + 's'}"


def titled(title: str, *parts: Iterable[str]) -> str:
    """A title, then the parts, each after an empty line."""
    lines = list(paragraph(title, indent=0))
    for part in parts:
        body = list(part)
        if body:
            lines += ["", *body]
    return "\n".join(lines) + "\n"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], wrap: Sequence[int]) -> list[str]:
    """Aligned lines; ``right`` and ``wrap`` are column numbers."""
    columns = [Column(t, "right" if n in right else "left", wrap=n in wrap) for n, t in enumerate(titles)]
    return grid(columns, rows).lines


def tiers_text(plan: Evaluation) -> str:
    """Tiers in use with capacity and role."""
    used = [t for t in plan.tiers[1:] if t.role != "unused"]
    return ", ".join(f"{size(t.capacity_bytes)} {safe(t.name, 24)} {t.role}" for t in used) or "none"


def plan_cells(plan: Evaluation) -> list[str]:
    """$/h, $/Mtok, architecture, prefill, decode, tiers."""
    return [
        number(plan.usd_per_hour, 2),
        usd_per_mtok(plan.usd_per_million_tokens).lstrip("$"),
        plan.decision.architecture,
        pool(plan.prefill),
        pool(plan.decode) if plan.decode else ABSENT,
        tiers_text(plan),
    ]


PLAN_TITLES = ("$/h", "$/Mtok", "architecture", "prefill", "decode", "tiers")
