"""A frontier with capacity bought by the byte: every value between two turns has a cost of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest

from planner.cells import SolveSettings, solve_cell
from planner.physics.system import System
from planner.plan import Architecture
from planner.study.axes import Axis
from planner.study.cell_frontier import CellFrontier, Stretch, Vertex, stretches_of, vertices_of
from planner.study.envelope import Envelope, HaltedError
from planner.study.points import same_cost


def curve_along(
    system: System,
    axis: Axis,
    key: tuple[Architecture, bool],
    ends: tuple[float, float],
    settings: SolveSettings,
    untiered: CellFrontier | None,
    tell: Callable[[float], None],
) -> CellFrontier:
    """A cell from easy to hard; ``untiered`` is the same cell without tiers, whose plans are this one's too."""
    envelope = Envelope(system, axis, *key, settings.halted, tell)
    breaks = [v.x for v in untiered.vertices] if untiered is not None else []
    impossible, stopped = None, ""
    try:
        reach, impossible = envelope.reach(*ends)
        if reach is not None:
            envelope.trace(ends[0], reach, breaks)
    except HaltedError:
        impossible, stopped = None, f"stopped early ({settings.halted() or 'the solver gave up'})"
    envelope.halted = lambda: ""
    stretches = stretches_of(axis, envelope)
    solves, proven = 0, envelope.proven
    if not stopped:
        stretches, solves, proven = _confirmed(system, axis, key, stretches, settings, proven)
    found = CellFrontier(*key, vertices_of(axis, stretches), solves, impossible, stopped)
    return replace(
        found, stretches=stretches, proven_gap=proven, compared=envelope.points, programmes=envelope.programmes,
        envelope=envelope,
    )  # fmt: skip


def _confirmed(
    system: System,
    axis: Axis,
    key: tuple[Architecture, bool],
    stretches: tuple[Stretch, ...],
    settings: SolveSettings,
    proven: float,
) -> tuple[tuple[Stretch, ...], int, float]:
    """The hard end of every cost solved as ``planner solve`` does; the weaker bound counts."""
    out, solves = [], 0
    for stretch, after in zip_longest(stretches, stretches[1:]):
        last = stretch.last
        goes_on = after is not None and after.flat and same_cost(last.usd_per_hour, after.last.usd_per_hour)
        if goes_on or settings.halted():
            out.append(stretch)
            continue
        proof = solve_cell(axis.at(system, last.x), *key, settings).proof
        solves += 1
        if proof.best is not None and not proof.interrupted:
            gap = max(0.0, 1 - proof.bound / last.usd_per_hour) if last.usd_per_hour > 0 else 0.0
            proven = max(proven, gap)
            last = replace(last, relative_gap=gap)
        out.append(Stretch(_as(stretch.first, last), last))
    return tuple(out), solves, proven


def _as(first: Vertex, last: Vertex) -> Vertex:
    return replace(first, relative_gap=last.relative_gap) if first.x == last.x else first
