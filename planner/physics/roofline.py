"""Timing from a roofline (MODEL.md section 3), for every model and hardware that no table covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import Diagnostic, InputError
from planner.physics import kv
from planner.physics.timing import EngineConfig, config_name
from planner.scenario.catalog.timing import RooflineFit, engine_titles, roofline_fits
from planner.units import BILLION, GB, TFLOP, seconds

if TYPE_CHECKING:
    from planner.scenario.schema import EngineConfigSpec, HardwareSpec, ModelSpec, Roofline, Scenario

ACTIVATION_BYTES = 2  # bf16 activations travel between tensor-parallel ranks
REDUCTIONS_PER_LAYER = 2  # one after attention, one after the feed-forward part
DEFAULT_GPUS = (1, 2, 4, 8)
WIDE_GPUS = 16  # considered where the widest default leaves less than half of its HBM for KV


@dataclass(frozen=True)
class RooflineTiming:
    """Prefill and decode time from work, peaks and the share of the peaks that is reached.

    With ``F`` the reachable operations per second of the instance and ``B`` its reachable bytes per second::

        prefill = max(ways * (2*N*U + attention*U*(P + U/2)) / F, W/B) + comm(U) + prefill_overhead
        decode  = (W_dense + W_experts*(1 - (1 - top_k/experts)^b) + b*x*kv) / B + 2*N*b/F + comm(b) + step_overhead

    ``attention = 4*layers*q_heads*head_dim``, over all layers: windowed and linear layers are counted as if they saw
    the whole context, which is pessimistic for models that have them. The bracket of experts is the expected share of
    distinct experts that a batch touches. Communication is that of one tensor-parallel group, which sees ``U`` tokens
    of a pass: the groups of data-parallel attention communicate side by side.

    >>> timing = RooflineTiming("example", (), 2e9, 0.0, 1e12, 4e9, 0.0, 1.0, 0.0, 1e12, 0.0, 0.002, 0.001)
    >>> timing.prefill_s(1000, 0), timing.decode_s(1, 1000)
    (2.002, 0.007)
    """

    source: str
    notes: tuple[str, ...]
    flops_per_token: float
    attention_flops: float  # per new token and token it attends to
    flops_per_s: float
    dense_bytes: float
    expert_bytes: float
    expert_idle: float  # 1 - top_k/experts
    kv_bytes: float  # per token of context in HBM, replication included
    bytes_per_s: float
    comm_s_per_token: float
    prefill_overhead_s: float
    step_overhead_s: float
    ways: int = 1

    def prefill_s(self, new_tokens: float, prefix_tokens: float) -> float:
        """One prefill pass over ``ways`` sequences, seconds; with no new token still a pass over the weights."""
        attended = prefix_tokens + new_tokens / 2
        work = new_tokens * (self.flops_per_token + self.attention_flops * attended)
        compute = self.ways * work / self.flops_per_s
        weights = (self.dense_bytes + self.expert_bytes) / self.bytes_per_s
        return max(compute, weights) + self.comm_s_per_token * new_tokens + self.prefill_overhead_s

    def decode_s(self, batch: float, context: float) -> float:
        """One decode step, seconds."""
        touched = 1.0 - self.expert_idle**batch
        read = self.dense_bytes + self.expert_bytes * touched + batch * context * self.kv_bytes
        compute = self.flops_per_token * batch / self.flops_per_s
        return read / self.bytes_per_s + compute + self.comm_s_per_token * batch + self.step_overhead_s

    def prefill_in_grid(self, new_tokens: float, prefix_tokens: float) -> bool:
        """True: a formula has no grid."""
        return True

    def decode_in_grid(self, batch: float, context: float) -> bool:
        """True: a formula has no grid."""
        return True


def weight_bytes(model: ModelSpec) -> tuple[float, float]:
    """Bytes of all weights and of the routed experts alone; a dense model has none of the latter."""
    params = model.params_b
    total = params.total * BILLION * model.weight_bytes_per_param if model.weights_gb is None else model.weights_gb * GB
    if not model.experts.count:
        return total, 0.0
    if model.routed_expert_weights_gb is not None:
        return total, model.routed_expert_weights_gb * GB
    return total, min(total, params.routed_experts * BILLION * model.weight_bytes_per_param)


def attention_flops(model: ModelSpec) -> float:
    """Operations per new token and attended token: ``4 * layers * q_heads * head_dim``.

    MLA multiplies queries with keys of ``qk_head_dim`` and the result with values of ``v_head_dim``; their mean takes
    the place of ``head_dim``.
    """
    a = model.attention
    if a.qk_head_dim is not None and a.v_head_dim is not None:
        return 4.0 * model.layers * a.q_heads * (a.qk_head_dim + a.v_head_dim) / 2
    return 4.0 * model.layers * a.q_heads * (a.head_dim or 0)


def comm_s_per_token(model: ModelSpec, hardware: HardwareSpec, tp: int) -> float:
    """Seconds per token that tensor parallelism spends on NVLink: ``2 layers hidden 2 B 2(tp-1)/tp / nvlink``."""
    if model.hidden is None or hardware.nvlink_gb_per_s is None:
        return 0.0
    moved = REDUCTIONS_PER_LAYER * model.layers * model.hidden * ACTIVATION_BYTES * 2 * (tp - 1) / tp
    return moved / (hardware.nvlink_gb_per_s * GB)


def roofline_timing(
    scenario: Scenario, gpus: int, tp: int, ways: int, source: str = "", notes: tuple[str, ...] = ()
) -> RooflineTiming:
    """The roofline of ``gpus`` GPUs with the scenario's model, hardware and reachable shares of the peaks."""
    model, hardware, reached = scenario.model, scenario.hardware, scenario.engine.roofline
    total, experts = weight_bytes(model)
    return RooflineTiming(
        source=source,
        notes=notes,
        flops_per_token=2.0 * model.params_b.active * BILLION,
        attention_flops=attention_flops(model),
        flops_per_s=gpus * hardware.peak_tflops * TFLOP * reached.mfu,
        dense_bytes=total - experts,
        expert_bytes=experts,
        expert_idle=1.0 - model.experts.top_k / model.experts.count if model.experts.count else 0.0,
        kv_bytes=kv.replication(model, tp) * kv.bytes_per_token(model, scenario.engine.kv_dtype),
        bytes_per_s=gpus * hardware.hbm_gb_per_s * GB * reached.mbu,
        comm_s_per_token=comm_s_per_token(model, hardware, tp),
        prefill_overhead_s=seconds(reached.prefill_overhead_ms),
        step_overhead_s=seconds(reached.step_overhead_ms),
        ways=ways,
    )


def roofline_configs(scenario: Scenario, stands_in_for: str | None = None) -> tuple[EngineConfig, ...]:
    """Configurations of ``engine.configs``, or the default ones that fit, each timed by the roofline.

    ``stands_in_for`` names the engine whose table is missing for this model and hardware.
    """
    specs = scenario.engine.configs
    splits = [_split(spec) for spec in specs] if specs is not None else _default_splits(scenario)
    if not splits:
        raise InputError(_does_not_fit(scenario))
    source, notes = _provenance(scenario, stands_in_for)
    return tuple(_config(scenario, *split, source, notes) for split in dict.fromkeys(splits))


def _split(spec: EngineConfigSpec) -> tuple[int, int, int, int]:
    """GPUs, tp, dp and ways of an entry; tp is the GPUs over dp, dp 1 and ways dp unless given."""
    dp = spec.dp if spec.dp is not None else 1
    tp = spec.tp if spec.tp is not None else max(1, spec.gpus // dp)
    return spec.gpus, tp, dp, spec.ways if spec.ways is not None else dp


def _default_splits(scenario: Scenario) -> list[tuple[int, int, int, int]]:
    """1 to 8 GPUs that hold the weights, 16 where 8 leave little for KV; TP within the NVLink domain.

    MLA keeps a copy of its KV on every tensor-parallel rank, so data-parallel attention is considered too.
    """
    domain = scenario.hardware.nvlink_domain_gpus
    fitting = [g for g in DEFAULT_GPUS if _kv_share(scenario, g) > 0]
    if _kv_share(scenario, DEFAULT_GPUS[-1]) < 0.5 and _kv_share(scenario, WIDE_GPUS) > 0:
        fitting.append(WIDE_GPUS)
    splits = []
    for gpus in fitting:
        tp = min(gpus, domain or gpus)
        splits.append((gpus, tp, gpus // tp, gpus // tp))
        if scenario.model.attention.kind == "mla" and gpus > 1:
            splits.append((gpus, 1, gpus, gpus))
    return splits


def _kv_share(scenario: Scenario, gpus: int) -> float:
    """Share of an instance's HBM that weights and reserve leave for KV."""
    hardware = scenario.hardware
    usable = hardware.hbm_gb * scenario.engine.hbm_utilization - hardware.runtime_reserve_gb
    return (gpus * usable * GB - weight_bytes(scenario.model)[0]) / (gpus * hardware.hbm_gb * GB)


def _config(
    scenario: Scenario, gpus: int, tp: int, dp: int, ways: int, source: str, notes: tuple[str, ...]
) -> EngineConfig:
    domain = scenario.hardware.nvlink_domain_gpus
    if domain is not None and tp > domain:
        notes = (*notes, f"tp {tp} spans more than the {domain} GPUs that NVLink joins: communication is optimistic")
    name = config_name(tp, dp) + (f"·ways{ways}" if ways != dp else "")
    return EngineConfig(
        name=name if tp * dp == gpus else f"{gpus}gpu·{name}",
        gpus=gpus,
        tp=tp,
        dp=dp,
        ways=ways,
        weight_bytes=weight_bytes(scenario.model)[0],
        reserve_bytes=gpus * scenario.hardware.runtime_reserve_gb * GB,
        timing=roofline_timing(scenario, gpus, tp, ways, source, notes),
    )


def _provenance(scenario: Scenario, stands_in_for: str | None) -> tuple[str, tuple[str, ...]]:
    """What the roofline rests on, and how well it follows the tables that it was fitted to."""
    reached = scenario.engine.roofline
    source = f"roofline: mfu {reached.mfu:g}, mbu {reached.mbu:g}"
    notes = []
    if stands_in_for:
        title = engine_titles()[stands_in_for]
        notes.append(f"no {title} table for {scenario.model.name} on {scenario.hardware.name}: a roofline stands in")
    fit = packaged_fit(reached)
    if fit is None:
        notes.append(f"{source}, as the scenario gives them: the error against measurements is not known")
    else:
        source += f", fitted to {fit.engine_title} tables"
        notes.append(
            f"roofline; fitted to {fit.engine_title} tables on H200 SXM ({fit.compute_dtype} models): median error "
            f"{fit.prefill.median_pct:.0f} %, p90 {fit.prefill.p90_pct:.0f} % (prefill); median "
            f"{fit.decode.median_pct:.0f} %, p90 {fit.decode.p90_pct:.0f} % (decode)"
        )
    return source, tuple(notes)


def packaged_fit(reached: Roofline) -> RooflineFit | None:
    """The fit that has exactly these parameters."""
    names = ("mfu", "mbu", "prefill_overhead_ms", "step_overhead_ms")
    same = (fit for fit in roofline_fits() if all(getattr(fit, name) == getattr(reached, name) for name in names))
    return next(same, None)


def _does_not_fit(scenario: Scenario) -> Diagnostic:
    return Diagnostic(
        code="model-does-not-fit",
        message=f"the weights of {scenario.model.name} do not fit in {WIDE_GPUS} GPUs of {scenario.hardware.name}",
        span=scenario.span("model") or scenario.span("hardware"),
        path="engine.configs",
        hint="give engine.configs with more GPUs",
    )
