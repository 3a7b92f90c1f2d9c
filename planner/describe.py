"""Sentences about a scenario and its plans: the headline, what two plans differ by, why nothing fits."""

from __future__ import annotations

from planner.physics.system import System
from planner.plan import Evaluation, Pool


def headline(system: System) -> str:
    """Model, hardware, load and promises in one line."""
    scenario = system.scenario
    prompt = sum(k.share * k.prompt for k in system.classes)
    output = sum(k.share * k.output for k in system.classes)
    model = scenario.model.title or scenario.model.name
    return (
        f"{model} on {scenario.hardware.name} · {system.rate:,.4g} req/s, {prompt:,.0f} in / {output:,.0f} out tokens"
        f" · TTFT p{100 * system.percentile:.3g} ≤ {scenario.slo.ttft_ms:,.0f} ms"
        f" · TPOT ≤ {scenario.slo.tpot_ms:,.3g} ms"
    )


def differences(first: Evaluation, other: Evaluation) -> tuple[str, ...]:
    """What ``other`` has that ``first`` has not, most structural first."""
    out: list[str] = []
    if first.decision.architecture != other.decision.architecture:
        out.append(other.decision.architecture)
    out += _pool_difference("prefill" if other.decode else "pool", first.prefill, other.prefill)
    if first.decode is not None and other.decode is not None:
        out += _pool_difference("decode", first.decode, other.decode)
    for a, b in zip(first.tiers[1:], other.tiers[1:], strict=True):
        if a.role != b.role:
            out.append(f"{b.name} {b.role}" if b.role != "unused" else f"no {b.name}")
        elif b.role != "unused" and abs(a.capacity_bytes - b.capacity_bytes) > 0.02 * max(a.capacity_bytes, 1.0):
            out.append(f"{b.name} {b.capacity_bytes / 1e12:,.3g} TB")
    return tuple(out)


def _pool_difference(name: str, a: Pool, b: Pool) -> list[str]:
    if (a.instances, a.parallelism) == (b.instances, b.parallelism) and a.batch == b.batch:
        return []
    batch = f" b{b.batch}" if a.batch != b.batch and b.batch and a.parallelism == b.parallelism else ""
    return [f"{name} {b.instances}×{b.gpus_per_instance} {b.parallelism}{batch}"]


def no_plan_reasons(system: System) -> tuple[str, ...]:
    """Why no design keeps every promise, with the nearest value, in the scenario's keys."""
    scenario = system.scenario
    fits = [c for c in system.configs if system.kv_memory(c) > system.prefill_memory(c)]
    if not fits:
        return (f"no engine configuration fits {scenario.model.name} and one prompt into HBM (model, engine.configs)",)
    out = []
    nearest = min(system.service(c, None).longest_path_s(()) for c in fits)
    if nearest > system.ttft_s:
        out.append(
            f"TTFT: the fastest path without any queue takes {1e3 * nearest:,.0f} ms, slo.ttft_ms is "
            f"{scenario.slo.ttft_ms:,.0f} ms"
        )
    steps = [max(system.steps_s(c, b)) for c in fits for b in scenario.engine.batches[:1]]
    if min(steps) > system.tpot_s:
        out.append(
            f"TPOT: the fastest decode step takes {1e3 * min(steps):,.1f} ms, slo.tpot_ms is {scenario.slo.tpot_ms:g}"
        )
    if not out:
        out.append(
            f"no combination of counts, tiers and roles within deployment.max_gpus = {scenario.deployment.max_gpus} "
            f"carries {system.rate:g} req/s within slo.ttft_ms = {scenario.slo.ttft_ms:g} and "
            f"slo.tpot_ms = {scenario.slo.tpot_ms:g}"
        )
    return tuple(out)
