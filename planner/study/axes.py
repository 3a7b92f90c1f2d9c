"""What a frontier trades cost against: TTFT, TPOT, load carried, or GPUs.

Each axis has a harder direction, a way to ask for a value, and the hardest value that a given plan still keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner.designs import DecodeOption
from planner.physics.system import System
from planner.plan import Decision, Evaluation
from planner.scenario import replace
from planner.study.keep import kept
from planner.study.points import attained_ttft_s, gpus

BISECTIONS = 40
GRID_POINTS = 40  # about as many steps as a frontier has by default
NUDGE = 1e-9  # relative: two values further apart are different
BEYOND = 1e-6  # relative: harder than what a plan attains by more than the judge's tolerance


@dataclass(frozen=True)
class Axis:
    """One promise that can be asked for more or less of; ``harder`` is the sign of its hard direction."""

    name: str
    title: str
    unit: str
    key: str  # the scenario key that asks for a value
    harder: int
    span: tuple[float, float]  # default range, relative to the scenario's value
    smallest_step: float  # 0 where values are continuous
    reach: Callable[[System, Evaluation, float], float]
    pool_reach: Callable[[System, DecodeOption], float]  # what a decode pool alone allows

    def today(self, system: System) -> float:
        """The scenario's own value."""
        holder: Any = system.scenario
        for part in self.key.split("."):
            holder = getattr(holder, part)
        return float(holder)

    def at(self, system: System, value: float) -> System:
        """The same service asked for ``value``."""
        whole = self.smallest_step >= 1
        return System(replace(system.scenario, {self.key: round(value) if whole else value}), like=system)

    def beyond(self, reach: float) -> float:
        """The next value to ask for: harder than ``reach`` by more than the judge's tolerance."""
        return reach + self.harder * (self.smallest_step or BEYOND * abs(reach))

    def is_harder(self, a: float, b: float) -> bool:
        """Whether ``a`` asks for more than ``b``."""
        return self.harder * (a - b) > NUDGE * max(abs(a), abs(b))

    def keeps(self, reach: float, asked: float) -> bool:
        """Whether a plan that reaches ``reach`` keeps a promise of ``asked``."""
        return not self.is_harder(asked, reach)


def _no_limit(system: System, pool: DecodeOption) -> float:
    return 0.0


def _pool_tpot_ms(system: System, pool: DecodeOption) -> float:
    return 1e3 * max(system.steps_s(pool.config, pool.batch))


def pool_load(system: System, pool: DecodeOption) -> float:
    """Requests per second at which ``m + z sqrt(m)`` fills the pool's slots, ``m`` growing with the load."""
    slots, z = pool.instances * pool.batch, system.z
    root = (math.sqrt(z * z + 4 * slots) - z) / 2
    return system.rate * root * root / system.concurrency(system.steps_s(pool.config, pool.batch))


def _ttft_ms(system: System, plan: Evaluation, hardest: float) -> float:
    return 1e3 * attained_ttft_s(plan)


def _tpot_ms(system: System, plan: Evaluation, hardest: float) -> float:
    return 1e3 * plan.tpot_s


def _gpus(system: System, plan: Evaluation, hardest: float) -> float:
    return float(gpus(plan))


def load_carried(system: System, decision: Decision, hardest: float) -> float:
    """The most requests per second, up to ``hardest``, that the same hardware carries within its promises."""

    def carries(rate: float) -> bool:
        there = System(replace(system.scenario, {"workload.requests_per_second": rate}), like=system)
        return kept(there, decision).feasible

    low, high = system.rate, hardest
    if high <= low or carries(high):
        return max(low, high)
    if not carries(low * (1 + 1e-6)):
        return low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if carries(middle) else (low, middle)
        if high - low <= 1e-7 * high:
            break
    return low


def _rate(system: System, plan: Evaluation, hardest: float) -> float:
    return load_carried(system, plan.decision, hardest)


AXES = {
    axis.name: axis
    for axis in (
        Axis("ttft", "TTFT", "ms", "slo.ttft_ms", -1, (0.5, 1.5), 0.0, _ttft_ms, _no_limit),
        Axis("tpot", "TPOT", "ms", "slo.tpot_ms", -1, (0.5, 1.5), 0.0, _tpot_ms, _pool_tpot_ms),
        Axis("requests", "load", "req/s", "workload.requests_per_second", 1, (0.5, 3.0), 0.0, _rate, pool_load),
        Axis("gpus", "GPUs", "GPUs", "deployment.max_gpus", -1, (0.0, 1.0), 1.0, _gpus, _no_limit),
    )
}


def round_step(width: float) -> float:
    """The nearest 1, 2 or 5 times a power of ten.

    >>> round_step(62.5), round_step(0.9), round_step(3.1)
    (50.0, 1.0, 2.0)
    """
    power = 10.0 ** math.floor(math.log10(width))
    return min((f * power for f in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(math.log(s / width)))


def default_range(axis: Axis, today: float) -> tuple[float, float, float]:
    """From, to and step around the scenario's value; the step is a round number and the ends are whole steps away."""
    low, high = today * axis.span[0], today * axis.span[1]
    if axis.smallest_step:
        return max(axis.smallest_step, low), high, axis.smallest_step
    step = round_step((high - low) / GRID_POINTS)
    return today - math.floor((today - low) / step) * step, today + math.floor((high - today) / step) * step, step
