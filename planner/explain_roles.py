"""Why a tier has its role, in one sentence with its numbers."""

from __future__ import annotations

from planner.physics.system import System
from planner.plan import Decision


def why_role(system: System, decision: Decision, tier: int, fetch_s: float, room_s: float) -> str:
    """The sentence for one tier: what its fetch takes against the slack that queue, prefill and transfer leave.

    Args:
        system: the scenario's numbers.
        decision: the plan.
        tier: index of the listed tier.
        fetch_s: fetch time of the tightest class, seconds.
        room_s: that class's slack before the fetch, seconds.
    """
    fits = fetch_s <= room_s
    against = f"fetch {1e3 * fetch_s:,.0f} ms against {1e3 * room_s:,.0f} ms of slack"
    role, spec = decision.roles[tier], system.tiers[tier]
    if role == "sync":
        return f"synchronous: {against}"
    if role == "prefetch":
        return f"cannot be synchronous: {against}" if not fits else f"could be synchronous ({against}); prefetch costs less"
    if not spec.roles:
        return "the scenario allows it no role"
    if not fits:
        return f"cannot be synchronous: {against}; as prefetch it would not pay"
    return f"would not pay: {against}, but its rent or read bandwidth exceeds the GPU time it saves"
