"""Worked equations about time: prefill work, its queue, every path to the first token, decode. Numbers in seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.physics import queueing
from planner.physics.correction import correction_text, first_token_s
from planner.physics.system import ClassLoad, Service, System
from planner.physics.timing import EngineConfig
from planner.plan import Evaluation
from planner.report.derivation import Step, plain, total
from planner.units import GB


def queue_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """Service times, offered load, how busy the busiest instance is, and the percentile of the wait."""
    decision, pool = found.decision, found.prefill
    config = system.config_by_name[decision.prefill_config]
    service = system.service(config, decision.batch)
    yield from _service_steps(system, service, config, decision.batch)
    hits = _effective_by_class(system, found)
    terms = [
        f"{plain(k.rate)} · ({plain(miss)} - {plain(e)} · ({plain(miss)} - {plain(hit)}))"
        for k, miss, hit, e in zip(system.classes, service.miss, service.hit, hits, strict=True)
    ]
    load = pool.offered_load or 0.0
    yield Step("a, offered load", "Σ λ · (s_miss - e · (s_miss - s_hit))", total(terms), load, "servers")
    servers = decision.prefill_instances * config.ways
    imbalance = system.load_imbalance if decision.architecture == "colocated" else 1.0
    yield Step(
        "busiest instance", "a · imbalance / (n · ways)", f"{plain(load)} · {plain(imbalance)} / {servers}",
        load * imbalance / servers, "share", system.max_utilization, "engine.max_utilization",
    )  # fmt: skip
    yield from _wait_steps(system, found, config, service, imbalance)


def _effective_by_class(system: System, found: Evaluation) -> list[float]:
    from planner.report.derivation_cache import hit_steps

    by_partition = [step.value for step in hit_steps(system, found) if step.name.startswith("e, ")]
    return [by_partition[k.partition] for k in system.classes]


def _service_steps(system: System, service: Service, config: EngineConfig, batch: int | None) -> Iterator[Step]:
    chunk = system.scenario.engine.chunk_tokens
    for i, k in enumerate(system.classes):
        for name, new, cached, pure, whole in (
            ("s_miss", k.prompt, 0, service.pure_miss[i], service.miss[i]),
            ("s_hit", k.prompt - k.reusable, k.reusable, service.pure_hit[i], service.hit[i]),
        ):
            formula = f"prefill of {new:,} new tokens after {cached:,} cached, by the timing of {config.name}"
            formula += correction_text(config.timing)
            if batch is None:
                yield Step(f"{name}, {k.name}", formula, "", whole, "s")
                continue
            numbers = f"{plain(pure)} + {-(-new // chunk)} · {plain(service.step_s)}"
            yield Step(f"{name}, {k.name}", f"{formula}, + chunks · decode step", numbers, whole, "s")


def _wait_steps(
    system: System, found: Evaluation, config: EngineConfig, service: Service, imbalance: float
) -> Iterator[Step]:
    load, n = found.prefill.offered_load or 0.0, found.decision.prefill_instances
    apart = found.decision.architecture == "disaggregated"
    servers = n * config.ways if apart else config.ways
    rate = system.rate if apart else imbalance * system.rate / n
    share = load if apart else imbalance * load / n
    wait = found.paths[0].queue_s
    chance = queueing.erlang_c(servers, share)
    where = "one queue over all instances" if apart else "each instance has its own queue"
    yield Step("C", f"Erlang's delay probability, {servers} servers, load {plain(share)}; {where}", "", chance, "share")
    ca, spread = system.scenario.workload.arrival_cv, service.variability
    numbers = f"({plain(ca)}^2 + {plain(2 * spread - ca * ca)}) / 2"
    yield Step("v, variability", "(ca² + cs²) / 2, cs² the largest over hit rates", numbers, spread, "")
    slack, name = 1 - system.percentile, f"W, wait at p{100 * system.percentile:g}"
    if chance <= slack or share >= servers:
        full = "without end, as the load exceeds the servers"
        yield Step(name, full if share >= servers else f"0, as C ≤ 1 - {system.percentile:g}", "", wait, "s")
        return
    numbers = (
        f"log({plain(chance)} / {plain(slack)}) · ({plain(share)} / {plain(rate)}) · {plain(spread)}"
        f" / ({servers} - {plain(share)})"
    )
    formula = "log(C / (1 - p)) · (a / λ) · v / (s - a)"
    yield Step(name, formula, numbers, wait, "s")


def path_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """Fetch and transfer times, then every path in use against the TTFT."""
    config = system.config_by_name[found.decision.prefill_config]
    by_name = {k.name: k for k in system.classes}
    used = [path for path in found.paths if path.in_use]
    for path in used:
        tier = next((t for t in system.tiers if t.name == path.path), None)
        if tier is not None:
            kv = by_name[path.class_name].reusable * system.kv_per_token / GB
            numbers = (
                f"{plain(tier.latency_s)} + {plain(kv)} / min({config.gpus} · {plain(tier.read_per_gpu / GB)},"
                f" {plain(tier.read_per_node / GB)} · max(1, {config.gpus} / {system.gpus_per_node}))"
            )
            formula = "latency + P·κ / min(g · per_gpu, per_node · max(1, g / gpus_per_node))"
            yield Step(f"fetch from {tier.name}, {path.class_name}", formula, numbers, path.fetch_s, "s")
    apart = found.decision.architecture == "disaggregated"
    if apart or first_token_s(config.timing, 1.0) > 0:
        yield from (_transfer(k, config, found, system if apart else None) for k in system.classes)
    for path in used:
        parts = (path.queue_s, path.fetch_s, path.prefill_s, path.transfer_s)
        numbers = total([plain(part) for part in parts if part > 0])
        yield Step(
            f"TTFT of {path.path}, {path.class_name}", "W + fetch + prefill + transfer", numbers, path.total_s, "s",
            system.ttft_s, "slo.ttft_ms",
        )  # fmt: skip


def _transfer(k: ClassLoad, config: EngineConfig, found: Evaluation, apart: System | None) -> Step:
    """KV transfer between the pools, and the engine's latency outside the GPU where a correction states one."""
    value = next(path.transfer_s for path in found.paths if path.class_name == k.name)
    outside = first_token_s(config.timing, k.prompt, apart is not None)
    numbers, formula = plain(outside) if outside > 0 else "", "first token outside the GPU" if outside > 0 else ""
    if apart is not None:
        spec, kv = apart.scenario.deployment.transfer, k.prompt * apart.kv_per_token / GB
        moved = (
            f"{plain(spec.latency_ms / 1e3)} + (1 - {plain(spec.overlap)}) · {plain(kv)}"
            f" / ({config.gpus} · {plain(spec.gb_per_s_per_gpu)})"
        )
        numbers = f"{numbers} + {moved}" if numbers else moved
        form = "latency + (1 - overlap) · L·κ / (g · per_gpu)"
        formula = f"{formula} + {form}" if formula else form
    return Step(f"transfer, {k.name}", formula, numbers, value, "s")


def decode_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """Step times, sequences in flight, and the slots that must hold them."""
    decision, pool = found.decision, found.decode or found.prefill
    config = system.config_by_name[decision.decode_config or decision.prefill_config]
    batch = pool.batch or 1
    steps = system.steps_s(config, batch)
    for k, step in zip(system.classes, steps, strict=True):
        context = f"{batch} sequences at {k.decode_context:,.0f} tokens"
        formula = f"decode of {context}, by the timing of {config.name}{correction_text(config.timing, batch)}"
        yield Step(f"step, {k.name}", formula, "", step, "s")
    terms = [f"{plain(k.rate)} · {k.output} · {plain(s)}" for k, s in zip(system.classes, steps, strict=True)]
    mean = system.concurrency(steps)
    yield Step("m, sequences in flight", "Σ λ · O · step", total(terms), mean, "sequences")
    share = 0.0
    if found.decode is None:
        share = 1.0 - max(steps) / found.tpot_s if math.isfinite(found.tpot_s) else 1.0
        yield Step("ρ, prefill's share of time", "offered load of pure prefill / (n · ways)", "", share, "share")
        mean = pool.concurrency or mean
    numbers = f"{plain(max(steps))} / (1 - {plain(share)})" if share < 1 else ""
    yield Step("TPOT", "largest step / (1 - ρ)", numbers, found.tpot_s, "s", system.tpot_s, "slo.tpot_ms")
    yield _slots(system, found, mean)


def _slots(system: System, found: Evaluation, mean: float) -> Step:
    """Slots at the percentile; a pool that only decodes needs whole ones."""
    pool = found.decode or found.prefill
    numbers = f"{plain(mean)} + {plain(system.z)} · √{plain(mean)}"
    formula = "y + z · √y, y = m / (1 - ρ)"
    if found.decode is not None:
        formula, numbers = "ceil(m + z · √m)", f"ceil({numbers})"
    have = float(pool.instances * (pool.batch or 1))
    return Step("slots needed", formula, numbers, pool.slots_needed or 0.0, "sequences", have, "n · b")
