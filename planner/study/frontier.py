"""The cost frontier against one promise: for every value the cheapest plan of each cell, and where it turns.

Along TTFT, TPOT and load a cell's frontier is made of its designs' cost curves (:mod:`planner.study.curves`); GPUs are
whole, and are stepped along (:mod:`planner.study.stepping`). Either way every value between two vertices has its exact
cost; nothing is interpolated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.cells import SolveSettings, preferred
from planner.describe import headline
from planner.errors import InputError
from planner.interaction import KEYS
from planner.physics.system import System
from planner.plan import Architecture
from planner.scenario import Scenario
from planner.study.axes import AXES, Axis, default_range
from planner.study.cell_frontier import CellFrontier, Stretch, Vertex
from planner.study.curves import curve_along
from planner.study.limits import limit_in_the_way
from planner.study.load_note import load_notes
from planner.study.marks import Mark, marks_of
from planner.study.points import cheapest
from planner.study.stepping import step_along
from planner.study.today import Today, today

__all__ = ["CellFrontier", "Frontier", "Stretch", "Vertex", "frontier"]

GAP = 1e-6  # vertices a step apart differ by little: prove them closer than a single plan
SMALLEST = 1e-3  # relative to the high end: no promise of 0 is asked for
CellKey = tuple[Architecture, bool]


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
    notes: tuple[str, ...] = ()

    def best_at(self, x: float) -> tuple[CellFrontier, Vertex] | None:
        """The cheapest cell at ``x``, of equals the simplest; None where no cell has a plan or one was not reached."""
        if not self.covers(x) or not self.reached(x):
            return None
        best: tuple[CellFrontier, Vertex] | None = None
        for cell in sorted(self.cells, key=lambda c: c.tiered):
            here = cell.at(self.axis, x)
            if here is not None and (best is None or preferred(here.plan, best[1].plan)):
                best = cell, here
        return best

    def reached(self, x: float) -> bool:
        """Whether every cell was looked at, up to ``x``: only then is the cheapest of them known."""
        return all(cell.reached(self.axis, x) for cell in self.cells)

    @property
    def interrupted(self) -> str:
        """Why the search was stopped before all of the range was looked at; empty where it was not."""
        return ", ".join(sorted({cell.interrupted for cell in self.cells if cell.interrupted}))

    def covers(self, x: float) -> bool:
        """Whether ``x`` lies within the range."""
        return not (self.axis.is_harder(self.easiest, x) or self.axis.is_harder(x, self.hardest))

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
    """Cost against ``x`` (ttft, tpot, requests or gpus) for all four cells, between ``low`` and ``high``.

    Raises:
        InputError: ``low`` is not below ``high``.
    """
    started = time.perf_counter()
    settings = SolveSettings(min(GAP, scenario.solve.gap), started + time_limit_s, stop)
    system, axis = System(scenario), AXES[x]
    start = axis.today(system)
    default_low, default_high, default_step = default_range(axis, start)
    low, high = default_low if low is None else low, default_high if high is None else high
    if low >= high:
        raise InputError(f"--from {low:g} must lie below --to {high:g}: give both for a range around another value")
    low = max(low, high * SMALLEST)
    ends = (low, high) if axis.harder > 0 else (high, low)
    width = max(axis.smallest_step, step or min(default_step, max((high - low) / 10, 1e-9)))
    cells: dict[CellKey, CellFrontier] = {}
    for key in KEYS:
        if key[0] in scenario.deployment.architectures:
            own = _follow(system, axis, key, ends, settings, cells, progress)
            why = limit_in_the_way(system, axis, own, settings)
            cells[key] = replace(own, untiered=cells.get((key[0], False)) if key[1] else None, impossible_why=why)
    found = Frontier(scenario.name, headline(system), axis, *ends, width, tuple(cells.values()), (), None, 0.0)
    marks = marks_of(axis, found.cells, found.grid)
    now, notes = _today(system, found, settings), load_notes(scenario, [axis.key])
    return replace(found, marks=marks, today=now, notes=notes, seconds=time.perf_counter() - started)


def _follow(
    system: System,
    axis: Axis,
    key: CellKey,
    ends: tuple[float, float],
    settings: SolveSettings,
    known: dict[CellKey, CellFrontier],
    progress: Callable[[str], None] | None,
) -> CellFrontier:
    """One cell from easy to hard."""

    def tell(x: float) -> None:
        if progress:
            progress(f"{key[0]}{', with tiers' if key[1] else ''}: {axis.title} {x:,.4g} {axis.unit}")

    if not axis.smallest_step:
        return curve_along(system, axis, key, ends, settings, known.get((key[0], False)), tell)
    return step_along(system, axis, key, ends, settings, tell)


def _today(system: System, found: Frontier, settings: SolveSettings) -> Today | None:
    """The scenario's own plan: on the frontier where it lies within the range, else solved for."""
    x = found.axis.today(system)
    if found.interrupted:
        return None  # a cell that was not looked at may have it
    if found.covers(x):
        here = found.best_at(x)
        plan = here[1].plan if here is not None else None
    else:
        plan = cheapest(system, settings).plan
    return None if plan is None else today(system, found.axis, plan, found.hardest)
