"""Time to first token, path by path: fetch, prefill, transfer (MODEL.md sections 7 and 8). Seconds and bytes."""

from __future__ import annotations


def fetch_s(
    kv_bytes: float,
    latency_s: float,
    gpus: int,
    gpus_per_node: int,
    bytes_per_s_per_gpu: float,
    bytes_per_s_per_node: float,
) -> float:
    """Time to read ``kv_bytes`` from a tier into one instance.

    ``latency + bytes / min(g * per_gpu, per_node * max(1, g / gpus_per_node))``.

    >>> round(1e3 * fetch_s(1e9, 0.0, 1, 8, 3e9, 3e9))  # 1 GB from one Gen3 drive, ms
    333
    """
    rate = min(gpus * bytes_per_s_per_gpu, bytes_per_s_per_node * max(1.0, gpus / gpus_per_node))
    return latency_s + kv_bytes / rate


def transfer_s(kv_bytes: float, latency_s: float, overlap: float, gpus: int, bytes_per_s_per_gpu: float) -> float:
    """Time that the KV transfer from a prefill to a decode instance adds before the first token.

    ``latency + (1 - overlap) * bytes / (g * per_gpu)``, ``g`` the prefill instance's GPUs.
    """
    return latency_s + (1 - overlap) * kv_bytes / (gpus * bytes_per_s_per_gpu)


def chunked_prefill_s(prefill_s: float, new_tokens: float, chunk_tokens: int, step_s: float) -> float:
    """Prefill of one pass on an instance that also decodes: each chunk carries one decode step.

    ``prefill + ceil(U / chunk) * step`` with ``U`` new tokens per sequence.
    """
    return prefill_s + -(-new_tokens // chunk_tokens) * step_s
