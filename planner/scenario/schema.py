"""The scenario: every key with its unit and range.

Attribute names are the keys of the file, units as in the file (GB, ms, $/h); the conversion to SI happens in
``physics``. Everything is frozen. A default that depends on the catalog or on other keys is filled in by
:mod:`planner.scenario.fill` before validation, so a loaded scenario has no gaps.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PrivateAttr

from planner.errors import Diagnostic, Span
from planner.scenario.entries import Attention, Experts, HardwareSpec, KvBytes, ModelSpec, Params
from planner.scenario.fields import Batch, FileName, Fraction, Int, Name, Strict, key
from planner.scenario.meta import Meta


class ReuseLaw(Strict):
    """Probability that a reusable prefix is resident, against cache capacity (power, hill or measured)."""

    law: Literal["power", "hill", "measured"] = key("", "form of the curve")
    beta: float | None = key("", "power: exponent", above=0, below=1, default=None)
    hit_rate: float | None = key("fraction", "power: hit rate at at_gb or at_tokens", above=0, at_most=1, default=None)
    at_gb: float | None = key("GB", "power: capacity with that hit rate", above=0, at_most=1e12, default=None)
    at_tokens: float | None = key("tokens", "power: capacity with that hit rate", above=0, at_most=1e15, default=None)
    ceiling: float | None = key(
        "fraction", "highest hit rate; first-touch misses keep it below 1", above=0, at_most=1, default=None
    )
    floor: float | None = key("fraction", "hill: hit rate of the hot floor", at_least=0, at_most=1, default=None)
    half_gb: float | None = key("GB", "hill: capacity half-way up", above=0, at_most=1e12, default=None)
    half_tokens: float | None = key("tokens", "hill: capacity half-way up", above=0, at_most=1e15, default=None)
    slope: float | None = key("", "hill: steepness", above=0, at_most=50, default=None)
    points_gb: tuple[tuple[float, float], ...] | None = key("GB", "measured: [capacity, hit rate]", default=None)
    points_tokens: tuple[tuple[float, float], ...] | None = key(
        "tokens", "measured: [capacity, hit rate]", default=None
    )
    at_requests_per_second: float | None = key(
        "requests/s",
        "load at which the curve was observed; default: the workload's",
        above=0,
        at_most=1e7,
        default=None,
    )


class RequestClass(Strict):
    """One kind of request."""

    name: Name = key("", "name")
    share: float = key("fraction", "part of the requests; shares sum to 1", above=0, at_most=1, default=1.0)
    prompt_tokens: Int = key("tokens", "prompt length", at_least=1, at_most=100_000_000)
    reusable_tokens: Int = key(
        "tokens", "part of the prompt that repeats an earlier prompt", at_least=0, at_most=100_000_000
    )
    output_tokens: Int = key("tokens", "generated tokens", at_least=1, at_most=100_000_000)
    prompt_cv: float = key("", "spread of prompt lengths over their mean", at_least=0, at_most=20, default=0.0)
    reuse: ReuseLaw | None = key("", "its own law, and with it its own part of the cache", default=None)


class Prefetch(Strict):
    """How well reuse can be foreseen."""

    coverage: Fraction = key("fraction", "part of the hits that can be foreseen")
    precision: float = key("fraction", "useful part of what is prefetched", above=0, at_most=1)
    lead_s: float = key("s", "time between prefetch and use", at_least=0, at_most=1e6)


class Workload(Strict):
    """What arrives."""

    requests_per_second: float = key("requests/s", "load the plan must carry", above=0, at_most=1e6)
    arrival_cv: float = key(
        "", "spread of the time between arrivals; 1 is Poisson", at_least=0, at_most=50,
    )  # fmt: skip
    classes: tuple[RequestClass, ...] = Field(description="one or more kinds of request", min_length=1, max_length=64)
    reuse: ReuseLaw
    prefetch: Prefetch


class Slo(Strict):
    """The promise."""

    ttft_ms: float = key("ms", "time to first token, at the percentile", above=0, at_most=1e8)
    tpot_ms: float = key("ms", "time per output token", above=0, at_most=1e8)
    percentile: float = key("fraction", "part of the requests that keep it", at_least=0.5, at_most=0.99999)
    confidence: float | None = key(
        "fraction", "plan with times that this part of comparable measurements keeps; default: with the predicted ones",
        at_least=0.5, at_most=0.95, default=None,
    )  # fmt: skip


class EngineConfigSpec(Strict):
    """How an instance's GPUs are split; missing parts follow from the GPUs."""

    gpus: Int = key("GPUs", "GPUs of an instance", at_least=1, at_most=65536)
    tp: Int | None = key(
        "GPUs", "tensor parallelism of attention; default gpus/dp", at_least=1, at_most=65536, default=None
    )
    dp: Int | None = key("ranks", "data-parallel attention ranks; default 1", at_least=1, at_most=65536, default=None)
    etp: Int | None = key("GPUs", "tensor parallelism of experts", at_least=1, at_most=65536, default=None)
    ep: Int | None = key("GPUs", "expert parallelism", at_least=1, at_most=65536, default=None)
    ways: Int | None = key(
        "sequences", "sequences per prefill pass; default dp", at_least=1, at_most=65536, default=None
    )


class Roofline(Strict):
    """What of the peaks is reached."""

    mfu: float = key("fraction", "part of peak compute that prefill reaches", above=0, at_most=1)
    mbu: float = key("fraction", "part of peak HBM bandwidth that decode reaches", above=0, at_most=1)
    prefill_overhead_ms: float = key("ms", "fixed time of a prefill pass", at_least=0, at_most=1e6)
    step_overhead_ms: float = key("ms", "fixed time of a decode step", at_least=0, at_most=1e6)


class Engine(Strict):
    """The inference engine."""

    timing: str = key("", "a catalog timing table, a CSV path, or roofline")
    configs: tuple[EngineConfigSpec, ...] | None = Field(
        None, description="configurations to consider; default: all that fit", min_length=1, max_length=64
    )
    hbm_utilization: float = key("fraction", "part of HBM that the engine may use", above=0, at_most=1)
    chunk_tokens: Int = key(
        "tokens", "prefill tokens per step when prefill and decode share a GPU", at_least=1, at_most=10_000_000,
    )  # fmt: skip
    batches: tuple[Batch, ...] = Field(
        description="decode batches to consider [sequences per instance]",
        min_length=1,
        max_length=64,
        json_schema_extra={"unit": "sequences"},
    )
    max_utilization: float = key("fraction", "highest prefill utilisation", above=0, at_most=1)
    roofline: Roofline
    kv_dtype: Literal["bf16", "fp8"] | None = key("", "precision of the KV cache; default: the model's", default=None)
    correction: Literal["none", "default"] = key(
        "", "default: packaged times corrected by end-to-end measurements; a given roofline or CSV stays"
    )


class Transfer(Strict):
    """KV from prefill to decode instances."""

    gb_per_s_per_gpu: float = key("GB/s", "bandwidth per GPU", above=0, at_most=1e9)
    latency_ms: float = key("ms", "fixed time", at_least=0, at_most=1e6)
    overlap: float = key("fraction", "part hidden behind prefill", at_least=0, at_most=1)
    prefill_tp_at_most_decode_tp: bool = key("", "the engine cannot send KV from a wider to a narrower TP")
    gb_per_s_per_node: float | None = key("GB/s", "bandwidth per node, shared", above=0, at_most=1e9, default=None)


class Deployment(Strict):
    """What may be built."""

    architectures: tuple[Literal["colocated", "disaggregated"], ...] = Field(
        description="architectures to consider", min_length=1, max_length=2
    )
    colocated_routing: Literal["affinity", "random"] = key("", "affinity: a prefix always meets the same instance")
    load_imbalance: float = key("", "busiest instance's load over the mean, under affinity", at_least=1, at_most=100)
    hierarchy: Literal["inclusive", "exclusive"] = key("", "inclusive: a slower tier holds what faster ones hold")
    transfer: Transfer
    max_gpus: Int = key("GPUs", "most GPUs to buy", at_least=1, at_most=100_000)
    gpus_per_node: Int = key("GPUs", "GPUs of a node", at_least=1, at_most=4096)
    billing: Literal["gpu", "node"] = key("", "rented by GPU or by whole node")


class TierSpec(Strict):
    """A cache tier below HBM."""

    name: Name = key("", "name")
    roles: tuple[Literal["sync", "prefetch"], ...] = Field(
        ("sync", "prefetch"), description="what the planner may choose, besides unused", max_length=2
    )
    gb_per_s_per_gpu: float = key("GB/s", "read bandwidth per GPU", above=0, at_most=1e9)
    gb_per_s_per_node: float = key("GB/s", "read bandwidth per node, shared", above=0, at_most=1e9)
    latency_ms: float = key("ms", "fixed time of a read", at_least=0, at_most=1e6)
    max_gb_per_node: float = key("GB", "most capacity per node", at_least=0, at_most=1e9)
    included_gb_per_node: float = key("GB", "paid with the GPU-hour", at_least=0, at_most=1e9, default=0.0)
    usd_per_gb_hour: float = key("$/GB-h", "rent", at_least=0, at_most=1e3)
    step_gb: float | None = key("GB", "buy in multiples of", above=0, at_most=1e9, default=None)
    write_gb_per_s_per_node: float | None = key("GB/s", "write bandwidth per node", above=0, at_most=1e9, default=None)
    dwpd: float | None = key("1/day", "drive writes per day", above=0, at_most=1e6, default=None)


class Prices(Strict):
    """What a GPU costs and what is counted as served."""

    gpu_usd_per_hour: float = key("$/h", "price of a GPU-hour", above=0, at_most=1e5)
    tokens_counted: Literal["prompt+generated", "generated"] = key("", "tokens in $/Mtok", default="prompt+generated")


class Solve(Strict):
    """How far to search."""

    plans: Int = key("plans", "ranked plans to show", at_least=1, at_most=100)
    gap: float = key("fraction", "relative optimality gap", at_least=0, at_most=0.5)
    time_limit_s: float = key("s", "time limit", above=0, at_most=1e6)


class Scenario(Strict):
    """A whole scenario, complete and checked."""

    name: FileName = Field(description="name; reports are written below it", max_length=60)
    description: str = Field("", description="what it teaches", max_length=4000)
    model: ModelSpec = Field(description="catalog name, or a mapping with the entry's fields")
    hardware: HardwareSpec = Field(description="catalog name, or a mapping with the entry's fields")
    workload: Workload = Field(description="what arrives")
    slo: Slo = Field(description="what is promised")
    engine: Engine = Field(description="the inference engine")
    deployment: Deployment = Field(description="what may be built")
    tiers: tuple[TierSpec, ...] = Field(description="fast to slow; HBM is always there, first, and free", max_length=8)
    read_utilization: float = key("fraction", "part of a tier's bandwidth that may be used", above=0, at_most=1)
    prices: Prices = Field(description="what it costs")
    solve: Solve = Field(description="how far to search")
    _meta: Meta = PrivateAttr(default_factory=Meta)

    @property
    def defaults(self) -> tuple[tuple[str, str], ...]:
        """Key path and value of everything that the file did not give."""
        return self._meta.defaults

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Key path of every catalog value, and its source, date and confidence."""
        from planner.scenario.provenance import sources

        return tuple(sources(self._meta))

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Values that are legal but improbable."""
        return self._meta.warnings

    @property
    def file(self) -> str:
        """The file's name as it was given."""
        return self._meta.file

    @property
    def sha256(self) -> str:
        """Hash of the file's text."""
        return self._meta.sha256

    @property
    def text(self) -> str:
        """The file's text, line by line as it was; empty where there is no file."""
        return "\n".join(self._meta.document.lines) if self._meta.document else ""

    def span(self, path: str) -> Span | None:
        """Where a key such as ``slo.ttft_ms`` stands in the file; None for a default."""
        return self._meta.span(path)


__all__ = [
    "Attention", "Deployment", "Engine", "EngineConfigSpec", "Experts", "HardwareSpec", "KvBytes", "ModelSpec",
    "Params", "Prefetch", "Prices", "RequestClass", "ReuseLaw", "Roofline", "Scenario", "Slo", "Solve", "TierSpec",
    "Transfer", "Workload",
]  # fmt: skip
