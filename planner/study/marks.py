"""Where a frontier turns: a tier changes role, disaggregation starts or stops paying, a cell becomes impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.study.axes import Axis

if TYPE_CHECKING:
    from planner.study.frontier import CellFrontier

CLOSE = 1e-6  # relative: a turn between two curves is located this closely
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


def marks_of(axis: Axis, cells: Sequence[CellFrontier], grid: Sequence[float] = ()) -> tuple[Mark, ...]:
    """Every turn, easiest first; ``grid`` are values at which architectures are compared, beside the vertices."""
    found = [mark for cell in cells for mark in (*_roles(cell), *_impossible(axis, cell))]
    found += _disaggregation(axis, cells, grid)
    return tuple(sorted(found, key=lambda m: axis.harder * m.harder))


def _roles(cell: CellFrontier) -> list[Mark]:
    out = []
    for before, after in zip(cell.stretches, cell.stretches[1:], strict=False):
        changes = [
            f"{b.name} {a.role} → {b.role}"
            for a, b in zip(before.last.plan.tiers[1:], after.first.plan.tiers[1:], strict=True)
            if a.role != b.role
        ]
        if changes:
            out.append(Mark("role", before.last.x, after.first.x, cell_name(cell), ", ".join(changes)))
    return out


def _impossible(axis: Axis, cell: CellFrontier) -> list[Mark]:
    """Where the cell ends, and the rule that ends it, where one was found."""
    if cell.impossible_from is None:
        return []
    last = cell.vertices[-1].x if cell.vertices else None
    side = "and below" if axis.harder < 0 else "and above"
    text = f"impossible at {cell.impossible_from:,.6g} {axis.unit} {side}"
    if last is None:
        text += " (everywhere in this range)"
    if cell.impossible_why:
        text += f": {cell.impossible_why}"
    return [Mark("impossible", last, cell.impossible_from, cell_name(cell), text)]


def _disaggregation(axis: Axis, cells: Sequence[CellFrontier], grid: Sequence[float]) -> list[Mark]:
    """Where the cheapest disaggregated plan passes the cheapest colocated one."""
    sides = {a: [c for c in cells if c.architecture == a] for a in ("colocated", "disaggregated")}
    if not all(sides.values()):
        return []
    ends = (v.x for c in cells for s in c.stretches for v in (s.first, s.last))
    out: list[Mark] = []
    before: tuple[float, _Side] | None = None
    for x in sorted({*ends, *grid}, key=lambda x: axis.harder * x):
        here = _side(axis, sides, x)
        if here is None:
            break
        if before is None:
            out.append(_turn(x, here, None))
        elif before[1].pays != here.pays:
            easier, harder = _crossing(axis, sides, before[0], x, here.pays)
            out.append(_turn(harder, here, easier))
        before = (x, here)
    return out


@dataclass(frozen=True)
class _Side:
    pays: bool  # disaggregation is the cheaper
    only: bool  # the other architecture is impossible


def _side(axis: Axis, sides: dict[str, list[CellFrontier]], x: float) -> _Side | None:
    """Which side is the cheaper at ``x``; None where there is no plan, or a cell was not reached."""
    if not all(cell.reached(axis, x) for cells in sides.values() for cell in cells):
        return None
    one, two = (_cost(axis, sides[a], x) for a in ("colocated", "disaggregated"))
    if one is None and two is None:
        return None
    pays = one is None or (two is not None and two < one * (1 - 1e-9))
    return _Side(pays, one is None or two is None)


def _crossing(
    axis: Axis, sides: dict[str, list[CellFrontier]], easy: float, hard: float, pays: bool
) -> tuple[float, float]:
    """The neighbouring values between which the answer becomes ``pays``."""
    while abs(hard - easy) > CLOSE * abs(hard):
        middle = (easy + hard) / 2
        here = _side(axis, sides, middle)
        easy, hard = (easy, middle) if here is None or here.pays == pays else (middle, hard)
    return easy, hard


def _cost(axis: Axis, cells: Sequence[CellFrontier], x: float) -> float | None:
    costs = [v.usd_per_hour for c in cells if (v := c.at(axis, x)) is not None]
    return min(costs, default=None)


def _turn(x: float, here: _Side, easier: float | None) -> Mark:
    if easier is None:
        text = "disaggregation pays from the easy end on" if here.pays else "colocated is cheapest at the easy end"
    elif here.pays:
        text = "disaggregation is all that is left" if here.only else "disaggregation starts to pay"
    else:
        text = "only colocated is left" if here.only else "disaggregation stops paying"
    return Mark("disaggregation", easier, x, "cheapest", text)
