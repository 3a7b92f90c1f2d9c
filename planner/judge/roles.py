"""Why a tier has its role, in one sentence with its numbers."""

from __future__ import annotations

from planner.judge.state import State, written

DAY_S = 86400.0


def why_role(state: State, tier: int, fetch_s: float, room_s: float) -> str:
    """The sentence for one listed tier.

    Args:
        state: the judged decision.
        tier: index of the listed tier.
        fetch_s: fetch time of the tightest class, seconds.
        room_s: what queue, prefill and transfer leave that class for a fetch, seconds.
    """
    against = f"fetch {1e3 * fetch_s:,.0f} ms against {1e3 * room_s:,.0f} ms of slack"
    role, spec = state.decision.roles[tier], state.system.tiers[tier]
    if role == "sync":
        staging = sum(state.staging[tier])
        only = staging > 0 and sum(state.marginal[tier]) < 1e-6
        return f"synchronous: {against}" + ("; holds only what is staged for prefetch" if only else "")
    if role == "prefetch" and "sync" not in spec.roles:
        return f"prefetch, as the scenario allows (tiers[{tier}].roles); {against}"
    if role == "prefetch":
        if fetch_s > room_s:
            return f"cannot be synchronous: {against}"
        return f"could be synchronous ({against}), but prefetch leaves the queue more time"
    if not spec.roles:
        return "the scenario allows it no role"
    if sum(state.system.reuse_bytes_per_s) <= 0:
        return "nothing to hold: no prompt repeats an earlier one (reusable_tokens)"
    blocked = _cannot_take_writes(state, tier)
    if blocked:
        return blocked
    if fetch_s > room_s:
        return f"cannot be synchronous: {against}; as prefetch it would not pay: no plan with it costs less"
    return f"would not pay: {against}, but no plan with it costs less"


def _cannot_take_writes(state: State, tier: int) -> str:
    """Why the tier cannot take the fresh KV, empty where it can."""
    spec, fresh = state.system.tiers[tier], written(state)
    room = spec.max_per_node * state.nodes
    if spec.write_per_node is not None and fresh > spec.write_per_node * state.nodes:
        return (
            f"cannot take the writes: {fresh / 1e9:,.3g} GB/s of fresh KV against "
            f"{spec.write_per_node * state.nodes / 1e9:,.3g} GB/s"
        )
    if spec.dwpd and fresh * DAY_S > spec.dwpd * room:
        return (
            f"would wear out: {fresh * DAY_S / 1e12:,.0f} TB of fresh KV a day against "
            f"{spec.dwpd * room / 1e12:,.0f} TB that {room / 1e12:,.3g} TB of drives endure"
        )
    return ""
