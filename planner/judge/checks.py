"""Every promise of a decision, checked on the exact physics: what it needs against what it has."""

from __future__ import annotations

import math

from planner.judge.state import State, read_flow, staged_in, written
from planner.physics import cost
from planner.physics.timing import EngineConfig
from planner.plan import Violation

REL = 1e-7  # a promise counts as kept within this relative tolerance
DAY_S = 86400.0


def check_law(state: State) -> list[Violation]:
    """Hits obey the law and never fall from tier to tier; a tier that adds hits holds what faster ones hold."""
    found = []
    decision, system = state.decision, state.system
    for j, law in enumerate(state.laws):
        fastest = law.hit_rate(state.held[0][j])
        if decision.hits[0][j] > fastest + REL:
            found.append(Violation("hit_law_hbm", decision.hits[0][j], fastest, "hit rate"))
        for t, tier in enumerate(system.tiers):
            x = state.marginal[t][j]
            if x < -REL or (decision.roles[t] == "unused" and x > REL):
                found.append(Violation(f"marginal_hits_{tier.name}", x, 0.0, "hit rate"))
            if x <= REL:
                continue
            allowed = law.hit_rate(state.held[t + 1][j])
            if decision.hits[t + 1][j] > allowed + REL:
                found.append(Violation(f"hit_law_{tier.name}", decision.hits[t + 1][j], allowed, "hit rate"))
            faster = max(state.held[s][j] for s in range(t + 1))
            if state.held[t + 1][j] < faster * (1 - REL):
                found.append(Violation(f"inclusion_{tier.name}", faster, state.held[t + 1][j], "bytes"))
    return found


def check_pools(state: State) -> list[Violation]:
    """HBM, prefill utilisation, GPU count and, where disaggregated, the decode pool."""
    system, decision = state.system, state.decision
    found = []
    free = free_hbm(state)
    if sum(decision.hbm_bytes) > free * (1 + REL) + 1 or free < 0:
        found.append(Violation("hbm_memory", sum(decision.hbm_bytes), free, "bytes"))
    busiest = state.load * system.load_imbalance if decision.architecture == "colocated" else state.load
    capacity = system.max_utilization * decision.prefill_instances * state.config.ways
    if busiest > capacity * (1 + REL):
        found.append(Violation("prefill_utilization", busiest, capacity, "servers"))
    gpus = decision.prefill_instances * state.config.gpus
    if decision.architecture == "disaggregated":
        decoder = system.config_by_name[str(decision.decode_config)]
        gpus += decision.decode_instances * decoder.gpus
        found += check_decode(state, decoder)
    if gpus > system.scenario.deployment.max_gpus:
        found.append(Violation("max_gpus", gpus, system.scenario.deployment.max_gpus, "GPU"))
    return found


def check_decode(state: State, decoder: EngineConfig) -> list[Violation]:
    """Decode memory, the tensor-parallel coupling and the transfer between the pools."""
    system, decision, spec = state.system, state.decision, state.system.scenario.deployment.transfer
    found = []
    batch = int(decision.decode_batch or 0)
    need, have = system.decode_memory(decoder, batch), system.kv_memory(decoder)
    if need > have * (1 + REL):
        found.append(Violation("decode_memory", need, have, "bytes"))
    if spec.prefill_tp_at_most_decode_tp and state.config.tp > decoder.tp:
        found.append(Violation("tp_coupling", state.config.tp, decoder.tp, "ranks"))
    if spec.gb_per_s_per_node is not None:
        nodes = cost.pool_nodes(decision.decode_instances, decoder.gpus, system.gpus_per_node, system.whole_nodes)
        supply = system.read_utilization * spec.gb_per_s_per_node * 1e9 * min(state.nodes, nodes)
        if system.prompt_bytes_per_s > supply * (1 + REL):
            found.append(Violation("transfer_bandwidth", system.prompt_bytes_per_s, supply, "bytes/s"))
    return found


def free_hbm(state: State) -> float:
    """HBM tier of the pool in bytes of KV: what running sequences and prefill leave, without copies."""
    system, config = state.system, state.config
    free = system.kv_memory(config) - system.prefill_memory(config)
    if state.decision.batch is not None:
        free -= system.decode_memory(config, state.decision.batch)
    return state.decision.prefill_instances * free / system.replication(config)


def check_tiers(state: State) -> list[Violation]:
    """Capacity, staging, roles, purchase steps and flows of every listed tier."""
    system, decision = state.system, state.decision
    found = []
    for t, tier in enumerate(system.tiers):
        capacity, role = sum(decision.capacity_bytes[t]), decision.roles[t]
        if not math.isfinite(capacity):
            found.append(Violation(f"{tier.name}_fits_nodes", math.inf, tier.max_per_node * state.nodes, "bytes"))
            continue
        if role == "unused":
            if capacity > 1:
                found.append(Violation(f"{tier.name}_unused", capacity, 0.0, "bytes"))
            continue
        supply = tier.max_per_node * state.nodes
        if capacity > supply * (1 + REL):
            found.append(Violation(f"{tier.name}_fits_nodes", capacity, supply, "bytes"))
        if min(c - s for c, s in zip(decision.capacity_bytes[t], state.staging[t], strict=True)) < -1e-6 * capacity:
            found.append(Violation(f"{tier.name}_staging", sum(state.staging[t]), capacity, "bytes"))
        if role not in tier.roles:
            found.append(Violation(f"{tier.name}_role", 1, 0, role))
        if role == "prefetch" and staged_in(decision, t) is None:
            found.append(Violation(f"{tier.name}_needs_sync_tier", 1, 0, "tier"))
        if tier.step is not None and abs(capacity / tier.step - round(capacity / tier.step)) > 1e-6:
            found.append(Violation(f"{tier.name}_steps", capacity, tier.step, "bytes"))
        found += check_flows(state, t)
    return found


def check_flows(state: State, t: int) -> list[Violation]:
    """Read bandwidth, write bandwidth and endurance of tier ``t``."""
    system, tier = state.system, state.system.tiers[t]
    found = []
    flow = read_flow(system, state.decision, state.marginal, t)
    supply = system.read_utilization * tier.read_per_node * state.nodes
    if flow > supply * (1 + REL):
        found.append(Violation(f"{tier.name}_read_bandwidth", flow, supply, "bytes/s"))
    fresh = written(state)
    if tier.write_per_node is not None and fresh > tier.write_per_node * state.nodes * (1 + REL):
        found.append(Violation(f"{tier.name}_write_bandwidth", fresh, tier.write_per_node * state.nodes, "bytes/s"))
    if tier.dwpd is not None:
        daily = tier.dwpd * sum(state.decision.capacity_bytes[t])
        if fresh * DAY_S > daily * (1 + REL):
            found.append(Violation(f"{tier.name}_endurance", fresh * DAY_S, daily, "bytes/day"))
    return found
