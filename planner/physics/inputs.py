"""From file units to SI: request classes, reuse laws and tiers of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from planner.physics.reuse import HillLaw, Law, MeasuredLaw, PowerLaw
from planner.plan import Role

if TYPE_CHECKING:
    from planner.scenario import Scenario
    from planner.scenario.schema import ReuseLaw, TierSpec

GB = 1e9


@dataclass(frozen=True)
class ClassLoad:
    """One request class: arrivals per second, tokens, and the cache partition it uses."""

    name: str
    share: float
    rate: float
    prompt: int
    reusable: int
    output: int
    cv: float
    partition: int

    @property
    def decode_context(self) -> float:
        """Mean context of its generation steps, ``L + O/2`` tokens."""
        return self.prompt + self.output / 2


@dataclass(frozen=True)
class Tier:
    """One cache tier in bytes, seconds and dollars per byte-hour."""

    name: str
    roles: tuple[Role, ...]
    read_per_gpu: float
    read_per_node: float
    latency_s: float
    max_per_node: float
    included_per_node: float
    usd_per_byte_hour: float
    step: float | None
    write_per_node: float | None
    dwpd: float | None


@lru_cache(maxsize=64)
def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution.

    >>> round(normal_quantile(0.95), 6)
    1.644854
    """
    return NormalDist().inv_cdf(p)


def classes_and_laws(scenario: Scenario, kv: float) -> tuple[tuple[ClassLoad, ...], tuple[Law, ...]]:
    """Classes with their cache partition, and one law per partition (a class with its own reuse has its own)."""
    work = scenario.workload
    shared = any(k.reuse is None for k in work.classes)
    specs: list[ReuseLaw] = [work.reuse] if shared else []
    classes = []
    for k in work.classes:
        partition = 0
        if k.reuse is not None:
            partition = len(specs)
            specs.append(k.reuse)
        classes.append(
            ClassLoad(
                k.name,
                k.share,
                work.requests_per_second * k.share,
                k.prompt_tokens,
                k.reusable_tokens,
                k.output_tokens,
                k.prompt_cv,
                partition,
            )
        )
    return tuple(classes), tuple(law_of(s, kv, work.requests_per_second) for s in specs)


def law_of(spec: ReuseLaw, kv_bytes: float, rate: float) -> Law:
    """A scenario's reuse law in bytes, moved to the load it is planned for: ``h(K * observed / planned)``."""

    def in_bytes(gb: float | None, tokens: float | None) -> float:
        return gb * GB if gb is not None else (tokens or 0.0) * kv_bytes

    law: Law
    if spec.law == "power":
        law = PowerLaw(
            _given(spec.beta), _given(spec.hit_rate), in_bytes(spec.at_gb, spec.at_tokens), _given(spec.ceiling)
        )
    elif spec.law == "hill":
        half = in_bytes(spec.half_gb, spec.half_tokens)
        law = HillLaw(spec.floor or 0.0, _given(spec.ceiling), half, _given(spec.slope))
    else:
        unit = GB if spec.points_gb is not None else kv_bytes
        law = MeasuredLaw(tuple((k * unit, h) for k, h in (spec.points_gb or spec.points_tokens or ()) if k > 0))
    return law.at_load(rate / (spec.at_requests_per_second or rate))


def _given(value: float | None) -> float:
    if value is None:
        raise ValueError("the scenario's reuse law lacks a number that its form needs")
    return value


def tier_of(spec: TierSpec) -> Tier:
    """A scenario's tier in SI units."""

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * GB

    return Tier(
        spec.name,
        tuple(spec.roles),
        spec.gb_per_s_per_gpu * GB,
        spec.gb_per_s_per_node * GB,
        spec.latency_ms / 1e3,
        spec.max_gb_per_node * GB,
        spec.included_gb_per_node * GB,
        spec.usd_per_gb_hour / GB,
        scaled(spec.step_gb),
        scaled(spec.write_gb_per_s_per_node),
        spec.dwpd,
    )
