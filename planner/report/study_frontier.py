"""A frontier as text, JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, safe, usd
from planner.report.grid import paragraph
from planner.report.study_common import (
    HOURS_PER_MONTH,
    PLAN_TITLES,
    csv_text,
    plan_cells,
    plan_row,
    table,
    titled,
)

if TYPE_CHECKING:
    from planner.study.frontier import CellFrontier, Frontier, Vertex

Data = dict[str, Any]
LINES = 24  # of the cheapest frontier in a terminal; all are in JSON and CSV
MOST_DIGITS = 3  # after the point, where rows would else show the same value
SAME = 1e-9


def to_table(found: Frontier) -> str:
    """The cheapest frontier, the four cells side by side, and where they turn."""
    axis = found.axis
    title = f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}"
    head = f"  Cheapest plan by {axis.title} ({axis.unit}), easiest first"
    return titled(
        title,
        _prices(found),
        [head, *_cheapest(found)],
        ["  Four cells, $/h", *_cells(found)],
        ["  Turns", *_marks(found)] if found.marks else [],
        _growth(found),
        [f"  {note}" for note in found.notes],
    )


def _prices(found: Frontier) -> list[str]:
    """What moving today's value by a few steps costs or saves."""
    axis = found.axis
    if found.today is None or axis.smallest_step:
        return []
    x, usd_now = found.today.x, found.today.plan.usd_per_hour
    rows: list[list[str]] = []
    for share in (-0.5, -0.2, -0.1, 0.1, 0.2, 0.5):
        step = max(1, round(abs(share) * x / found.step)) * found.step
        there = x + (step if share > 0 else -step)
        if there <= 0 or axis.is_harder(there, found.hardest) or axis.is_harder(found.easiest, there):
            continue
        best = found.best_at(there)
        sign = "+" if there > x else ""
        label = f"{number(there, _digits(found))} {axis.unit} ({sign}{number(there - x, _digits(found))})"
        if rows and rows[-1][0] == label:
            continue
        if best is None:
            rows.append([label, "impossible", "", "", ""])
            continue
        more = best[1].usd_per_hour - usd_now
        rows.append([
            label, usd(more, signed=True), percent(more / usd_now, 1, signed=True),
            usd(more * HOURS_PER_MONTH, 0, signed=True), _what(best[1]),
        ])  # fmt: skip
    head = f"  Today {number(x, _digits(found))} {axis.unit}: {usd(usd_now)}/h"
    return [head, *table(["instead", "$/h", "", "a month", "with"], rows, (1, 2, 3), (4,))] if rows else [head]


def _what(vertex: Vertex) -> str:
    cells = plan_cells(vertex.plan)
    return f"{cells[3]} / {cells[4]}, {cells[5]}" if vertex.plan.decode else f"{cells[3]}, {cells[5]}"


def _digits(found: Frontier) -> int:
    return 0 if found.step >= 1 else 2


def cheapest_vertices(found: Frontier, between: bool = True) -> list[tuple[CellFrontier, Vertex]]:
    """The lower envelope of the cells, easiest first: no entry is dearer than another that keeps as much.

    Args:
        found: the frontier.
        between: whether curves have their cost at every grid point too, not only at their ends.
    """
    out: list[tuple[CellFrontier, Vertex]] = []
    own = [(c, v.x) for c in found.cells for v in c.vertices]
    xs = {x for c, x in own if (best := found.best_at(x)) is not None and best[0] is c} | {found.hardest}
    xs |= {x for m in found.marks if m.kind == "disaggregation" for x in (m.easier, m.harder) if x is not None}
    xs |= set(found.grid) if between else set()
    for x in sorted(xs, key=lambda x: found.axis.harder * x):
        best = found.best_at(x)
        if best is None:
            continue
        if out and best[1].usd_per_hour <= out[-1][1].usd_per_hour * (1 + SAME):
            if not found.axis.is_harder(best[1].x, out[-1][1].x):
                continue
            out.pop()
        out.append(best)
    return out


def _cheapest(found: Frontier) -> list[str]:
    every = cheapest_vertices(found)
    if len(every) > LINES:
        every = cheapest_vertices(found, between=False)
    keep = _thinned(every)
    rows: list[list[str]] = []
    for label, (_, vertex) in zip(_labels([v.x for _, v in keep]), keep, strict=True):
        if not rows or rows[-1][0] != label:  # a jump: its near side is within rounding of the far one
            rows.append([label, *plan_cells(vertex.plan)])
    lines = table(["up to" if found.axis.harder > 0 else "down to", *PLAN_TITLES], rows, (0, 1, 2), (4, 5, 6))
    left = len(every) - len(keep)
    return [*lines, *([f"  and {left} more between them: --format csv"] if left else [])]


def _labels(xs: list[float]) -> list[str]:
    """Values with the fewest digits that tell them apart."""
    for digits in range(1, MOST_DIGITS + 1):
        labels = [number(x, digits) for x in xs]
        if len(set(labels)) == len(labels):
            return labels
    return [number(x, 1) for x in xs]


def _thinned(every: list[tuple[CellFrontier, Vertex]]) -> list[tuple[CellFrontier, Vertex]]:
    """At most ``LINES``: evenly spread, with both ends."""
    if len(every) <= LINES:
        return every
    picks = sorted({round(i * (len(every) - 1) / (LINES - 1)) for i in range(LINES)})
    return [every[i] for i in picks]


def _cells(found: Frontier) -> list[str]:
    grid = found.grid
    every = max(1, round(len(grid) / 10))
    titles = [f"{found.axis.title}", *(f"{c.architecture}, {'tiers' if c.tiered else 'HBM only'}" for c in found.cells)]
    rows = []
    for x in grid[::every]:
        at = [c.at(found.axis, x) for c in found.cells]
        rows.append([number(x, _digits(found)), *(ABSENT if v is None else number(v.usd_per_hour, 2) for v in at)])
    return table(titles, rows, tuple(range(len(titles))), ())


def _marks(found: Frontier) -> list[str]:
    lines = []
    for mark in found.marks:
        ends = dict.fromkeys(number(x, 1) for x in (mark.easier, mark.harder) if x is not None)
        lines += paragraph(f"{' → '.join(ends)} {found.axis.unit}: {mark.cell}: {mark.text}", hang=2)
    return lines


def _growth(found: Frontier) -> list[str]:
    """How far today's plan carries, and what breaks first beyond."""
    if found.today is None or found.axis.smallest_step:
        return []
    unit, now = found.axis.unit, found.today
    lines = paragraph(f"Today's plan, kept as it is, carries {number(now.reach, 1)} {unit}. Beyond it, in this order:")
    rows = [[b.rule, f"{number(b.x, 1)} {unit}", _amount(b.need, b.unit), _amount(b.have, b.unit)] for b in now.breaks]
    if not rows:
        return lines[:1] if found.axis.is_harder(found.hardest, now.reach) else []
    head = ["rule", "breaks at", f"needs at {number(found.hardest, 0)} {unit}", "has"]
    return [*lines, *table(head, rows, (1, 2, 3), (0,))]


def _amount(value: float, unit: str) -> str:
    from planner.report.format import ms, quantity, size

    if unit == "s":
        return ms(value) if value < 1e6 else "∞"
    return (
        size(value) + ("/s" if unit.endswith("/s") else "") if unit.startswith("bytes") else f"{quantity(value)} {unit}"
    )


def solves_line(found: Frontier) -> str:
    """How often each cell was solved and what is proven, for stderr."""
    cells = ", ".join(
        f"{c.architecture}{' + tiers' if c.tiered else ''} {len(c.vertices)} vertices in {c.solves} solves"
        for c in found.cells
    )
    gap = max((c.proven_gap for c in found.cells), default=0.0)
    early = sorted({c.interrupted for c in found.cells if c.interrupted})
    proven = f"partial: {', '.join(early)}" if early else f"proven within {percent(gap, 3)} at every value"
    return f"{cells}; {proven} ({found.seconds:.1f} s)"


def to_data(found: Frontier) -> Data:
    """Everything, as plain data."""
    axis = found.axis
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "frontier",
        "scenario": found.scenario_name,
        "headline": found.headline,
        "axis": {"name": axis.name, "unit": axis.unit, "key": axis.key, "harder": "up" if axis.harder > 0 else "down"},
        "easiest": found.easiest,
        "hardest": found.hardest,
        "step": found.step,
        "today": _today(found),
        "cells": [_cell(found, c) for c in found.cells],
        "cheapest": [{"x": v.x, "cell": _name(c), **plan_row(v.plan)} for c, v in cheapest_vertices(found)],
        "marks": [
            {"kind": m.kind, "easier": m.easier, "harder": m.harder, "cell": m.cell, "text": m.text}
            for m in found.marks
        ],
        "notes": list(found.notes),
        "seconds": found.seconds,
    }


def _today(found: Frontier) -> Data | None:
    now = found.today
    if now is None:
        return None
    breaks = [{"rule": b.rule, "x": b.x, "need": b.need, "have": b.have, "unit": b.unit} for b in now.breaks]
    return {"x": now.x, "reach": now.reach, "breaks": breaks, **plan_row(now.plan)}


def _name(cell: CellFrontier) -> str:
    return f"{cell.architecture}.{'tiered' if cell.tiered else 'hbm_only'}"


def _cell(found: Frontier, cell: CellFrontier) -> Data:
    return {
        "architecture": cell.architecture,
        "tiered": cell.tiered,
        "solves": cell.solves,
        "compared": cell.compared,
        "programmes": cell.programmes,
        "proven_gap": cell.proven_gap,
        "impossible_from": cell.impossible_from,
        "interrupted": cell.interrupted,
        "vertices": [
            {"x": v.x, "asked": v.asked, "relative_gap": v.relative_gap, **plan_row(v.plan)} for v in cell.vertices
        ],
        "stretches": [
            {
                "from": s.first.x,
                "to": s.last.x,
                "flat": s.flat,
                "points": [{"x": v.x, "usd_per_hour": v.usd_per_hour} for v in cell.along(found.axis, s, found.grid)],
            }
            for s in cell.stretches
        ],
    }


def to_csv(found: Frontier) -> str:
    """One row per vertex and cell, and one per grid point between the ends of a curve."""
    name = found.axis.name
    rows = [
        {name: v.x, "cell": _name(c), "relative_gap": v.relative_gap, "kind": kind, **plan_row(v.plan)}
        for c in found.cells
        for kind, v in _csv_rows(found, c)
    ]
    return csv_text(rows, (name, "cell", "relative_gap", "kind"))


def _csv_rows(found: Frontier, cell: CellFrontier) -> list[tuple[str, Vertex]]:
    rows = [("vertex", v) for v in cell.vertices]
    rows += [("between", v) for s in cell.stretches for v in cell.along(found.axis, s, found.grid)[1:-1]]
    return sorted(rows, key=lambda r: found.axis.harder * r[1].x)
