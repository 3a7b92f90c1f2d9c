"""Inequalities that hold for every capacity of a design: what can be left out without losing an optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.designs import Design, HitsNeeded, PrefillOption, RoleSet
from planner.physics import cost
from planner.physics.system import System, Tier

DAY_S = 86400.0
SLACK = 1e-9  # relative: rounding must not drop a design


def hbm_suffices(option: PrefillOption, rows: Sequence[HitsNeeded]) -> bool:
    """Whether the free HBM reaches the hits: exact for one partition, by an even split otherwise (sufficient)."""
    share = option.hbm_bytes / len(option.laws)
    hits = [law.hit_rate(share) for law in option.laws]
    return all(sum(w * h for w, h in zip(r.weights, hits, strict=True)) >= r.need - 1e-12 for r in rows)


def reachable(option: PrefillOption, rows: Sequence[HitsNeeded]) -> bool:
    """Whether any capacity reaches the needed hits: no law exceeds its ceiling."""
    return all(sum(w * law.top for w, law in zip(r.weights, option.laws, strict=True)) >= r.need - 1e-12 for r in rows)


def rent_floor(system: System, option: PrefillOption, roles: RoleSet, rows: Sequence[HitsNeeded]) -> float:
    """Rent in dollars per hour that no capacities of this role assignment go below; infinite where none can do.

    Every tier in use must take the writes of the highest hit rate (bandwidth, drive writes per day). With one
    partition, effective hits never exceed ``h`` of the largest cache in use, so that cache must hold ``h^-1(need)``
    bytes (inclusive), or all caches together must (exclusive).
    """
    fresh = system.prompt_bytes_per_s - sum(
        r * law.top for r, law in zip(system.reuse_bytes_per_s, option.laws, strict=True)
    )
    tiers = [system.tiers[t] for t in roles.used]
    least = [fresh * DAY_S / t.dwpd if t.dwpd else 0.0 for t in tiers]
    for tier, capacity in zip(tiers, least, strict=True):
        writes = tier.write_per_node
        if not _fits(tier, capacity, option) or (writes is not None and fresh > writes * option.nodes * (1 + SLACK)):
            return math.inf
    rents = [_rent(t, c, option) for t, c in zip(tiers, least, strict=True)]
    if len(option.laws) > 1:
        return sum(rents)
    return max(sum(rents), _rent_for_hits(system, option, tiers, least, rents, rows))


def _rent_for_hits(
    system: System,
    option: PrefillOption,
    tiers: Sequence[Tier],
    least: Sequence[float],
    rents: Sequence[float],
    rows: Sequence[HitsNeeded],
) -> float:
    law = option.laws[0]
    need = max(0.0, *(r.need for r in rows))
    capacity = law.capacity_for(min(need, law.top * (1 - 1e-12)))
    if not _readable(system, option, tiers, need - law.hit_rate(option.hbm_bytes)):
        return math.inf
    if not system.inclusive:
        spare = option.hbm_bytes + sum(t.included_per_node for t in tiers) * option.nodes
        supply = option.hbm_bytes + sum(t.max_per_node for t in tiers) * option.nodes
        if capacity > supply * (1 + SLACK):
            return math.inf
        return min(t.usd_per_byte_hour for t in tiers) * max(0.0, capacity - spare)
    total = sum(rents)
    options = [
        total - rent + _rent(tier, max(capacity, floor), option)
        for tier, floor, rent in zip(tiers, least, rents, strict=True)
        if _fits(tier, max(capacity, floor), option)
    ]
    return min(options, default=math.inf)


def _readable(system: System, option: PrefillOption, tiers: Sequence[Tier], hits: float) -> bool:
    """Whether the tiers' bandwidth can deliver ``hits`` beyond HBM's; reads cost at least ``coverage`` per prefetch."""
    total = sum(system.reuse_bytes_per_s)
    supply = system.read_utilization * option.nodes * sum(t.read_per_node for t in tiers)
    return hits * total <= supply * (1 + SLACK)


def _fits(tier: Tier, capacity: float, option: PrefillOption) -> bool:
    return _whole_steps(tier, capacity) <= tier.max_per_node * option.nodes * (1 + SLACK)


def _rent(tier: Tier, capacity: float, option: PrefillOption) -> float:
    included = tier.included_per_node * option.nodes
    return cost.rent_usd_per_hour(_whole_steps(tier, capacity), included, tier.usd_per_byte_hour)


def _whole_steps(tier: Tier, capacity: float) -> float:
    return capacity if tier.step is None else math.ceil(capacity / tier.step * (1 - SLACK)) * tier.step


def undominated(designs: list[Design], coupled: bool) -> list[Design]:
    """Drop designs that another with the same roles beats in cost, nodes, HBM, laws and hits needed.

    Args:
        designs: candidates of one architecture.
        coupled: whether a prefill pool's tensor parallelism limits the decode pools that can follow it.
    """
    designs.sort(key=lambda d: (d.prefill.billed_gpus, d.prefill.gpus, d.need, d.prefill.instances))
    kept: dict[RoleSet, list[Design]] = {}
    for design in designs:
        rivals = kept.setdefault(design.roles, [])
        if not any(_dominates(r, design, coupled) for r in rivals):
            rivals.append(design)
    return [d for group in kept.values() for d in group]


def _dominates(a: Design, b: Design, coupled: bool) -> bool:
    p, q = a.prefill, b.prefill
    if len(p.laws) > 1:  # rows of different weights cannot be compared by one number
        return False
    return (
        p.billed_gpus <= q.billed_gpus
        and p.gpus <= q.gpus
        and p.nodes >= q.nodes
        and p.hbm_bytes >= q.hbm_bytes
        and a.need <= b.need
        and (p.batch is None or p.laws == q.laws or p.instances <= q.instances)
        and (not coupled or p.config.tp <= q.config.tp)
    )
