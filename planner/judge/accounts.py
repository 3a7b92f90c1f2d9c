"""What a decision costs, what its tiers do, what binds and what it rests on."""

from __future__ import annotations

import math

from planner.judge.checks import DAY_S
from planner.judge.roles import why_role
from planner.judge.state import State, read_flow, written
from planner.physics import cost
from planner.physics.timing import EngineConfig
from planner.plan import CostLine, Pool, TierUse
from planner.scenario import catalog


def costs(state: State, prefill: Pool, decode_pool: Pool | None) -> tuple[CostLine, ...]:
    """The bill in dollars per hour: billed GPUs, then what exceeds each tier's included capacity."""
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


def mean_hits(state: State) -> float:
    """Effective hit rate over reusable tokens."""
    total = sum(state.system.reuse_bytes_per_s)
    if total <= 0:
        return 0.0
    return sum(r * e for r, e in zip(state.system.reuse_bytes_per_s, state.hits, strict=True)) / total


def tiers(state: State) -> tuple[TierUse, ...]:
    """What each tier holds, serves and has to spare, HBM first; times are those of the tightest class."""
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
                why_role(state, t, fetch[tight], room[tight]),
            )
        )
    return tuple(out)


def binding(state: State, prefill: Pool, decode_pool: Pool | None, tpot: float, worst_ttft: float) -> tuple[str, ...]:
    """Rules with less than 0.1 % to spare, in the order of the model."""
    system, decision = state.system, state.decision
    ratios = {
        "ttft_budget": worst_ttft / system.ttft_s,
        "prefill_utilization": (prefill.utilization or 0.0) / system.max_utilization,
        "tpot": tpot / system.tpot_s,
    }
    pool = decode_pool or prefill
    ratios["decode_slots"] = (pool.slots_needed or 0.0) / (pool.instances * (pool.batch or 1))
    if _transfer_binds(state, prefill, decode_pool):
        ratios["transfer_bandwidth"] = 1.0
    for t, tier in enumerate(system.tiers):
        capacity = sum(decision.capacity_bytes[t])
        if decision.roles[t] == "unused" or capacity <= 0:
            continue
        room = tier.max_per_node * state.nodes
        ratios[f"{tier.name}_fits_nodes"] = capacity / room if room > 0 else math.inf
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


def _transfer_binds(state: State, prefill: Pool, decode_pool: Pool | None) -> bool:
    """Whether one instance fewer in either pool would leave too few nodes for the KV that crosses between them."""
    per_node = state.system.scenario.deployment.transfer.gb_per_s_per_node
    if decode_pool is None or per_node is None:
        return False
    needed = state.system.prompt_bytes_per_s / (state.system.read_utilization * per_node * 1e9)
    one_less = (p.nodes - p.gpus_per_instance / state.system.gpus_per_node for p in (prefill, decode_pool))
    return min(one_less) < needed * (1 - 1e-9)


def notes(state: State) -> tuple[str, ...]:
    """Estimates that this plan rests on: values outside a timing grid, known faults of a table."""
    system, decision = state.system, state.decision
    name, batch = decision.decode_config or decision.prefill_config, decision.decode_batch or decision.batch or 1
    decoder = system.config_by_name[name]
    notes = _timing_notes(state.config, decoder)
    prefill_in = all(
        state.config.timing.prefill_in_grid(u, p)
        for k in system.classes
        for u, p in ((k.prompt, 0), (k.prompt - k.reusable, k.reusable))
    )
    if not prefill_in:
        notes.append("prefill time lies outside the timing grid: continued linearly in tokens from its last interval")
    if not all(decoder.timing.decode_in_grid(batch, k.decode_context) for k in system.classes):
        notes.append("decode step lies outside the timing grid: continued linearly in tokens from its last interval")
    return (*notes, *_unlimited_writes(state))


def _timing_notes(prefill: EngineConfig, decoder: EngineConfig) -> list[str]:
    """What to know of the times; a note that only one of two configurations has names it."""
    if decoder.name == prefill.name:
        return list(dict.fromkeys(prefill.timing.notes))
    shared = [n for n in dict.fromkeys(prefill.timing.notes) if n in decoder.timing.notes]
    own = [f"{c.name}: {n}" for c in (prefill, decoder) for n in dict.fromkeys(c.timing.notes) if n not in shared]
    return shared + own


def _unlimited_writes(state: State) -> list[str]:
    """Tiers that wear out, used without a stated endurance: how often a day the plan would write each."""
    out = []
    for t, tier in enumerate(state.system.tiers):
        capacity, usual = sum(state.decision.capacity_bytes[t]), catalog.usual_endurance(tier.name)
        if usual is None or tier.dwpd is not None or capacity <= 0 or state.decision.roles[t] == "unused":
            continue
        daily = written(state) * DAY_S / capacity
        if daily > usual[0]:
            out.append(
                f"{tier.name}: fresh KV would write it {daily:,.3g} times a day, and the scenario states no endurance "
                f"(tiers[{t}].dwpd); {usual[0]:g} is usual: {usual[1]}"
            )
    return out
