"""Tornado: each input moved alone to either end of its range, and the plan found again.

Two questions per end. What would the cheapest plan be? And what if today's plan were kept: does it still keep every
promise, and how much more does it cost than the cheapest (its regret)?
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from planner.cells import SolveSettings
from planner.describe import differences, headline
from planner.errors import InputError
from planner.physics.system import System
from planner.plan import Evaluation
from planner.scenario import Scenario
from planner.study.baseline import todays_plan
from planner.study.keep import in_words, kept
from planner.study.knobs import Knob, knobs_of
from planner.study.load_note import load_notes
from planner.study.points import cheapest

CAPACITY_TOLERANCE = 0.02  # a capacity this much larger or smaller is the same plan, sized anew
SAME_PRICE = 5e-4  # relative: less is shown as 0.0 %
Effect = Literal["plan", "size", "price", "nothing"]
EFFECTS: tuple[Effect, ...] = ("plan", "size", "price", "nothing")


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
    moves_price: bool
    left_out: bool = False  # no scenario may have the value: today's stands in for it

    @property
    def effect(self) -> Effect:
        """A plan that today's hardware cannot keep is another size even where capacities hardly move."""
        if self.plan is None or self.changes:
            return "plan"
        if self.resized or self.breaks:
            return "size"
        return "price" if self.moves_price else "nothing"


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
    def ends(self) -> tuple[End, End]:
        """Low, then high."""
        return self.low, self.high

    @property
    def effect(self) -> Effect:
        """The most that an end does: another structure (or no plan at all), other capacities, another price."""
        effects = {end.effect for end in self.ends}
        return next(one for one in EFFECTS if one in effects)


@dataclass(frozen=True)
class Sensitivity:
    """All bars, widest first."""

    scenario_name: str
    headline: str
    plan: Evaluation
    bars: tuple[Bar, ...]
    seconds: float
    skipped: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()  # inputs that a stop or the time limit left out
    notes: tuple[str, ...] = ()


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
        GaveUpError: The time limit, or a stop, came before today's plan.
    """
    started = time.perf_counter()
    system = System(scenario)
    knobs = knobs_of(system, ranges, only_stated)
    settings = SolveSettings(scenario.solve.gap, started + 10 * scenario.solve.time_limit_s, stop)
    now = todays_plan(system, settings, "so there is nothing to move from")
    study = _Study(system, now, kept(system, now.decision), settings)
    bars: list[Bar] = []
    skipped: list[str] = []
    unfinished: list[str] = []
    for knob in knobs:
        if progress:
            progress(knob.label)
        bar = None if settings.halted() else study.bar(knob, skipped)
        if bar is None:
            unfinished.append(knob.label)
        elif not all(end.left_out for end in bar.ends):
            bars.append(bar)
    bars.sort(key=lambda b: -b.spread)
    seconds = time.perf_counter() - started
    notes = tuple(n for bar in bars for n in load_notes(scenario, [bar.knob.name]))
    return Sensitivity(
        scenario.name, headline(system), now, tuple(bars), seconds, tuple(skipped), tuple(unfinished), notes
    )


@dataclass(frozen=True)
class _Study:
    system: System
    now: Evaluation
    today: Evaluation  # the same hardware at the hits that it attains
    settings: SolveSettings

    def bar(self, knob: Knob, skipped: list[str]) -> Bar | None:
        """Both ends; None where a stop or the time limit came between."""
        ends: list[End] = []
        for value in (knob.low, knob.high):
            try:
                end = self.end(knob, value)
            except InputError as error:
                skipped.append(f"{knob.label} {value:.4g}: {error.diagnostics[0].message}")
                end = self.end(knob, knob.today)
                end = end and replace(end, left_out=True)
            if end is None:
                return None
            ends.append(end)
        return Bar(knob, *ends)

    def end(self, knob: Knob, value: float) -> End | None:
        """The cheapest plan there, and today's kept; None where the search was stopped."""
        there = knob.move(self.system, value)
        found = cheapest(there, self.settings)
        if found.interrupted:
            return None
        best, keep = found.plan, kept(there, self.today.decision)
        costs = keep.usd_per_hour if keep.feasible else None
        changes = _structural(self.now, best) if best is not None else ()
        usd_now = self.now.usd_per_hour
        return End(
            value,
            best.usd_per_hour if best else None,
            best,
            changes,
            _resized(self.now, best) if best is not None and not changes else (),
            costs,
            tuple(in_words(v) for v in keep.violations),
            None if costs is None or best is None else max(0.0, costs - best.usd_per_hour),
            best is not None and abs(best.usd_per_hour - usd_now) > SAME_PRICE * usd_now,
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
