"""What one more terabyte of a tier is worth at a plan: with its GPUs as they are, and with GPUs in fractions.

The first is the judge's: counts, configurations and roles stay, and whatever other paid capacity the terabyte makes
superfluous is given back. The second is the curve's: every prefill second saved is paid out, as if GPUs could be
bought by the second. A cheapest plan gains nothing by the first; the second tells where the pressure is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.judge.state import State
from planner.physics import cost
from planner.physics.reuse import Law
from planner.physics.system import System, Tier
from planner.plan import Decision, Evaluation
from planner.study.closed_form import HOUR_S
from planner.study.keep import kept

TB = 1e12
FINENESS = 1_000_000  # of a capacity that has no purchase steps


@dataclass(frozen=True)
class NextTB:
    """Dollars per hour that it saves less what it costs: positive where it pays."""

    added_bytes: float  # a terabyte, or the purchase steps that hold one
    room_bytes: float  # what the plan's nodes still take
    plan_usd_per_hour: float | None  # whole GPUs, as in the plan; None where it does not fit
    fractional_usd_per_hour: float  # GPUs in fractions, no other limit

    @property
    def is_step(self) -> bool:
        """Whether it is a purchase step of another size than a terabyte."""
        return abs(self.added_bytes - TB) >= 1

    def per_tb(self, usd_per_hour: float | None) -> float | None:
        """Of what is saved or paid for all of it, the part of one terabyte."""
        return None if usd_per_hour is None else usd_per_hour * TB / self.added_bytes


def next_tb(system: System, plan: Evaluation, state: State, law: Law, t: int, j: int, usd_per_hit: float) -> NextTB:
    """One more terabyte of tier ``t`` for partition ``j``."""
    tier = system.tiers[t]
    added = math.ceil(TB / tier.step - 1e-9) * tier.step if tier.step else TB
    own, included = sum(plan.decision.capacity_bytes[t]), tier.included_per_node * state.nodes
    rent = _rent(tier, own + added, included) - _rent(tier, own, included)
    room = max(0.0, tier.max_per_node * state.nodes - own)
    fits = room >= added * (1 - 1e-9)
    rate = sum(system.classes[i].rate for i in system.partitions[j])
    more = _hits(system, state, law, t, j, added) - _hits(system, state, law, t, j, 0.0)
    return NextTB(
        added,
        room,
        _given_back(system, plan, t, j, added) - rent if fits else None,
        HOUR_S * rate * usd_per_hit * more - rent,
    )


def _rent(tier: Tier, capacity: float, included: float) -> float:
    return cost.rent_usd_per_hour(capacity, included, tier.usd_per_byte_hour)


def _hits(system: System, state: State, law: Law, tier: int, j: int, added: float) -> float:
    """Effective hits that the curve gives for the plan's capacities with ``added`` bytes in one tier."""
    roles = state.decision.roles
    top = hits = law.hit_rate(state.held[0][j])
    for t, role in enumerate(roles):
        if role == "unused" and t != tier:
            continue
        grows = t == tier or (not system.inclusive and t > tier)
        reached = law.hit_rate(state.held[t + 1][j] + (added if grows else 0.0))
        if reached > top:
            hits += (reached - top) * (system.coverage if role == "prefetch" else 1.0)
            top = reached
    return hits


def _given_back(system: System, plan: Evaluation, t: int, j: int, added: float) -> float:
    """Rent of other capacities that the plan no longer needs once it has the terabyte, dearest first."""
    if plan.decision.roles[t] == "unused":
        return 0.0  # nothing reads it
    decision = _with_capacity(plan.decision, t, j, plan.decision.capacity_bytes[t][j] + added)
    before = kept(system, decision).usd_per_hour
    others = [
        (s, i)
        for s, row in enumerate(decision.capacity_bytes)
        for i, size in enumerate(row)
        if (s, i) != (t, j) and size > 0 and system.tiers[s].usd_per_byte_hour > 0
    ]
    for s, i in sorted(others, key=lambda place: -system.tiers[place[0]].usd_per_byte_hour):
        decision = _shrunk(system, decision, s, i)
    return max(0.0, before - kept(system, decision).usd_per_hour)


def _shrunk(system: System, decision: Decision, t: int, j: int) -> Decision:
    """The least capacity of one tier and partition, in its purchase steps, with which every promise is kept."""
    own = decision.capacity_bytes[t][j]
    unit = system.tiers[t].step or own / FINENESS
    low, high = 0, int(own / unit + 1e-9)
    while low < high:
        middle = (low + high + 1) // 2
        less = _with_capacity(decision, t, j, max(0.0, own - middle * unit))
        low, high = (middle, high) if kept(system, less).feasible else (low, middle - 1)
    return _with_capacity(decision, t, j, max(0.0, own - low * unit))


def _with_capacity(decision: Decision, t: int, j: int, size: float) -> Decision:
    rows = [list(row) for row in decision.capacity_bytes]
    rows[t][j] = size
    return replace(decision, capacity_bytes=tuple(map(tuple, rows)))
