"""Where the next byte of a tier costs what it saves, each tier priced alone on the true curve.

With ``V`` the dollars per hour that a hit rate of 1 would save (prefill seconds avoided, in GPUs, at the plan's
utilisation) and ``r`` the rent per byte-hour, the break-even capacity maximises ``V h(K) - r K``: ``h'(K) = r / V``.
For a power law that is ``K* = (V hit_rate beta / (r at^beta))^(1/(1-beta))``, capped at the ceiling (MODEL.md
section 12). Nothing here knows of the TTFT limit or of whole instances, which is why a plan may hold more or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.physics.reuse import Law
from planner.physics.system import System
from planner.plan import Evaluation

GRID = 400


@dataclass(frozen=True)
class BreakEven:
    """One tier's break-even capacity on one partition's curve."""

    tier: str
    partition: int
    capacity_bytes: float
    hit_rate: float


def break_evens(system: System, found: Evaluation, k_max: float) -> tuple[BreakEven, ...]:
    """Break-even capacities up to ``k_max`` bytes of every tier that has a price."""
    config = system.config_by_name.get(found.decision.prefill_config)
    if config is None:
        return ()
    marks = []
    for j in range(len(system.laws)):
        law = system.partition_law(j, found.decision.architecture, found.decision.prefill_instances)
        value = value_of_hits(system, found, j)
        for tier in system.tiers:
            if tier.usd_per_byte_hour > 0 and value > 0:
                best = best_capacity(law, value, tier.usd_per_byte_hour, k_max)
                if 0 < best < k_max:
                    marks.append(BreakEven(tier.name, j, best, law.hit_rate(best)))
    return tuple(marks)


def value_of_hits(system: System, found: Evaluation, partition: int) -> float:
    """Dollars per hour that a hit rate of 1 saves: ``sum lambda_k delta_k / ways * GPUs * price / utilisation``."""
    decision = found.decision
    config = system.config_by_name[decision.prefill_config]
    service = system.service(config, decision.batch)
    saved = sum(system.classes[k].rate * (service.miss[k] - service.hit[k]) for k in system.partitions[partition])
    busy = found.prefill.utilization or system.max_utilization
    return saved / config.ways * config.gpus * system.gpu_usd_per_hour / busy


def best_capacity(law: Law, value: float, rent: float, k_max: float) -> float:
    """The capacity that maximises ``value h(K) - rent K`` on ``[0, k_max]``; ``k_max`` where it still rises there.

    >>> from planner.physics.reuse import PowerLaw
    >>> law = PowerLaw(beta=0.5, hit_rate_at=0.4, at=4e12, ceiling=0.9)
    >>> best = best_capacity(law, value=100.0, rent=1e-11, k_max=1e15)
    >>> closed = (100.0 * 0.4 * 0.5 / (1e-11 * 4e12**0.5)) ** 2
    >>> abs(best / closed - 1) < 1e-6
    True
    """

    def gain(capacity: float) -> float:
        return value * law.hit_rate(capacity) - rent * capacity

    low = math.log(k_max) - math.log(1e6)
    grid = [0.0, *(math.exp(math.log(k_max) - low * (1 - n / GRID)) for n in range(GRID + 1))]
    places = sorted({*grid, *(knot for knot in law.knots() if 0 < knot < k_max)})
    best = max(range(len(places)), key=lambda n: gain(places[n]))
    left, right = places[max(0, best - 1)], places[min(len(places) - 1, best + 1)]
    for _ in range(120):
        third = (right - left) / 3
        if gain(left + third) < gain(right - third):
            left += third
        else:
            right -= third
    inside = (left + right) / 2
    return inside if gain(inside) > gain(places[best]) else places[best]
