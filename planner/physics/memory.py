"""HBM: what the weights leave for KV, what running sequences need of it (MODEL.md section 4). Bytes and tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence


def hbm_kv_bytes(gpus: int, hbm_bytes: float, utilization: float, reserve_bytes: float, weight_bytes: float) -> float:
    """KV memory of one instance: ``g * HBM * utilization - reserve - weights`` (both of the whole instance)."""
    return gpus * hbm_bytes * utilization - reserve_bytes - weight_bytes


def length_moments(tokens: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of a running sequence's full length, classes weighted by ``rate * output``.

    >>> length_moments([100, 300], [1, 1])
    (200.0, 100.0)
    """
    total = sum(weights)
    mean = sum(w * x for w, x in zip(weights, tokens, strict=True)) / total
    variance = sum(w * (x - mean) ** 2 for w, x in zip(weights, tokens, strict=True)) / total
    return mean, math.sqrt(variance)


def decode_kv_bytes(
    batch: float, mean_tokens: float, sd_tokens: float, z: float, bytes_per_token: float, state_bytes: float
) -> float:
    """KV of ``batch`` running sequences at the percentile of ``z``: ``(b mu + z sqrt(b) sigma) * bytes + b * state``.

    ``bytes_per_token`` and ``state_bytes`` include replication over tensor-parallel ranks.
    """
    return (batch * mean_tokens + z * math.sqrt(batch) * sd_tokens) * bytes_per_token + batch * state_bytes


def prefill_kv_bytes(ways: int, longest_prompt: float, bytes_per_token: float, state_bytes: float) -> float:
    """Working space of one prefill pass: ``ways`` sequences of the longest prompt."""
    return ways * (longest_prompt * bytes_per_token + state_bytes)
