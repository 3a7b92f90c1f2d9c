"""Plans of one design whose cost needs no solver: one cache, with one or two tiers.

A proposal is judged like every plan. A tier whose writes wear it out may hold more than its hits need, and then more
hits cost nothing; two tiers share the hits so that their rent is least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.designs import DecodeOption, Design
from planner.evaluate import evaluate
from planner.milp.repair import Answer, repaired, without_idle_tiers
from planner.physics.system import System
from planner.plan import Decision, Evaluation
from planner.study.two_tiers import STEPS, least_split

BISECTIONS = 40
TOP = 1 - 1e-9  # of a law's ceiling, which may need infinite capacity
ROUNDING = 1e-7


@dataclass(frozen=True)
class Proposal:
    """A feasible plan of a design, if the judge lets it pass, and a bound below all of the design's plans."""

    plan: Evaluation | None
    bound: float = 0.0


def proposed(system: System, design: Design, pool: DecodeOption | None, tolerance: float) -> Proposal | None:
    """The design's cheapest plan to a relative ``tolerance``, None where there is no such form."""
    used = design.roles.used
    if len(system.laws) > 1 or not 1 <= len(used) <= 2:
        return None
    if len(used) == 1:
        return _one_tier(system, design, pool)
    if not system.inclusive and any(_sizes(system, design, t) > STEPS for t in used):
        return None  # how two tiers share what both hold is then a choice among many whole numbers
    return _two_tiers(system, design, pool, tolerance)


def _one_tier(system: System, design: Design, pool: DecodeOption | None) -> Proposal | None:
    """One tier that wears out: what its hits need grows with them, what its writes need falls. Cheapest where equal.

    Either side of that hit rate costs at least as much, so the plan there is the design's cheapest; the bound leaves
    room for the bisection's last step.
    """
    tier = design.roles.used[0]
    if not system.tiers[tier].dwpd:
        return None
    law = design.prefill.laws[0]
    low, high = max(design.need, _free(design)), law.top * TOP

    def worn(hits: float) -> bool:
        held = sum(_decision(system, design, pool, (hits,)).capacity_bytes[tier])
        kept = law.capacity_for(hits) - (0.0 if system.inclusive else design.prefill.hbm_bytes)
        return held > kept * (1 + ROUNDING)

    if high <= low or not worn(low):
        return None
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if worn(middle) else (low, middle)
    found = _judged(system, _decision(system, design, pool, (high,)))
    if found is None or found.plan is None:
        return None
    return Proposal(found.plan, found.plan.usd_per_hour * (1 - ROUNDING))


def _two_tiers(system: System, design: Design, pool: DecodeOption | None, tolerance: float) -> Proposal:
    """The split of hits with the least rent."""
    gpus = design.prefill.billed_gpus + (pool.billed_gpus if pool is not None else 0.0)
    usd = gpus * system.gpu_usd_per_hour
    split = least_split(system, design, tolerance / 2 * usd)
    if split is None:
        return Proposal(None, math.inf)
    found = _judged(system, _decision(system, design, pool, split.hits, split.fast_bytes))
    return Proposal(found.plan if found else None, usd + split.bound_usd)


def _sizes(system: System, design: Design, t: int) -> float:
    tier = system.tiers[t]
    return tier.max_per_node * design.prefill.nodes / tier.step if tier.step else 0.0


def _free(design: Design) -> float:
    return design.prefill.laws[0].hit_rate(design.prefill.hbm_bytes)


def _decision(
    system: System, design: Design, pool: DecodeOption | None, hits: tuple[float, ...], first_bytes: float = 0.0
) -> Decision:
    """The decision with cumulative ``hits`` of each tier in use, at least ``first_bytes`` in the first."""
    used, level, levels = design.roles.used, _free(design), []
    for t in range(len(system.tiers)):
        level = max(level, hits[used.index(t)]) if t in used else level
        levels.append((level,))
    answer = Answer(
        design=design,
        decode=pool,
        hits=((_free(design),), *levels),
        adds=tuple((t in used,) for t in range(len(system.tiers))),
        hbm_bytes=(design.prefill.hbm_bytes,),
        capacity_bytes=tuple((first_bytes if t == used[0] else 0.0,) for t in range(len(system.tiers))),
    )
    return repaired(system, answer)


def _judged(system: System, decision: Decision) -> Proposal | None:
    found = evaluate(system, without_idle_tiers(decision))
    return Proposal(found) if found.feasible else None
