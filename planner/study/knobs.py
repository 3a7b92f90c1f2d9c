"""The inputs that a sensitivity study moves, each with its range and its way of moving.

A range is stated by the user or a default: what such an input is usually uncertain by. Timing has no key of its own:
its error scales every prefill or decode time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Any

from planner.errors import Diagnostic, InputError
from planner.physics.correction import CorrectedTiming
from planner.physics.reuse import HillLaw, Law, MeasuredLaw, PowerLaw
from planner.physics.system import System
from planner.physics.timing import EngineConfig, Timing
from planner.scenario import Scenario, replace
from planner.scenario.introspect import field_at, unit_of
from planner.scenario.meta import parse_path
from planner.study.sets import Setting, parse_setting, value_at

# name: (low, high) relative to the scenario's value, and why
GPU_PRICE = (0.8, 1.25)
TIER_PRICE = (0.5, 2.0)  # contract prices of memory have doubled within a year
LOAD = (0.9, 1.1)
BANDWIDTH = (0.5, 1.5)  # benchmarks of one drive or NIC against what a shared node gives
TIMING = (0.9, 1.1)  # median error of the packaged tables
HITS = (0.9, 1.1)
EXPONENT = 0.05  # absolute, for beta and ceilings
LARGEST_FACTOR = 1000.0
FACTOR = "× today"  # the unit of a multiple of today's value
UNITS = {"fraction": "", "requests/s": "req/s", "$/GB-h": "$/GB·h"}  # as the headline writes them


@dataclass(frozen=True)
class Knob:
    """One input: its value today, its ends, and how to move it."""

    name: str
    label: str
    kind: str  # "price", "load", "reuse", "bandwidth", "timing", "stated"
    today: float
    low: float
    high: float
    move: Callable[[System, float], System]
    unit: str = ""
    whole: bool = False  # only whole numbers mean something


def knobs_of(system: System, stated: tuple[str, ...] = (), only_stated: bool = False) -> tuple[Knob, ...]:
    """The default knobs, with the user's ranges (``KEY=LOW:HIGH``) in their place or added."""
    chosen = {} if only_stated else {k.name: k for k in _defaults(system)}
    for text in stated:
        knob = _stated(system, text, {k.name: k for k in _defaults(system)})
        chosen[knob.name] = knob
    return tuple(chosen.values())


def _stated(system: System, text: str, known: dict[str, Knob]) -> Knob:
    name, _, ends = text.partition("=")
    name = name.strip()
    if name in known and name.startswith(("timing.", "reuse.")):
        low, high = _factors(text, name, ends)
        return with_fields(known[name], low=low, high=high)
    try:
        setting = parse_setting(text, system.scenario)
    except InputError as error:  # the same syntax as a sweep's, under another flag
        raise InputError(
            *(with_fields(d, message=d.message.replace("--set", "--range")) for d in error.diagnostics)
        ) from None
    if ":" in ends:
        return _keyed(system.scenario, setting.key, "stated", setting.low, setting.high)
    if len(setting.values) != 1:
        raise InputError(Diagnostic("bad-range", f"--range {text}: write KEY=LOW:HIGH, or KEY=VALUE against today's"))
    today = _number(text, value_at(system.scenario, setting.key))
    value = _number(text, setting.values[0])
    return _keyed(system.scenario, setting.key, "stated", min(today, value), max(today, value))


def _factors(text: str, name: str, ends: str) -> tuple[float, float]:
    """Both ends of a factor: ``0.8:1.3``, or one value against today's 1."""
    try:
        values = [float(e.strip().removeprefix("x")) for e in ends.split(":")]
    except ValueError:
        values = []
    if len(values) == 1:
        values = sorted([1.0, *values])
    if len(values) != 2 or not 0 < values[0] <= values[1] <= LARGEST_FACTOR:
        raise InputError(
            Diagnostic("bad-range", f"--range {text}: write {name}=LOW:HIGH as factors of today's, above 0")
        )
    return values[0], values[1]


def _number(text: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(Diagnostic("bad-range", f"--range {text}: only numbers have a range"))
    return float(value)


def _keyed(scenario: Scenario, key: str, kind: str, low: float, high: float) -> Knob:
    now = value_at(scenario, key)
    today, whole = _number(key, now), isinstance(now, int)
    low, high = (float(round(low)), float(round(high))) if whole else (low, high)
    unit = unit_of(field_at(parse_path(key)))

    def move(system: System, value: float) -> System:
        return _set(system, key, value)

    return Knob(key, _label(scenario, key), kind, today, low, high, move, UNITS.get(unit, unit), whole)


def _label(scenario: Scenario, key: str) -> str:
    for t, tier in enumerate(scenario.tiers):
        key = key.replace(f"tiers[{t}]", f"tiers[{tier.name}]")
    return key


def _set(system: System, key: str, value: float) -> System:
    whole = isinstance(value_at(system.scenario, key), int)
    return System(replace(system.scenario, {key: round(value) if whole else value}), like=system)


def _defaults(system: System) -> Iterator[Knob]:
    scenario = system.scenario

    def scaled(key: str, kind: str, ends: tuple[float, float]) -> Iterator[Knob]:
        today = value_at(scenario, key)
        if today:
            yield _keyed(scenario, key, kind, today * ends[0], today * ends[1])

    yield from scaled("prices.gpu_usd_per_hour", "price", GPU_PRICE)
    for t in range(len(scenario.tiers)):
        yield from scaled(f"tiers[{t}].usd_per_gb_hour", "price", TIER_PRICE)
    yield from scaled("workload.requests_per_second", "load", LOAD)
    yield from _reuse(scenario)
    for t in range(len(scenario.tiers)):
        yield from scaled(f"tiers[{t}].gb_per_s_per_gpu", "bandwidth", BANDWIDTH)
        yield from scaled(f"tiers[{t}].gb_per_s_per_node", "bandwidth", BANDWIDTH)
    if "disaggregated" in scenario.deployment.architectures:
        yield from scaled("deployment.transfer.gb_per_s_per_gpu", "bandwidth", BANDWIDTH)
    yield Knob("timing.prefill", "prefill time", "timing", 1.0, *TIMING, lambda s, v: _timed(s, v, 1.0), FACTOR)
    yield Knob("timing.decode", "decode step time", "timing", 1.0, *TIMING, lambda s, v: _timed(s, 1.0, v), FACTOR)


def _reuse(scenario: Scenario) -> Iterator[Knob]:
    law, key = scenario.workload.reuse, "workload.reuse"
    if law.beta is not None:
        yield _keyed(scenario, f"{key}.beta", "reuse", max(0.01, law.beta - EXPONENT), min(0.99, law.beta + EXPONENT))
    if law.ceiling is not None:
        low = max(law.ceiling - EXPONENT, (law.floor or 0.0) + 0.01)
        yield _keyed(scenario, f"{key}.ceiling", "reuse", low, min(1.0, law.ceiling + EXPONENT))
    yield Knob("reuse.hits", "every hit rate", "reuse", 1.0, *HITS, _with_hits, FACTOR)


def _with_hits(system: System, factor: float) -> System:
    """The same service with every hit rate ``factor`` times as high, none above 1."""
    moved = System(system.scenario, like=system)
    moved.laws = tuple(_raised(law, factor) for law in system.laws)
    return moved


def _raised(law: Law, factor: float) -> Law:
    def up(h: float) -> float:
        return min(h * factor, max(h, 0.999))

    if isinstance(law, PowerLaw):
        return with_fields(law, hit_rate_at=law.hit_rate_at * factor, ceiling=up(law.ceiling))
    if isinstance(law, HillLaw):
        return with_fields(law, floor=up(law.floor), ceiling=up(law.ceiling))
    if isinstance(law, MeasuredLaw):
        return MeasuredLaw(tuple((k, up(h)) for k, h in law.points))
    raise TypeError(f"no way to scale {type(law).__name__}")


@dataclass(frozen=True)
class ScaledTiming:
    """Another timing, its prefill and decode times multiplied."""

    inner: Timing
    prefill: float
    decode: float

    @property
    def source(self) -> str:
        """That of the timing it scales."""
        return self.inner.source

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the timing it scales."""
        return self.inner.notes

    def prefill_s(self, new_tokens: float, prefix_tokens: float) -> float:
        """Scaled prefill time."""
        return self.prefill * self.inner.prefill_s(new_tokens, prefix_tokens)

    def decode_s(self, batch: float, context: float) -> float:
        """Scaled step time."""
        return self.decode * self.inner.decode_s(batch, context)

    def prefill_in_grid(self, new: float, prefix: float) -> bool:
        """Whether the inner timing was measured there."""
        return self.inner.prefill_in_grid(new, prefix)

    def decode_in_grid(self, batch: float, context: float) -> bool:
        """Whether the inner timing was measured there."""
        return self.inner.decode_in_grid(batch, context)


def scaled(timing: Timing, prefill: float, decode: float) -> Timing:
    """``timing`` with its passes and steps multiplied; a correction keeps its front end and its error."""
    if not isinstance(timing, CorrectedTiming):
        return ScaledTiming(timing, prefill, decode)
    return with_fields(
        timing,
        prefill_factor=prefill * timing.prefill_factor,
        prefill_fixed_s=prefill * timing.prefill_fixed_s,
        decode_factor=decode * timing.decode_factor,
        decode_fixed_s=decode * timing.decode_fixed_s,
        decode_s_per_sequence=decode * timing.decode_s_per_sequence,
    )


def _timed(system: System, prefill: float, decode: float) -> System:
    """The same service on an engine whose times are multiplied."""
    moved = System(system.scenario)

    def slower(config: EngineConfig) -> EngineConfig:
        return with_fields(config, timing=scaled(config.timing, prefill, decode))

    moved.__dict__["configs"] = tuple(slower(c) for c in system.configs)
    return moved


def relative(knob: Knob, value: float) -> float:
    """A knob's value over today's."""
    return value / knob.today if knob.today else math.inf


__all__ = ["Knob", "ScaledTiming", "Setting", "knobs_of", "relative"]
