"""Pools and paths of a decision: times to first token, decode steps, slots (MODEL.md sections 8 to 10)."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.judge.checks import REL
from planner.judge.state import State, staged_in
from planner.physics import cost, decode
from planner.plan import Pool, TtftPath, Violation


def paths(state: State) -> tuple[TtftPath, ...]:
    """Every path in use per class: queue, fetch, prefill and transfer against the TTFT limit."""
    system, decision, service = state.system, state.decision, state.service
    out = []
    for i, k in enumerate(system.classes):
        shares = path_shares(state, k.partition)
        ways: list[tuple[str, int | None, bool]] = [("miss", None, False), ("hbm", None, True)]
        ways += [(tier.name, t, True) for t, tier in enumerate(system.tiers) if decision.roles[t] == "sync"]
        for name, tier_index, hit in ways:
            fetch = 0.0 if tier_index is None else service.fetch[tier_index][i]
            total = state.wait + service.path_s(i, tier_index, hit)
            prefill = service.hit[i] if hit else service.miss[i]
            out.append(
                TtftPath(
                    k.name,
                    name,
                    shares[name],
                    state.wait,
                    fetch,
                    prefill,
                    service.transfer[i],
                    total,
                    system.ttft_s - total,
                )
            )
    return tuple(out)


def path_shares(state: State, partition: int) -> dict[str, float]:
    """Probability of each path for a class of ``partition``; a prefetched hit takes its staging tier's path."""
    decision = state.decision
    shares = {"hbm": decision.hits[0][partition], **{t.name: 0.0 for t in state.system.tiers}}
    for t, tier in enumerate(state.system.tiers):
        x = state.marginal[t][partition]
        into = staged_in(decision, t)
        if decision.roles[t] == "sync":
            shares[tier.name] += x
        elif into is not None:
            shares[state.system.tiers[into].name] += x * state.system.coverage
    shares["miss"] = 1.0 - sum(shares.values())
    return shares


def pools(state: State, violations: list[Violation]) -> tuple[Pool, Pool | None, float]:
    """The pools and the TPOT in seconds; adds to ``violations`` what decode breaks."""
    system, decision, config = state.system, state.decision, state.config
    n, gpus = decision.prefill_instances, decision.prefill_instances * config.gpus
    servers = n * config.ways
    busiest = state.load / servers * (system.load_imbalance if decision.architecture == "colocated" else 1.0)
    billed = state.nodes * system.gpus_per_node if system.whole_nodes else gpus
    prefill = Pool(
        instances=n,
        gpus_per_instance=config.gpus,
        parallelism=config.name,
        nodes=state.nodes,
        gpus=gpus,
        billed_gpus=billed,
        offered_load=state.load,
        servers=servers,
        utilization=busiest,
        hbm_cache_bytes=sum(decision.hbm_bytes),
    )
    if decision.architecture == "disaggregated":
        pool, tpot = decode_pool(state, violations)
        return prefill, pool, tpot
    batch = int(decision.batch or 0)
    steps = system.steps_s(config, batch)
    share = system.load(state.service.pure_miss, state.service.pure_hit, state.hits) / servers
    mean = system.concurrency(steps)
    if share >= 1:
        violations.append(Violation("tpot", math.inf, system.tpot_s, "s"))
        return replace(prefill, batch=batch, tpot_s=math.inf), None, math.inf
    tpot, in_flight = max(steps) / (1 - share), mean / (1 - share)
    slots = decode.slots_needed(in_flight, system.z)
    if tpot > system.tpot_s * (1 + REL):
        violations.append(Violation("tpot", tpot, system.tpot_s, "s"))
    if slots > n * batch * (1 + REL):
        violations.append(Violation("decode_slots", slots, n * batch, "sequences"))
    return replace(prefill, batch=batch, tpot_s=tpot, concurrency=in_flight, slots_needed=slots), None, tpot


def decode_pool(state: State, violations: list[Violation]) -> tuple[Pool, float]:
    """The pool that only generates, and its step time in seconds."""
    system, decision = state.system, state.decision
    config = system.config_by_name[str(decision.decode_config)]
    batch, n = int(decision.decode_batch or 0), decision.decode_instances
    steps = system.steps_s(config, batch)
    mean = system.concurrency(steps)
    slots = math.ceil(decode.slots_needed(mean, system.z) - 1e-9)
    if max(steps) > system.tpot_s * (1 + REL):
        violations.append(Violation("tpot", max(steps), system.tpot_s, "s"))
    if slots > n * batch:
        violations.append(Violation("decode_slots", slots, n * batch, "sequences"))
    nodes = cost.pool_nodes(n, config.gpus, system.gpus_per_node, system.whole_nodes)
    gpus = n * config.gpus
    billed = nodes * system.gpus_per_node if system.whole_nodes else gpus
    pool = Pool(
        n, config.gpus, config.name, nodes, gpus, billed, batch=batch, tpot_s=max(steps), concurrency=mean,
        slots_needed=slots, utilization=mean / (n * batch),
    )  # fmt: skip
    return pool, max(steps)
