"""The timing and memory of a measured instance: the packaged table of its engine, else the roofline fitted to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from planner.fidelity.rows import FAMILIES, Split
from planner.physics import kv
from planner.physics.correction import correction_kind, faulty_table
from planner.physics.roofline import roofline_timing, weight_bytes
from planner.physics.timing import Timing
from planner.physics.timing_table import table_timing
from planner.scenario import Scenario, catalog, loads
from planner.scenario.catalog.timing import available_tables, load_table, roofline_fit
from planner.units import GB

SCENARIO = """
model: {model}
hardware: {hardware}
workload:
  requests_per_second: 1
  classes: [{{prompt_tokens: 1000, reusable_tokens: 0, output_tokens: 100}}]
  reuse: {{law: power, beta: 0.5, hit_rate: 0.5, at_gb: 1000, ceiling: 0.8}}
slo: {{ttft_ms: 1000, tpot_ms: 100}}
engine: {{timing: roofline, roofline: {roofline}}}
"""
ALIASES = {
    "deepseek-r1-0528": "deepseek-v3",
    "llama-3.1-8b-instruct": "llama-3.1-8b",
    "llama-3.1-8b-instruct-fp8": "llama-3.1-8b-fp8",
    "llama-3.1-70b-instruct": "llama-3.1-70b",
    "llama-3.1-70b-instruct-fp8": "llama-3.1-70b-fp8",
    "llama-3.3-70b-instruct-fp8": "llama-3.1-70b-fp8",
    "minimax-m2.1": "minimax-m2",
}


@dataclass(frozen=True)
class Instance:
    """One engine instance: its uncorrected times, prefill ways, and the tokens of KV that fit."""

    model: str
    split: Split
    timing: Timing
    kind: str  # of the correction: table, moe, mla or dense
    ways: int
    kv_tokens: float
    kv_bytes_per_token: float  # one copy


def catalog_model(path: str, precision: str) -> str:
    """Catalog name of a row's model.

    >>> catalog_model("meta-llama/Llama-3.1-70B", "fp8"), catalog_model("deepseek-ai/DeepSeek-R1", "fp8")
    ('llama-3.1-70b-fp8', 'deepseek-v3')
    """
    name = path.rsplit("/", 1)[-1].lower()
    name = ALIASES.get(name, name)
    known = catalog.names("model")
    for candidate in (f"{name}-{precision}", name):
        if candidate in known:
            return str(catalog.model(candidate)["name"])
    raise ValueError(f"the catalog has no model {path!r}")


@cache
def instance(engine: str, model: str, split: Split, hardware: str = "h200-sxm") -> Instance:
    """The instance of ``split`` under the packaged timing of ``engine`` (a row's backend).

    Raises:
        ValueError: the model's weights do not fit, or do not split so.
    """
    title = FAMILIES.get(engine, engine)
    kv_dtype = _kv_dtype(engine, model)
    scenario = _scenario(title, model, hardware)
    spec, per_token = scenario.hardware, kv.bytes_per_token(scenario.model, kv_dtype)
    total, routed = weight_bytes(scenario.model)
    weights = routed + split.dp * (total - routed)  # every rank of data-parallel attention holds what is not routed
    free = split.gpus * (spec.hbm_gb * scenario.engine.hbm_utilization - spec.runtime_reserve_gb) * GB - weights
    if free <= 0:
        raise ValueError(f"{model} does not fit in {split.gpus} GPUs")
    heads, experts = scenario.model.attention.q_heads, scenario.model.experts.count
    if heads % split.tp:
        raise ValueError(f"tp {split.tp} does not divide the {heads} query heads of {model}")
    if experts and split.ep > experts:
        raise ValueError(f"ep {split.ep} is more than the {experts} experts of {model}")
    timing, ways = _timing(scenario, title, split, kv_dtype)
    kind = correction_kind(timing, scenario.model)
    tokens = free / (kv.replication(scenario.model, split.tp) * per_token)
    return Instance(model, split, timing, kind, ways, tokens, per_token)


def _kv_dtype(engine: str, model: str) -> str | None:
    """FP8 where it is known, else None.

    FP8 checkpoints of dense models carry KV scales, which vLLM and TensorRT-LLM follow; DeepSeek's runs on TensorRT-LLM
    set it (``kv_cache_config.dtype``).
    """
    dense = model.startswith("llama-3") and model.endswith("fp8") and engine in ("vllm", "trtllm")
    return "fp8" if dense or (engine == "trtllm" and model.startswith("deepseek")) else None


def _timing(scenario: Scenario, title: str, split: Split, kv_dtype: str | None) -> tuple[Timing, int]:
    """The table's configuration, else the roofline; with its prefill ways."""
    model, hardware = scenario.model.timing_name or "", scenario.hardware.name
    if (title, model, hardware) in available_tables() and not faulty_table(title, scenario.model.attention.kind):
        table = load_table(title, model, hardware)
        for config in table.configs:
            if (config.tp, config.dp, config.etp, config.ep) == (split.tp, split.dp, split.etp, split.ep):
                return table_timing(table, config), config.ways
    timing = roofline_timing(scenario, split.gpus, split.tp, split.dp, f"roofline of {title}")
    if kv_dtype is not None:
        narrower = kv.bytes_per_token(scenario.model, kv_dtype) / kv.bytes_per_token(scenario.model)
        timing = replace(timing, kv_bytes=timing.kv_bytes * narrower)
    return timing, split.dp


@cache
def _scenario(title: str, model: str, hardware: str) -> Scenario:
    fit = roofline_fit(title, catalog.model(model).get("compute_dtype"))
    numbers = {n: getattr(fit, n) for n in ("mfu", "mbu", "prefill_overhead_ms", "step_overhead_ms")}
    return loads(SCENARIO.format(model=model, hardware=hardware, roofline=numbers))
