"""A frontier along whole GPUs: each solve gives a vertex, nothing is solved twice.

Start where the promise is easiest. A plan that is optimal there and attains more stays optimal for everything up to
what it attains (the feasible set only shrinks), so the next solve asks for just more than that.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.cells import SolveSettings, solve_cell
from planner.physics.system import System
from planner.plan import Architecture
from planner.study.axes import NUDGE, Axis
from planner.study.cell_frontier import CellFrontier, Vertex, flat_stretches
from planner.study.variants import hardest_equal


def step_along(
    system: System,
    axis: Axis,
    key: tuple[Architecture, bool],
    ends: tuple[float, float],
    settings: SolveSettings,
    tell: Callable[[float], None],
) -> CellFrontier:
    """Step one cell from easy to hard."""
    vertices: list[Vertex] = []
    asked, hardest = ends
    solves, stopped, impossible, gap = 0, "", None, 0.0
    while axis.keeps(hardest, asked):
        if why := settings.halted():
            stopped = f"stopped early ({why})"
            break
        tell(asked)
        there = axis.at(system, asked)
        proof = solve_cell(there, *key, settings).proof
        solves += 1
        if proof.interrupted:
            stopped = f"stopped early ({proof.interrupted})"  # a plan without its proof is no vertex
            break
        if proof.best is None:
            impossible = asked
            break
        reach, plan = hardest_equal(there, axis, proof.best, key[1], hardest)
        reach = asked if axis.is_harder(asked, reach) else reach  # the judge allows a rounding error
        seen = hardest if axis.is_harder(reach, hardest) else reach
        first = asked
        while vertices and vertices[-1].usd_per_hour >= plan.usd_per_hour * (1 - NUDGE):
            first = vertices.pop().asked  # the same cost for a harder promise
        gap = max(gap, proof.gap)
        vertices.append(Vertex(seen, first, plan.usd_per_hour, plan.usd_per_million_tokens, proof.gap, plan))
        asked = axis.beyond(reach)
    found = tuple(vertices)
    return CellFrontier(*key, found, solves, impossible, stopped, flat_stretches(found), gap)
