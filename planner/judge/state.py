"""A decision with its physics looked up once: staging, capacities net of it, hits, load and queue wait."""

from __future__ import annotations

from dataclasses import dataclass

from planner.physics import cost, queueing
from planner.physics.reuse import Law
from planner.physics.system import Service, System
from planner.physics.timing import EngineConfig
from planner.plan import Decision


@dataclass(frozen=True)
class State:
    """What the checks share: the decision with its physics looked up once."""

    system: System
    decision: Decision
    config: EngineConfig
    service: Service
    laws: tuple[Law, ...]
    nodes: float
    staging: tuple[tuple[float, ...], ...]  # per tier and partition, bytes
    held: tuple[tuple[float, ...], ...]  # K per level (HBM first) and partition, bytes
    marginal: tuple[tuple[float, ...], ...]  # x per listed tier and partition
    hits: tuple[float, ...]  # effective e per partition
    load: float
    servers: int
    wait: float


def judged_state(system: System, decision: Decision) -> State:
    """Look up everything that the checks and accounts of ``decision`` share."""
    config = system.config_by_name[decision.prefill_config]
    service = system.service(config, decision.batch)
    n = decision.prefill_instances
    laws = tuple(system.partition_law(j, decision.architecture, n) for j in range(len(system.laws)))
    nodes = cost.pool_nodes(n, config.gpus, system.gpus_per_node, system.whole_nodes)
    tiers, parts = range(len(system.tiers)), range(len(laws))
    marginal = tuple(tuple(decision.hits[t + 1][j] - decision.hits[t][j] for j in parts) for t in tiers)
    staging = _staging(system, decision, marginal)
    held = _held(system, decision, staging)
    hits = tuple(
        decision.hits[0][j]
        + sum(marginal[t][j] * {"sync": 1.0, "prefetch": system.coverage}.get(decision.roles[t], 0.0) for t in tiers)
        for j in parts
    )
    load = system.load(service.miss, service.hit, hits)
    servers = n * config.ways if decision.architecture == "disaggregated" else config.ways
    wait = _wait_s(system, decision, service, load, servers)
    return State(system, decision, config, service, laws, nodes, staging, held, marginal, hits, load, servers, wait)


def _wait_s(system: System, decision: Decision, service: Service, load: float, servers: int) -> float:
    rate, share = system.rate, load
    if decision.architecture == "colocated":  # each instance queues alone; under affinity the busiest decides
        rate = system.load_imbalance * system.rate / decision.prefill_instances
        share = system.load_imbalance * load / decision.prefill_instances
    return queueing.wait_s(servers, share, rate, service.variability, system.percentile)


def staged_in(decision: Decision, tier: int) -> int | None:
    """The next faster synchronous tier, where a prefetch tier's KV waits; None for other roles."""
    if decision.roles[tier] != "prefetch":
        return None
    return max((t for t in range(tier) if decision.roles[t] == "sync"), default=None)


def _staging(
    system: System, decision: Decision, marginal: tuple[tuple[float, ...], ...]
) -> tuple[tuple[float, ...], ...]:
    """Bytes of each tier that hold prefetched KV: ``lambda P kappa * coverage / precision * x * lead``."""
    staging = [[0.0] * len(system.laws) for _ in system.tiers]
    for t in range(len(system.tiers)):
        into = staged_in(decision, t)
        if into is not None:
            for j, rate in enumerate(system.reuse_bytes_per_s):
                staging[into][j] += rate * system.coverage / system.precision * max(marginal[t][j], 0.0) * system.lead_s
    return tuple(tuple(row) for row in staging)


def _held(system: System, decision: Decision, staging: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    """``K`` per level: a tier's own bytes net of staging (inclusive), or with all faster ones' (exclusive)."""
    held = [tuple(decision.hbm_bytes)]
    for t, capacity in enumerate(decision.capacity_bytes):
        own = [c - s for c, s in zip(capacity, staging[t], strict=True)]
        if not system.inclusive:
            own = [o + faster for o, faster in zip(own, held[-1], strict=True)]
        held.append(tuple(own))
    return tuple(held)


def read_flow(system: System, decision: Decision, marginal: tuple[tuple[float, ...], ...], tier: int) -> float:
    """Bytes per second read from a tier: its hits, what is pulled up from it, and what is read again from staging."""
    flow = 0.0
    for j, rate in enumerate(system.reuse_bytes_per_s):
        own = {"sync": 1.0, "prefetch": system.coverage / system.precision}.get(decision.roles[tier], 0.0)
        flow += rate * own * marginal[tier][j]
        for t in range(len(system.tiers)):
            if staged_in(decision, t) == tier:
                flow += rate * system.coverage * marginal[t][j]
    return flow


def written(state: State) -> float:
    """Fresh KV in bytes per second: ``sum lambda (L - e P) kappa``, written once to every tier in use."""
    saved = sum(r * e for r, e in zip(state.system.reuse_bytes_per_s, state.hits, strict=True))
    return state.system.prompt_bytes_per_s - saved
