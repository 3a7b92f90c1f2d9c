"""Worked equations about bytes: KV per token, HBM, capacities and the hits they give."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.evaluate import staged_in
from planner.physics.reuse import HillLaw, Law, PowerLaw
from planner.physics.system import System
from planner.plan import Decision, Evaluation
from planner.report.derivation import Step, plain
from planner.units import GB


def kv_steps(system: System) -> Iterator[Step]:
    """KV per token, and per class its prompt's and its reusable part's."""
    model, attention = system.scenario.model, system.scenario.model.attention
    layers, kappa = model.full_attention_layers or model.layers, system.kv_per_token
    if model.kv_bytes_per_token is not None:
        yield Step("κ", "KV bytes per token as the engine lays them out", "", kappa, "B/token")
    elif attention.kind == "mla":
        width = (attention.kv_lora_rank or 0) + (attention.rope_dim or 0)
        numbers = f"{layers} · ({attention.kv_lora_rank} + {attention.rope_dim}) · {plain(kappa / layers / width)}"
        yield Step("κ", "layers · (kv_lora_rank + rope_dim) · bytes", numbers, kappa, "B/token")
    else:
        heads = (attention.kv_heads or 0) * (attention.head_dim or 0)
        numbers = f"2 · {layers} · {attention.kv_heads} · {attention.head_dim} · {plain(kappa / (2 * layers * heads))}"
        yield Step("κ", "2 · layers · kv_heads · head_dim · bytes", numbers, kappa, "B/token")
    for k in system.classes:
        for name, tokens in (("L", k.prompt), ("P", k.reusable)):
            numbers = f"{tokens} · {plain(kappa)} / 10^9"
            yield Step(f"KV of {name}, {k.name}", f"{name} · κ", numbers, tokens * kappa, "bytes")


def hbm_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """What weights, reserve and running sequences leave of HBM; the rest is the HBM tier. Numbers in GB."""
    decision = found.decision
    config = system.config_by_name[decision.prefill_config]
    spec, engine = system.scenario.hardware, system.scenario.engine
    kv_memory, space = system.kv_memory(config), system.prefill_memory(config)
    copies, n = system.replication(config), decision.prefill_instances
    numbers = (
        f"{config.gpus} · {plain(spec.hbm_gb)} · {plain(engine.hbm_utilization)}"
        f" - {plain(config.reserve_bytes / GB)} - {plain(config.weight_bytes / GB)}"
    )
    yield Step("HBM for KV", "g · HBM · utilization - reserve - weights", numbers, kv_memory, "bytes")
    per_token, state = copies * system.kv_per_token / GB, system.sequence_state(config) / GB
    longest = max(k.prompt for k in system.classes)
    numbers = f"{config.ways} · ({longest} · {plain(per_token)} + {plain(state)})"
    yield Step("prefill's working space", "ways · (max L · r · κ + state)", numbers, space, "bytes")
    left = [plain(kv_memory / GB), plain(space / GB)]
    if decision.batch is not None:
        used = system.decode_memory(config, decision.batch)
        mean, deviation = system.running_tokens
        numbers = (
            f"({decision.batch} · {plain(mean)} + {plain(system.z)} · √{decision.batch} · {plain(deviation)})"
            f" · {plain(per_token)} + {decision.batch} · {plain(state)}"
        )
        yield Step("running sequences", "(b·μ + z·√b·σ) · r · κ + b · state", numbers, used, "bytes", kv_memory)
        left.append(plain(used / GB))
    numbers = f"{n} · ({' - '.join(left)}) / {plain(copies)}"
    yield Step("HBM tier", "n · (what is left) / r", numbers, sum(decision.hbm_bytes), "bytes")


def hit_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """Per cache partition: what each level holds, the hits the law gives it, and the effective hit rate."""
    decision = found.decision
    for j, members in enumerate(system.partitions):
        law = system.partition_law(j, decision.architecture, decision.prefill_instances)
        of = f", {', '.join(system.classes[i].name for i in members)}" if len(system.partitions) > 1 else ""
        held = decision.hbm_bytes[j]
        yield law_step(f"hits of hbm{of}", law, held)
        for t, tier in enumerate(system.tiers):
            if decision.roles[t] == "unused":
                continue
            own = max(0.0, decision.capacity_bytes[t][j] - staging(system, decision, t, j))
            own = own if own >= 1.0 else 0.0  # a tier that only stages holds nothing
            parts = [plain(decision.capacity_bytes[t][j] / GB), plain(staging(system, decision, t, j) / GB)]
            held = own if system.inclusive else held + own
            formula = "C - staging" if system.inclusive else "faster tiers + C - staging"
            numbers = " - ".join(parts) if system.inclusive else f"{plain((held - own) / GB)} + {' - '.join(parts)}"
            yield Step(f"K of {tier.name}{of}", formula, numbers, held, "bytes")
            yield law_step(f"hits up to {tier.name}{of}", law, held)
        yield _effective(system, decision, j, of)


def _effective(system: System, decision: Decision, j: int, of: str) -> Step:
    hits, terms, value = decision.hits, [plain(decision.hits[0][j])], decision.hits[0][j]
    for t, role in enumerate(decision.roles):
        marginal = hits[t + 1][j] - hits[t][j]
        share = {"sync": 1.0, "prefetch": system.coverage}.get(role, 0.0)
        if role != "unused":
            terms.append(f"{plain(marginal)}" if role == "sync" else f"{plain(share)} · {plain(marginal)}")
            value += share * marginal
    formula = "H_hbm + Σ sync x + coverage · Σ prefetch x"
    return Step(f"e, effective hits{of}", formula, " + ".join(terms), value, "share")


def staging(system: System, decision: Decision, tier: int, partition: int) -> float:
    """Bytes of ``tier`` that hold prefetched KV of a partition: ``λ P κ · coverage / precision · x · lead``."""
    rate = system.reuse_bytes_per_s[partition] * system.coverage / system.precision * system.lead_s
    return sum(
        rate * max(0.0, decision.hits[t + 1][partition] - decision.hits[t][partition])
        for t in range(len(system.tiers))
        if staged_in(decision, t) == tier
    )


def law_step(name: str, law: Law, held: float) -> Step:
    """The reuse law at one capacity, in its own form."""
    size = plain(held / GB)
    value = law.hit_rate(held)
    if isinstance(law, PowerLaw):
        formula = "min(ceiling, hit_rate · (K / at)^β)"
        numbers = (
            f"min({plain(law.ceiling)}, {plain(law.hit_rate_at)} · ({size} / {plain(law.at / GB)})^{plain(law.beta)})"
        )
    elif isinstance(law, HillLaw):
        u = (held / law.half) ** law.steepness if held > 0 else 0.0
        formula = "floor + (ceiling - floor) · u / (1 + u), u = (K / half)^slope"
        numbers = f"{plain(law.floor)} + ({plain(law.ceiling)} - {plain(law.floor)}) · {plain(u)} / (1 + {plain(u)})"
    else:
        formula, numbers = f"h(K) on the measured curve, K = {size} GB", ""
    return Step(name, formula, numbers if math.isfinite(value) else "", value, "share")
