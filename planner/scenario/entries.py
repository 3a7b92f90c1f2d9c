"""The part of the schema that the catalog has entries for: a model and a GPU."""

from __future__ import annotations

from typing import Literal

from planner.scenario.fields import Int, Name, Strict, key


class Attention(Strict):
    """Shape of the attention layers that decides KV bytes and prefill work."""

    kind: Literal["gqa", "mla"] = key("", "gqa (multi-head and multi-query too) or mla")
    q_heads: Int = key("heads", "query heads", at_least=1, at_most=4096)
    kv_heads: Int | None = key("heads", "key-value heads (gqa)", at_least=1, at_most=4096, default=None)
    head_dim: Int | None = key("elements", "dimension of a head (gqa)", at_least=1, at_most=4096, default=None)
    kv_lora_rank: Int | None = key("elements", "rank of the latent (mla)", at_least=1, at_most=65536, default=None)
    rope_dim: Int | None = key("elements", "rotary part of the key (mla)", at_least=0, at_most=4096, default=None)
    qk_head_dim: Int | None = key(
        "elements", "query-key dimension of a head (mla)", at_least=1, at_most=4096, default=None
    )
    v_head_dim: Int | None = key("elements", "value dimension of a head (mla)", at_least=1, at_most=4096, default=None)


class Experts(Strict):
    """Routed experts; 0 and 0 for a dense model."""

    count: Int = key("experts", "routed experts per layer", at_least=0, at_most=65536, default=0)
    top_k: Int = key("experts", "routed experts that a token uses", at_least=0, at_most=65536, default=0)


class Params(Strict):
    """Parameter counts."""

    total: float = key("billion", "all parameters", above=0, at_most=1e6)
    active: float = key("billion", "parameters that a token uses", above=0, at_most=1e6)
    routed_experts: float = key("billion", "parameters in routed experts", at_least=0, at_most=1e6, default=0.0)


class KvBytes(Strict):
    """KV bytes per token by precision, for layouts that the formula does not give."""

    bf16: float = key("bytes/token", "KV bytes per token at bf16", above=0, at_most=1e9)
    fp8: float = key("bytes/token", "KV bytes per token at fp8", above=0, at_most=1e9)


class ModelSpec(Strict):
    """A model: its shape, its weights and its KV bytes."""

    name: Name = key("", "name")
    title: str | None = key("", "name for people", default=None)
    layers: Int = key("layers", "transformer layers", at_least=1, at_most=10_000)
    full_attention_layers: Int | None = key(
        "layers", "layers whose KV grows with the context; default: all", at_least=0, at_most=10_000, default=None
    )
    attention: Attention
    windowed_layers: Int = key(
        "layers", "layers whose KV stops growing at the window", at_least=0, at_most=10_000, default=0
    )
    window_tokens: Int = key("tokens", "that window", at_least=0, at_most=1e9, default=0)
    sequence_state_bytes: float = key(
        "bytes",
        "constant bytes per sequence beside the KV: linear layers' state",
        at_least=0,
        at_most=1e13,
        default=0.0,
    )
    experts: Experts = Experts()  # dense
    params_b: Params
    weight_bytes_per_param: float = key("bytes", "bytes per parameter", above=0, at_most=8)
    weights_gb: float | None = key("GB", "weights, where precision is mixed", above=0, at_most=1e6, default=None)
    routed_expert_weights_gb: float | None = key(
        "GB", "weights of the routed experts, where precision is mixed", at_least=0, at_most=1e6, default=None
    )
    kv_bytes_per_element: float = key("bytes", "bytes per element of the KV cache", above=0, at_most=8, default=2.0)
    kv_bytes_per_token: KvBytes | None = key(
        "", "KV layout of the engine where the formula does not hold", default=None
    )
    hidden: Int | None = key(
        "elements", "hidden size; none: no communication time", at_least=1, at_most=1e6, default=None
    )
    compute_dtype: Literal["fp8", "bf16"] | None = key("", "which peak of the GPU the matrices run at", default=None)
    max_context: Int | None = key("tokens", "longest context", at_least=1, at_most=1e9, default=None)
    timing_name: str | None = key("", "name in the timing tables", default=None)


class HardwareSpec(Strict):
    """A GPU and the links inside its node."""

    name: Name = key("", "name")
    title: str | None = key("", "name for people", default=None)
    hbm_gb: float = key("GB", "HBM of a GPU", above=0, at_most=1e5)
    hbm_gb_per_s: float = key("GB/s", "peak HBM bandwidth", above=0, at_most=1e7)
    peak_tflops: float = key("TFLOPS", "dense peak at the model's compute precision", above=0, at_most=1e7)
    runtime_reserve_gb: float = key(
        "GB", "HBM that the runtime, NCCL and activations take", at_least=0, at_most=1e5, default=3.9,
    )  # fmt: skip
    nvlink_gb_per_s: float | None = key(
        "GB/s", "NVLink per GPU and direction; none: no communication time", above=0, at_most=1e6, default=None
    )
    nvlink_domain_gpus: Int | None = key("GPUs", "GPUs that NVLink joins", at_least=1, at_most=65536, default=None)
