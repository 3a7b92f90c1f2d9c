"""The judge: the exact physics of one decision (MODEL.md sections 4 to 11). It knows nothing of the optimisation model.

Every number that a plan shows comes from here, and a decision that breaks any promise is reported with what it
needs and what it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.physics import cost, decode, queueing
from planner.physics.reuse import Law
from planner.physics.system import Service, System
from planner.physics.timing import EngineConfig
from planner.plan import CostLine, Decision, Evaluation, Pool, TierUse, TtftPath, Violation

REL = 1e-7  # a promise counts as kept within this relative tolerance
DAY_S = 86400.0


@dataclass(frozen=True)
class _State:
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


def evaluate(system: System, decision: Decision) -> Evaluation:
    """Judge ``decision``: its cost, its times, and every promise it breaks."""
    state = _state(system, decision)
    violations = [*_check_law(state), *_check_pools(state), *_check_tiers(state)]
    paths = _paths(state)
    worst = max((p for p in paths if p.in_use), key=lambda p: p.total_s)
    if not worst.total_s <= system.ttft_s * (1 + REL):
        violations.append(Violation("ttft_budget", worst.total_s, system.ttft_s, "s"))
    prefill, decode_pool, tpot = _pools(state, violations)
    costs = _costs(state, prefill, decode_pool)
    usd = sum(line.usd_per_hour for line in costs)
    return Evaluation(
        decision=decision,
        usd_per_hour=usd,
        usd_per_million_tokens=cost.usd_per_million_tokens(usd, system.tokens_per_s),
        costs=costs,
        prefill=prefill,
        decode=decode_pool,
        tiers=_tiers(state),
        effective_hit_rate=_mean_hits(state),
        paths=paths,
        tpot_s=tpot,
        binding=_binding(state, prefill, decode_pool, tpot, worst.total_s),
        violations=tuple(violations),
        notes=_notes(state),
    )


def _state(system: System, decision: Decision) -> _State:
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
    return _State(
        system, decision, config, service, laws, nodes, staging, held, marginal, hits, load, servers, wait
    )


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
                staging[into][j] += (
                    rate * system.coverage / system.precision * max(marginal[t][j], 0.0) * system.lead_s
                )
    return tuple(tuple(row) for row in staging)


def _held(
    system: System, decision: Decision, staging: tuple[tuple[float, ...], ...]
) -> tuple[tuple[float, ...], ...]:
    """``K`` per level: a tier's own bytes net of staging (inclusive), or with all faster ones' (exclusive)."""
    held = [tuple(decision.hbm_bytes)]
    for t, capacity in enumerate(decision.capacity_bytes):
        own = [c - s for c, s in zip(capacity, staging[t], strict=True)]
        if not system.inclusive:
            own = [o + faster for o, faster in zip(own, held[-1], strict=True)]
        held.append(tuple(own))
    return tuple(held)


def _check_law(state: _State) -> list[Violation]:
    """Hits obey the law, never fall from tier to tier, and a tier that adds hits holds at least what faster ones hold."""
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


def _check_pools(state: _State) -> list[Violation]:
    system, decision = state.system, state.decision
    found = []
    free = _free_hbm(state)
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
        found += _check_decode(state, decoder)
    if gpus > system.scenario.deployment.max_gpus:
        found.append(Violation("max_gpus", gpus, system.scenario.deployment.max_gpus, "GPU"))
    return found


def _check_decode(state: _State, decoder: EngineConfig) -> list[Violation]:
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


def _free_hbm(state: _State) -> float:
    """HBM tier of the pool in bytes of KV: what running sequences and prefill leave, without copies."""
    system, config = state.system, state.config
    free = system.kv_memory(config) - system.prefill_memory(config)
    if state.decision.batch is not None:
        free -= system.decode_memory(config, state.decision.batch)
    return state.decision.prefill_instances * free / system.replication(config)


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


def written(state: _State) -> float:
    """Fresh KV in bytes per second: ``sum lambda (L - e P) kappa``, written once to every tier in use."""
    saved = sum(r * e for r, e in zip(state.system.reuse_bytes_per_s, state.hits, strict=True))
    return state.system.prompt_bytes_per_s - saved


def _check_tiers(state: _State) -> list[Violation]:
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
        found += _check_flows(state, t)
    return found


def _check_flows(state: _State, t: int) -> list[Violation]:
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


def _paths(state: _State) -> tuple[TtftPath, ...]:
    system, decision, service = state.system, state.decision, state.service
    out = []
    for i, k in enumerate(system.classes):
        shares = _path_shares(state, k.partition)
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


def _path_shares(state: _State, partition: int) -> dict[str, float]:
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


def _pools(state: _State, violations: list[Violation]) -> tuple[Pool, Pool | None, float]:
    system, decision, config = state.system, state.decision, state.config
    n, gpus = decision.prefill_instances, decision.prefill_instances * config.gpus
    servers = n * config.ways
    busiest = state.load / servers * (system.load_imbalance if decision.architecture == "colocated" else 1.0)
    billed = state.nodes * system.gpus_per_node if system.whole_nodes else gpus
    common = {
        "instances": n,
        "gpus_per_instance": config.gpus,
        "parallelism": config.name,
        "nodes": state.nodes,
        "gpus": gpus,
        "billed_gpus": billed,
        "offered_load": state.load,
        "servers": servers,
        "utilization": busiest,
        "hbm_cache_bytes": sum(decision.hbm_bytes),
    }
    if decision.architecture == "disaggregated":
        pool, tpot = _decode_pool(state, violations)
        return Pool(**common), pool, tpot
    batch = int(decision.batch or 0)
    steps = system.steps_s(config, batch)
    share = system.load(state.service.pure_miss, state.service.pure_hit, state.hits) / servers
    mean = system.concurrency(steps)
    if share >= 1:
        violations.append(Violation("tpot", math.inf, system.tpot_s, "s"))
        return Pool(**common, batch=batch, tpot_s=math.inf), None, math.inf
    tpot, in_flight = max(steps) / (1 - share), mean / (1 - share)
    slots = decode.slots_needed(in_flight, system.z)
    if tpot > system.tpot_s * (1 + REL):
        violations.append(Violation("tpot", tpot, system.tpot_s, "s"))
    if slots > n * batch * (1 + REL):
        violations.append(Violation("decode_slots", slots, n * batch, "sequences"))
    return Pool(**common, batch=batch, tpot_s=tpot, concurrency=in_flight, slots_needed=slots), None, tpot


def _decode_pool(state: _State, violations: list[Violation]) -> tuple[Pool, float]:
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


def _costs(state: _State, prefill: Pool, decode_pool: Pool | None) -> tuple[CostLine, ...]:
    system = state.system
    price = system.gpu_usd_per_hour
    names = ("GPUs",) if decode_pool is None else ("prefill GPUs", "decode GPUs")
    lines = [
        CostLine(name, pool.billed_gpus, "GPU", price, pool.billed_gpus * price, "prices.gpu_usd_per_hour")
        for name, pool in zip(names, (prefill, decode_pool), strict=False)
        if pool is not None
    ]
    for t, tier in enumerate(system.tiers):
        capacity = sum(state.decision.capacity_bytes[t])
        if state.decision.roles[t] == "unused":
            continue
        included = min(capacity, tier.included_per_node * state.nodes)
        unit = tier.usd_per_byte_hour * 1e9
        key = f"tiers[{t}].usd_per_gb_hour"
        rent = cost.rent_usd_per_hour(capacity, tier.included_per_node * state.nodes, tier.usd_per_byte_hour)
        if included > 0:
            lines.append(CostLine(f"{tier.name} included", included / 1e9, "GB", 0.0, 0.0, key))
        if capacity > included or included <= 0:
            lines.append(CostLine(tier.name, (capacity - included) / 1e9, "GB", unit, rent, key))
    return tuple(lines)


def _mean_hits(state: _State) -> float:
    """Effective hit rate over reusable tokens."""
    total = sum(state.system.reuse_bytes_per_s)
    if total <= 0:
        return 0.0
    return sum(r * e for r, e in zip(state.system.reuse_bytes_per_s, state.hits, strict=True)) / total


def _tiers(state: _State) -> tuple[TierUse, ...]:
    from planner.explain_roles import why_role  # the sentences live beside their numbers, apart from the checks

    system, decision, service = state.system, state.decision, state.service
    weight = system.reuse_bytes_per_s
    total = sum(weight) or 1.0

    def mean(values: tuple[float, ...]) -> float:
        return sum(w * v for w, v in zip(weight, values, strict=True)) / total

    classes = range(len(system.classes))
    room = [system.ttft_s - state.wait - service.hit[k] - service.transfer[k] for k in classes]
    out = [
        TierUse("hbm", "sync", sum(decision.hbm_bytes), 0.0, mean(decision.hits[0]), mean(decision.hits[0]), 0.0,
                0.0, min(room), min(room), "always present, always synchronous, free"),
    ]  # fmt: skip
    for t, tier in enumerate(system.tiers):
        fetch = service.fetch[t]
        tight = min(classes, key=lambda k: room[k] - fetch[k])
        flow = read_flow(system, decision, state.marginal, t)
        used = decision.roles[t] != "unused"
        out.append(
            TierUse(
                tier.name,
                decision.roles[t],
                sum(decision.capacity_bytes[t]),
                sum(state.staging[t]),
                mean(state.marginal[t]) if used else 0.0,
                mean(decision.hits[t + 1]),
                flow / (tier.read_per_node * state.nodes) if used else 0.0,
                max(fetch),
                room[tight] - fetch[tight],
                room[tight],
                why_role(system, decision, t, fetch[tight], room[tight]),
            )
        )
    return tuple(out)


def _binding(
    state: _State, prefill: Pool, decode_pool: Pool | None, tpot: float, worst_ttft: float
) -> tuple[str, ...]:
    """Rules with less than 0.1 % to spare, in the order of the model."""
    system, decision = state.system, state.decision
    ratios = {
        "ttft_budget": worst_ttft / system.ttft_s,
        "prefill_utilization": (prefill.utilization or 0.0) / system.max_utilization,
        "tpot": tpot / system.tpot_s,
    }
    pool = decode_pool or prefill
    ratios["decode_slots"] = (pool.slots_needed or 0.0) / (pool.instances * (pool.batch or 1))
    for t, tier in enumerate(system.tiers):
        capacity = sum(decision.capacity_bytes[t])
        if decision.roles[t] == "unused" or capacity <= 0:
            continue
        ratios[f"{tier.name}_fits_nodes"] = capacity / (tier.max_per_node * state.nodes)
        flow = read_flow(system, decision, state.marginal, t)
        ratios[f"{tier.name}_read_bandwidth"] = flow / (system.read_utilization * tier.read_per_node * state.nodes)
        if tier.write_per_node:
            ratios[f"{tier.name}_write_bandwidth"] = written(state) / (tier.write_per_node * state.nodes)
        if tier.dwpd:
            ratios[f"{tier.name}_endurance"] = written(state) * DAY_S / (tier.dwpd * capacity)
        ratios[f"{tier.name}_staging"] = sum(state.staging[t]) / capacity
        if decision.hits[t + 1] and max(decision.hits[t + 1]) >= max(law.top for law in state.laws) * (1 - 1e-6):
            ratios["hit_ceiling"] = 1.0
    return tuple(sorted((r for r, v in ratios.items() if v >= 0.999), key=lambda r: -ratios[r]))


def _notes(state: _State) -> tuple[str, ...]:
    """Estimates that this plan rests on: values outside a timing grid, known faults of a table."""
    system, decision = state.system, state.decision
    notes = list(dict.fromkeys(state.config.timing.notes))
    prefill_in = all(
        state.config.timing.prefill_in_grid(u, p)
        for k in system.classes
        for u, p in ((k.prompt, 0), (k.prompt - k.reusable, k.reusable))
    )
    if not prefill_in:
        notes.append("prefill time lies outside the timing grid: continued linearly in tokens from its last interval")
    name, batch = decision.decode_config or decision.prefill_config, decision.decode_batch or decision.batch or 1
    decoder = system.config_by_name[name]
    notes += [n for n in decoder.timing.notes if n not in notes]
    if not all(decoder.timing.decode_in_grid(batch, k.decode_context) for k in system.classes):
        notes.append("decode step lies outside the timing grid: continued linearly in tokens from its last interval")
    return tuple(notes)
