"""Where a frontier turns: a tier changes role, disaggregation starts or stops paying, a cell becomes impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.study.axes import Axis

if TYPE_CHECKING:
    from planner.study.frontier import CellFrontier

Kind = Literal["role", "disaggregation", "impossible"]


@dataclass(frozen=True)
class Mark:
    """One turn; ``easier`` and ``harder`` are the neighbouring vertices between which it happens."""

    kind: Kind
    easier: float | None
    harder: float
    cell: str
    text: str


def cell_name(cell: CellFrontier) -> str:
    """``disaggregated with tiers``."""
    return f"{cell.architecture} {'with' if cell.tiered else 'without'} tiers"


def marks_of(axis: Axis, cells: Sequence[CellFrontier]) -> tuple[Mark, ...]:
    """Every turn, easiest first."""
    found = [mark for cell in cells for mark in (*_roles(cell), *_impossible(axis, cell))]
    found += _disaggregation(axis, cells)
    return tuple(sorted(found, key=lambda m: axis.harder * m.harder))


def _roles(cell: CellFrontier) -> list[Mark]:
    out = []
    for before, after in zip(cell.vertices, cell.vertices[1:], strict=False):
        changes = [
            f"{b.name} {a.role} → {b.role}"
            for a, b in zip(before.plan.tiers[1:], after.plan.tiers[1:], strict=True)
            if a.role != b.role
        ]
        if changes:
            out.append(Mark("role", before.x, after.x, cell_name(cell), ", ".join(changes)))
    return out


def _impossible(axis: Axis, cell: CellFrontier) -> list[Mark]:
    if cell.impossible_from is None:
        return []
    last = cell.vertices[-1].x if cell.vertices else None
    side = "and below" if axis.harder < 0 else "and above"
    text = f"impossible at {cell.impossible_from:,.6g} {axis.unit} {side}"
    if last is None:
        text += " (everywhere in this range)"
    return [Mark("impossible", last, cell.impossible_from, cell_name(cell), text)]


def _disaggregation(axis: Axis, cells: Sequence[CellFrontier]) -> list[Mark]:
    """Where the cheapest disaggregated plan passes the cheapest colocated one."""
    sides = {a: [c for c in cells if c.architecture == a] for a in ("colocated", "disaggregated")}
    if not all(sides.values()):
        return []
    xs = sorted({v.x for c in cells for v in c.vertices}, key=lambda x: axis.harder * x)
    out: list[Mark] = []
    before: tuple[float, bool] | None = None
    for x in xs:
        costs = {a: _cost(axis, group, x) for a, group in sides.items()}
        one, two = costs["colocated"], costs["disaggregated"]
        if one is None and two is None:
            break
        pays = one is None or (two is not None and two < one * (1 - 1e-9))
        if before is None or before[1] != pays:
            out.append(_turn(x, pays, before, one is None or two is None))
        before = (x, pays)
    return out


def _cost(axis: Axis, cells: Sequence[CellFrontier], x: float) -> float | None:
    costs = [v.usd_per_hour for c in cells if (v := c.at(axis, x)) is not None]
    return min(costs, default=None)


def _turn(x: float, pays: bool, before: tuple[float, bool] | None, only: bool) -> Mark:
    if before is None:
        text = "disaggregation pays from the easy end on" if pays else "colocated is cheapest at the easy end"
    elif pays:
        text = "disaggregation is all that is left" if only else "disaggregation starts to pay"
    else:
        text = "only colocated is left" if only else "disaggregation stops paying"
    return Mark("disaggregation", before[0] if before else None, x, "cheapest", text)
