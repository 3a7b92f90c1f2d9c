"""KV-cache bytes: what one token, one sequence and one tensor-parallel copy of them weigh.

Only layers with full attention grow with the context. Sliding-window (or chunked) layers stop at their window and
linear layers hold a fixed state, so both are constants per sequence: they take HBM, and are no part of a tier's bytes
per token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.scenario.schema import ModelSpec

DTYPE_BYTES = {"bf16": 2.0, "fp8": 1.0}  # without scales


def gqa_bytes_per_token(layers: float, kv_heads: float, head_dim: float, dtype_bytes: float) -> float:
    """Return ``2 · layers · kv_heads · head_dim · dtype_bytes``: K and V of every KV head.

    Grouped-query attention, and multi-head attention where every head is a KV head. Source: the shapes of the cache;
    8,000 tokens of the example are the 1.049 GB often quoted.

    >>> gqa_bytes_per_token(layers=32, kv_heads=8, head_dim=128, dtype_bytes=2)
    131072
    >>> 8000 * gqa_bytes_per_token(32, 8, 128, 2) / 1e9
    1.048576
    """
    return 2 * layers * kv_heads * head_dim * dtype_bytes


def mla_bytes_per_token(layers: float, kv_lora_rank: float, rope_dim: float, dtype_bytes: float) -> float:
    """Return ``layers · (kv_lora_rank + rope_dim) · dtype_bytes``: one latent and one rotary key for all heads.

    Multi-head latent attention. Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1.

    >>> mla_bytes_per_token(layers=61, kv_lora_rank=512, rope_dim=64, dtype_bytes=2)
    70272
    """
    return layers * (kv_lora_rank + rope_dim) * dtype_bytes


def tp_copies(attention_kind: str, kv_heads: float | None, tp: int) -> float:
    """Return ``r_c``, the copies of each KV byte that an instance's HBM holds.

    GQA heads shard over tensor parallelism up to ``kv_heads`` and replicate beyond: ``max(1, tp / kv_heads)``. The MLA
    latent belongs to all heads, so every rank holds it: ``tp``. Tiers and transfers hold one copy.

    >>> tp_copies("gqa", 4, tp=2), tp_copies("gqa", 4, tp=8), tp_copies("mla", None, tp=8)
    (1.0, 2.0, 8.0)
    """
    if attention_kind == "mla" or not kv_heads:
        return float(tp)
    return max(1.0, tp / kv_heads)


def bytes_per_token(model: ModelSpec, kv_dtype: str | None = None) -> float:
    """Return ``κ_b``: bytes that one more token of context adds, in one copy.

    Args:
        model: the model; its own ``kv_bytes_per_token``, where it states an engine's layout, wins over the formula.
        kv_dtype: ``"bf16"`` or ``"fp8"``; None for the model's ``kv_bytes_per_element``.
    """
    stated = model.kv_bytes_per_token
    if stated is not None:
        return float(getattr(stated, kv_dtype or ("fp8" if model.kv_bytes_per_element <= 1 else "bf16")))
    return _layers_bytes_per_token(model, model.full_attention_layers or model.layers, kv_dtype)


def replication(model: ModelSpec, tp: int) -> float:
    """Return ``r_c`` of a model at tensor parallelism ``tp``: see :func:`tp_copies`."""
    return tp_copies(model.attention.kind, model.attention.kv_heads, tp)


def sequence_state_bytes(model: ModelSpec, tp: int = 1, kv_dtype: str | None = None) -> float:
    """Return HBM bytes per sequence that do not grow with it, all tensor-parallel ranks together.

    ``r_c · windowed_layers · bytes per layer and token · window_tokens``, and the state of linear layers, which shards
    by head and so is held once.
    """
    per_token = _layers_bytes_per_token(model, model.windowed_layers, kv_dtype)
    return replication(model, tp) * per_token * model.window_tokens + model.sequence_state_bytes


def _layers_bytes_per_token(model: ModelSpec, layers: float, kv_dtype: str | None) -> float:
    dtype_bytes = model.kv_bytes_per_element if kv_dtype is None else DTYPE_BYTES[kv_dtype]
    attention = model.attention
    if attention.kind == "mla":
        return mla_bytes_per_token(layers, attention.kv_lora_rank or 0, attention.rope_dim or 0, dtype_bytes)
    return gqa_bytes_per_token(layers, attention.kv_heads or 0, attention.head_dim or 0, dtype_bytes)
