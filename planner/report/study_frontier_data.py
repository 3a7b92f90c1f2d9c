"""A frontier as JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.study_common import csv_text, plan_row
from planner.report.study_frontier import UNREACHED, cheapest_vertices

if TYPE_CHECKING:
    from planner.study.frontier import CellFrontier, Frontier, Vertex

Data = dict[str, Any]


def to_data(found: Frontier) -> Data:
    """Everything, as plain data."""
    axis = found.axis
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "frontier",
        "scenario": found.scenario_name,
        "headline": found.headline,
        "interrupted": bool(found.interrupted),
        "cause": found.interrupted,
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
        "proven_gap": cell.proven_gap if cell.vertices else None,
        "impossible_from": cell.impossible_from,
        "impossible_why": cell.impossible_why,
        "interrupted": cell.interrupted,
        "reached": cell.hardest_reached if cell.interrupted else found.hardest,
        "vertices": [
            {"x": v.x, "asked": v.asked, "relative_gap": v.relative_gap, **plan_row(v.plan)} for v in cell.vertices
        ],
        "stretches": _stretches(found, cell),
    }


def _stretches(found: Frontier, cell: CellFrontier) -> list[Data]:
    """Each from where the one before it ends: its cost just beyond a jump holds from the jump on."""
    out: list[Data] = []
    for stretch in cell.stretches:
        start = out[-1]["to"] if out else stretch.first.x
        points = [{"x": v.x, "usd_per_hour": v.usd_per_hour} for v in cell.along(found.axis, stretch, found.grid)]
        points[0]["x"] = start
        out.append({"from": start, "to": stretch.last.x, "flat": stretch.flat, "points": points})
    return out


def to_csv(found: Frontier) -> str:
    """One row per vertex and cell, and one per grid point between the ends of a curve.

    A cell whose search was stopped has a row ``not reached`` from the value up to which it was looked at.
    """
    name = found.axis.name
    rows: list[Data] = []
    for cell in found.cells:
        own = {"cell": _name(cell), "status": cell.interrupted or "complete"}
        for kind, v in _csv_rows(found, cell):
            rows.append({name: v.x, **own, "relative_gap": v.relative_gap, "kind": kind, **plan_row(v.plan)})
        if cell.interrupted:
            end = found.easiest if cell.hardest_reached is None else cell.hardest_reached
            rows.append({name: end, **own, "kind": UNREACHED})
    return csv_text(rows, (name, "cell", "status", "relative_gap", "kind"))


def _csv_rows(found: Frontier, cell: CellFrontier) -> list[tuple[str, Vertex]]:
    rows = [("vertex", v) for v in cell.vertices]
    rows += [("between", v) for s in cell.stretches for v in cell.along(found.axis, s, found.grid)[1:-1]]
    return sorted(rows, key=lambda r: found.axis.harder * r[1].x)
