"""Tornado: each input moved alone to either end of its range, and the plan found again.

Two questions per end. What would the cheapest plan be? And what if today's plan were kept: does it still keep every
promise, and how much more does it cost than the cheapest (its regret)?
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from planner.cells import SolveSettings
from planner.describe import differences, headline
from planner.errors import InfeasibleError, InputError
from planner.physics.system import System
from planner.plan import Evaluation
from planner.scenario import Scenario
from planner.study.keep import kept
from planner.study.knobs import Knob, knobs_of
from planner.study.points import cheapest

CAPACITY_TOLERANCE = 0.02  # a capacity this much larger or smaller is the same plan, sized anew


@dataclass(frozen=True)
class End:
    """One end of one range."""

    value: float
    usd_per_hour: float | None  # of the cheapest plan; None where nothing fits
    plan: Evaluation | None
    changes: tuple[str, ...]  # structural differences from today's plan
    resized: tuple[str, ...]  # capacities that move by more than 2 %
    keep_usd_per_hour: float | None  # of today's plan; None where it breaks a promise
    breaks: tuple[str, ...]  # the promises that today's plan breaks, with need and have
    regret_usd_per_hour: float | None  # of keeping today's plan; None where it breaks a promise


@dataclass(frozen=True)
class Bar:
    """One input's effect, low end and high end."""

    knob: Knob
    low: End
    high: End

    @property
    def spread(self) -> float:
        """How far apart the costs are; infinite where one end has no plan."""
        costs = [self.low.usd_per_hour, self.high.usd_per_hour]
        if any(c is None for c in costs):
            return math.inf
        return abs((costs[1] or 0.0) - (costs[0] or 0.0))

    @property
    def effect(self) -> str:
        """``plan`` where an end has another structure, ``size`` where only capacities move, ``price`` else."""
        if self.low.changes or self.high.changes or self.low.plan is None or self.high.plan is None:
            return "plan"
        return "size" if self.low.resized or self.high.resized else "price"


@dataclass(frozen=True)
class Sensitivity:
    """All bars, widest first."""

    scenario_name: str
    headline: str
    plan: Evaluation
    bars: tuple[Bar, ...]
    seconds: float
    skipped: tuple[str, ...] = ()


def sensitivity(
    scenario: Scenario,
    *,
    ranges: tuple[str, ...] = (),
    only_stated: bool = False,
    progress: Callable[[str], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Sensitivity:
    """Move each input to its ends.

    Raises:
        InfeasibleError: No plan fits today.
    """
    started = time.perf_counter()
    system = System(scenario)
    settings = SolveSettings(scenario.solve.gap, started + 10 * scenario.solve.time_limit_s, stop)
    now = cheapest(system, settings).plan
    if now is None:
        raise InfeasibleError(f"{scenario.name}: no design keeps every promise today, so there is nothing to move from")
    today = kept(system, now.decision)
    bars: list[Bar] = []
    skipped: list[str] = []
    for knob in knobs_of(system, ranges, only_stated):
        if stop is not None and stop():
            break
        if progress:
            progress(knob.label)
        ends = []
        for value in (knob.low, knob.high):
            try:
                ends.append(_end(system, knob, value, now, today, settings))
            except InputError as error:  # an end that no scenario may have: today's value stands in for it
                skipped.append(f"{knob.label} {value:.4g}: {error.diagnostics[0].message}")
                ends.append(_end(system, knob, knob.today, now, today, settings))
        bars.append(Bar(knob, *ends))
    bars.sort(key=lambda b: -b.spread)
    return Sensitivity(scenario.name, headline(system), now, tuple(bars), time.perf_counter() - started, tuple(skipped))


def _end(system: System, knob: Knob, value: float, now: Evaluation, today: Evaluation, settings: SolveSettings) -> End:
    there = knob.move(system, value)
    best = cheapest(there, settings).plan
    keep = kept(there, today.decision)
    breaks = tuple(f"{v.rule}: needs {v.need:,.4g}, has {v.have:,.4g} {v.unit}" for v in keep.violations)
    costs = keep.usd_per_hour if keep.feasible else None
    changes = _structural(now, best) if best is not None else ()
    return End(
        value,
        best.usd_per_hour if best else None,
        best,
        changes,
        _resized(now, best) if best is not None and not changes else (),
        costs,
        breaks,
        None if costs is None or best is None else max(0.0, costs - best.usd_per_hour),
    )


def _structural(now: Evaluation, other: Evaluation) -> tuple[str, ...]:
    if now.decision.structure() == other.decision.structure():
        return ()
    return differences(now, other) or ("another batch",)


def _resized(now: Evaluation, other: Evaluation) -> tuple[str, ...]:
    return tuple(
        f"{b.name} {a.capacity_bytes / 1e12:,.3g} → {b.capacity_bytes / 1e12:,.3g} TB"
        for a, b in zip(now.tiers[1:], other.tiers[1:], strict=True)
        if abs(a.capacity_bytes - b.capacity_bytes) > CAPACITY_TOLERANCE * max(a.capacity_bytes, 1.0)
    )
