"""The cost frontier against one promise, by exact stepping: each solve gives a vertex, nothing is solved twice.

Start where the promise is easiest. A plan that is optimal there and attains more stays optimal for everything up to
what it attains (the feasible set only shrinks), so the next solve asks for just more than that. Where the plan is
bought in whole units the next vertex follows at once; where capacity is bought by the byte the frontier is a curve, and
is followed on a grid of ``step``. Costs are exact at every vertex and every grid point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.cells import SolveSettings, solve_cell
from planner.describe import headline
from planner.interaction import KEYS
from planner.physics.system import System
from planner.plan import Architecture, Evaluation
from planner.scenario import Scenario
from planner.study.axes import AXES, NUDGE, Axis, default_range
from planner.study.marks import Mark, marks_of
from planner.study.today import Today, today
from planner.study.variants import hardest_equal, whole_units

GAP = 1e-6  # vertices a step apart differ by little: prove them closer than a single plan


@dataclass(frozen=True)
class Vertex:
    """A plan that no other beats in both cost and ``x``; it is the optimum from ``asked`` up to ``x``."""

    x: float  # the hardest value that the plan keeps
    asked: float
    usd_per_hour: float
    usd_per_million_tokens: float
    relative_gap: float
    plan: Evaluation


@dataclass(frozen=True)
class CellFrontier:
    """One cell's vertices, easiest (cheapest) first, and what they took."""

    architecture: Architecture
    tiered: bool
    vertices: tuple[Vertex, ...]
    solves: int
    impossible_from: float | None  # the easiest value asked for that no design keeps; None where all were kept
    interrupted: str = ""

    def at(self, axis: Axis, x: float) -> Vertex | None:
        """The cheapest vertex that keeps ``x``."""
        return next((v for v in self.vertices if axis.keeps(v.x, x)), None)


@dataclass(frozen=True)
class Frontier:
    """Four cells over one axis."""

    scenario_name: str
    headline: str
    axis: Axis
    easiest: float
    hardest: float
    step: float
    cells: tuple[CellFrontier, ...]
    marks: tuple[Mark, ...]
    today: Today | None
    seconds: float

    def best_at(self, x: float) -> tuple[CellFrontier, Vertex] | None:
        """The cheapest cell at ``x``; a cell without tiers wins ties, then the colocated one."""
        here = [(c, v) for c in self.cells if (v := c.at(self.axis, x)) is not None]
        return min(here, key=lambda p: (round(p[1].usd_per_hour, 9), p[0].tiered), default=None)

    @property
    def grid(self) -> tuple[float, ...]:
        """The grid points, easiest first."""
        count = math.floor(abs(self.hardest - self.easiest) / self.step + 1e-9)
        return tuple(self.easiest + self.axis.harder * k * self.step for k in range(count + 1))


def frontier(
    scenario: Scenario,
    x: str = "ttft",
    *,
    low: float | None = None,
    high: float | None = None,
    step: float | None = None,
    time_limit_s: float = math.inf,
    progress: Callable[[str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Frontier:
    """Cost against ``x`` (ttft, tpot, requests or gpus) for all four cells, between ``low`` and ``high``."""
    started = time.perf_counter()
    settings = SolveSettings(min(GAP, scenario.solve.gap), started + time_limit_s, stop)
    system, axis = System(scenario), AXES[x]
    start = axis.today(system)
    default_low, default_high, default_step = default_range(axis, start)
    low, high = default_low if low is None else low, default_high if high is None else high
    ends = (low, high) if axis.harder > 0 else (high, low)
    width = max(axis.smallest_step, step or min(default_step, max((high - low) / 10, 1e-9)))
    cells = []
    for key in KEYS:
        if key[0] in scenario.deployment.architectures:
            cells.append(_follow(system, axis, key, ends, width, settings, progress))
    found = Frontier(
        scenario.name, headline(system), axis, *ends, width, tuple(cells), (), None, time.perf_counter() - started
    )
    marks = marks_of(axis, found.cells)
    return replace(found, marks=marks, today=_today(system, found), seconds=time.perf_counter() - started)


def _follow(
    system: System,
    axis: Axis,
    key: tuple[Architecture, bool],
    ends: tuple[float, float],
    step: float,
    settings: SolveSettings,
    progress: Callable[[str], None] | None,
) -> CellFrontier:
    """Step one cell from easy to hard."""
    vertices: list[Vertex] = []
    asked, hardest = ends
    solves, stopped, impossible = 0, "", None
    while axis.keeps(hardest, asked):
        if time.perf_counter() > settings.deadline or (settings.stop is not None and settings.stop()):
            stopped = "stopped early"
            break
        if progress:
            progress(f"{key[0]}{', with tiers' if key[1] else ''}: {axis.title} {asked:,.4g} {axis.unit}")
        there = axis.at(system, asked)
        proof = solve_cell(there, *key, settings).proof
        solves += 1
        if proof.best is None:
            impossible, stopped = asked, proof.interrupted
            break
        reach, plan = hardest_equal(there, axis, proof.best, key[1], hardest)
        reach = asked if axis.is_harder(asked, reach) else reach  # the judge allows a rounding error
        while vertices and vertices[-1].usd_per_hour >= plan.usd_per_hour * (1 - NUDGE):
            vertices.pop()  # the same cost for a harder promise
        cost = plan.usd_per_hour, plan.usd_per_million_tokens
        vertices.append(Vertex(reach, asked, *cost, proof.gap, plan))
        asked = _next(axis, ends, step, reach, whole_units(there, plan))
    return CellFrontier(*key, tuple(vertices), solves, impossible, stopped)


def _next(axis: Axis, ends: tuple[float, float], step: float, reach: float, whole: bool) -> float:
    """The next value to ask for: just beyond ``reach``, on the grid where cost changes continuously."""
    beyond = axis.beyond(reach)
    if whole or axis.smallest_step:
        return beyond
    k = math.floor(axis.harder * (beyond - ends[0]) / step + 1e-9) + 1
    on_grid = ends[0] + axis.harder * k * step
    if not axis.is_harder(on_grid, reach):
        on_grid += axis.harder * step
    if axis.is_harder(on_grid, ends[1]) and axis.is_harder(ends[1], reach):
        return ends[1]
    return on_grid


def _today(system: System, found: Frontier) -> Today | None:
    here = found.best_at(found.axis.today(system))
    return None if here is None else today(system, found.axis, here[1].plan, found.hardest)
