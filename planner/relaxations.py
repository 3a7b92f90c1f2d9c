"""What a user may change to make an impossible request possible, and how far: settings and promises, never physics.

Each relaxation is a ladder of values, from the smallest change to the most generous one that is still usual; numbers
have three digits, so that a value can be written into the file exactly as it is printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, overload

from planner.scenario import Scenario, catalog
from planner.scenario.schema import TierSpec

DIGITS = 900  # numbers of three digits per power of ten
LEAST_LOAD = 1e-3  # of the load asked for
MOST_GPUS = 100_000
GENEROUS = 10.0  # factor where no usual range is known
MOST_DWPD = 10.0  # drive writes per day of write-intensive drives
LEFT_OUT = "(left out)"
ALL_ROLES = ("sync", "prefetch")


@dataclass(frozen=True)
class Relaxation:
    """One key, its value, and the values that it could take instead, the most generous last."""

    key: str
    before: Any
    ladder: Sequence[Any]
    follows: tuple[str, ...] = ()  # keys that take the same value, because the file leaves them to this one

    def changes(self, value: Any) -> dict[str, Any]:
        """What to replace in the scenario so that it is as if the file said ``value``."""
        if self.key == "tiers":
            return {"tiers": catalog.default_tiers()}
        return dict.fromkeys((self.key, *self.follows), None if value == LEFT_OUT else value)


class Steps(Sequence[float]):
    """Numbers of three digits beyond ``start`` up to ``end``, which is the last one whatever its digits.

    >>> list(Steps(998, 1020)), list(Steps(0.101, 0))[:2], list(Steps(0.101, 0.0995))
    ([999, 1000, 1010, 1020], [0.1, 0.0999], [0.1, 0.0999, 0.0998, 0.0997, 0.0996, 0.0995])
    """

    def __init__(self, start: float, end: float, least: float = 1e-6, whole: bool = False) -> None:
        """Count the steps; towards zero they end at ``least``, then zero; ``whole`` skips fractions."""
        self.sign = 1 if end > start else -1
        self.end, self.whole = end, whole
        low, high = (max(start, least), end) if self.sign > 0 else (max(end, least), max(start, least))
        self.first, self.last = _index(low, up=True), _index(high, up=False)
        if self.sign > 0 and _number(self.first) <= start:
            self.first += 1
        if self.sign < 0 and _number(self.last) >= start:
            self.last -= 1
        self.steps = max(0, self.last - self.first + 1)
        edge = _number(self.last if self.sign > 0 else self.first) if self.steps else start
        self.extra = int(edge != end and end != start)

    def __len__(self) -> int:
        return self.steps + self.extra

    @overload
    def __getitem__(self, i: int) -> float: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[float]: ...
    def __getitem__(self, i: int | slice) -> float | Sequence[float]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        if i >= self.steps:
            return self.end
        return _number(self.first + i if self.sign > 0 else self.last - i)


def _index(value: float, up: bool) -> int:
    """Index of the three-digit number at ``value``, or next to it."""
    exponent = math.floor(math.log10(value))
    index = exponent * DIGITS + math.floor(value / 10.0**exponent * 100) - 100
    while _number(index) > value:
        index -= 1
    while _number(index + 1) <= value:
        index += 1
    return index + int(up and _number(index) < value)


def _number(index: int) -> float:
    exponent, digits = divmod(index, DIGITS)
    value = Decimal(100 + digits).scaleb(exponent - 2)
    return int(value) if value == int(value) else float(value)


def whole_steps(start: int, end: int) -> Sequence[int]:
    """Whole numbers beyond ``start``: every one below 1,000, then those of three digits.

    >>> whole_steps(98, 101), whole_steps(998, 1030)
    ((99, 100, 101), (999, 1000, 1010, 1020, 1030))
    """
    small = tuple(range(start + 1, min(end, 999) + 1))
    return small + tuple(int(v) for v in Steps(max(start, 999), end)) if end > 999 else small


def relaxations(scenario: Scenario) -> Iterator[Relaxation]:
    """Every setting that could be relaxed: the promises first, then what may be built, the engine and the tiers."""
    slo, work = scenario.slo, scenario.workload
    yield Relaxation("slo.ttft_ms", slo.ttft_ms, Steps(slo.ttft_ms, 1e8))
    yield Relaxation("slo.tpot_ms", slo.tpot_ms, Steps(slo.tpot_ms, 1e8))
    least = work.requests_per_second * LEAST_LOAD
    yield Relaxation(
        "workload.requests_per_second",
        work.requests_per_second,
        Steps(work.requests_per_second, least, least),
        tuple(_observed_at_the_load(scenario)),
    )
    if slo.percentile > 0.5:
        yield Relaxation("slo.percentile", slo.percentile, _percentiles(slo.percentile))
    yield from _deployment(scenario)
    yield from _engine(scenario)
    for i, tier in enumerate(scenario.tiers):
        yield from _tier(i, tier)
    if not scenario.tiers:
        yield Relaxation("tiers", [], (LEFT_OUT,))
    yield from _up("read_utilization", scenario.read_utilization)


def _observed_at_the_load(scenario: Scenario) -> Iterator[str]:
    """Loads at which curves were observed, where the file leaves them to be the scenario's own."""
    paths = ["workload.reuse"]
    paths += [f"workload.classes[{i}].reuse" for i, k in enumerate(scenario.workload.classes) if k.reuse is not None]
    for path in paths:
        key = f"{path}.at_requests_per_second"
        if scenario.span(path) is not None and scenario.span(key) is None:
            yield key


def _percentiles(percentile: float) -> Sequence[float]:
    """Percentiles below the given one, in steps of 1 % of what they leave out."""
    out, exponent = [], math.floor(math.log10(1 - percentile + 1e-15))
    for e in range(exponent, 0):
        for digits in range(10, 100):
            value = float(1 - Decimal(digits).scaleb(e - 1))
            if 0.5 <= value < percentile:
                out.append(value)
    return tuple(sorted(set(out), reverse=True))


def _up(key: str, value: float | None, *, name: str = "", most: float | None = None) -> Iterator[Relaxation]:
    """A number that may rise up to the end of its usual range (``name``: its catalog key), else to ``most``."""
    if value is None:
        return
    usual = catalog.usual_range(name or key)
    end = usual[1] if usual else most if most is not None else max(value, 1e-3) * GENEROUS
    if end > value:
        yield Relaxation(key, value, Steps(value, float(end), max(value, 1e-3)))


def _deployment(scenario: Scenario) -> Iterator[Relaxation]:
    deploy = scenario.deployment
    if deploy.max_gpus < MOST_GPUS:
        yield Relaxation("deployment.max_gpus", deploy.max_gpus, whole_steps(deploy.max_gpus, MOST_GPUS))
    for other in ("disaggregated", "colocated"):
        if other not in deploy.architectures:
            yield Relaxation("deployment.architectures", deploy.architectures, ((*deploy.architectures, other),))
    if deploy.colocated_routing == "random":
        yield Relaxation("deployment.colocated_routing", "random", ("affinity",))
    other = "exclusive" if deploy.hierarchy == "inclusive" else "inclusive"
    if scenario.tiers:
        yield Relaxation("deployment.hierarchy", deploy.hierarchy, (other,))
    spec, at = deploy.transfer, "deployment.transfer"
    yield from _up(f"{at}.gb_per_s_per_gpu", spec.gb_per_s_per_gpu)
    per_node = spec.gb_per_s_per_gpu * deploy.gpus_per_node
    yield from _up(f"{at}.gb_per_s_per_node", spec.gb_per_s_per_node, most=per_node)
    yield from _up(f"{at}.overlap", spec.overlap)
    if spec.latency_ms > 0:
        yield Relaxation(f"{at}.latency_ms", spec.latency_ms, Steps(spec.latency_ms, 0.0, 1e-3))


def _engine(scenario: Scenario) -> Iterator[Relaxation]:
    engine = scenario.engine
    smallest, largest = min(engine.batches), max(engine.batches)
    smaller = [smallest >> i for i in range(1, smallest.bit_length())]
    larger = [b for b in (largest << i for i in range(1, 12)) if b <= 512]
    for added in (smaller, larger):
        if added:
            ladder = tuple(tuple(sorted({*engine.batches, *added[: i + 1]})) for i in range(len(added)))
            yield Relaxation("engine.batches", engine.batches, ladder)
    if engine.configs is not None:
        yield Relaxation("engine.configs", [c.model_dump(exclude_none=True) for c in engine.configs], (LEFT_OUT,))
    if engine.kv_dtype != "fp8" and scenario.model.kv_bytes_per_element > 1:
        yield Relaxation("engine.kv_dtype", engine.kv_dtype or "the model's", ("fp8",))
    yield from _up("engine.max_utilization", engine.max_utilization)
    yield from _up("engine.hbm_utilization", engine.hbm_utilization)
    if engine.chunk_tokens < 65536:
        yield Relaxation("engine.chunk_tokens", engine.chunk_tokens, whole_steps(engine.chunk_tokens, 65536))


def _tier(i: int, tier: TierSpec) -> Iterator[Relaxation]:
    if set(tier.roles) != set(ALL_ROLES):
        yield Relaxation(f"tiers[{i}].roles", tier.roles, (ALL_ROLES,))
    most = {"dwpd": MOST_DWPD, "write_gb_per_s_per_node": tier.gb_per_s_per_node}  # no tier writes faster than it reads
    for field in ("max_gb_per_node", "gb_per_s_per_node", "gb_per_s_per_gpu", "write_gb_per_s_per_node", "dwpd"):
        name = f"tiers.{tier.name}.{field}"
        yield from _up(f"tiers[{i}].{field}", getattr(tier, field), name=name, most=most.get(field))
