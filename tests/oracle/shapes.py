"""Model shapes and the one accelerator of the random scenarios."""

from __future__ import annotations

from typing import Any

MODELS: tuple[dict[str, Any], ...] = (
    {
        "name": "small-dense-gqa",
        "layers": 32,
        "attention": {"kind": "gqa", "q_heads": 32, "kv_heads": 8, "head_dim": 128},
        "experts": {"count": 0, "top_k": 0},
        "params_b": {"total": 8.0, "active": 8.0, "routed_experts": 0.0},
        "weight_bytes_per_param": 2.0,
        "kv_bytes_per_element": 2.0,
    },
    {
        "name": "dense-gqa-70b",
        "layers": 80,
        "attention": {"kind": "gqa", "q_heads": 64, "kv_heads": 8, "head_dim": 128},
        "experts": {"count": 0, "top_k": 0},
        "params_b": {"total": 70.6, "active": 70.6, "routed_experts": 0.0},
        "weight_bytes_per_param": 1.0,
        "kv_bytes_per_element": 2.0,
    },
    {
        "name": "moe-gqa-235b",
        "layers": 94,
        "attention": {"kind": "gqa", "q_heads": 64, "kv_heads": 4, "head_dim": 128},
        "experts": {"count": 128, "top_k": 8},
        "params_b": {"total": 235.0, "active": 22.0, "routed_experts": 211.5},
        "weight_bytes_per_param": 1.0,
        "kv_bytes_per_element": 1.0,
    },
    {
        "name": "moe-gqa-30b",
        "layers": 48,
        "attention": {"kind": "gqa", "q_heads": 32, "kv_heads": 4, "head_dim": 128},
        "experts": {"count": 128, "top_k": 8},
        "params_b": {"total": 30.5, "active": 3.3, "routed_experts": 29.0},
        "weight_bytes_per_param": 2.0,
        "kv_bytes_per_element": 2.0,
    },
    {
        "name": "moe-mla-671b",
        "layers": 61,
        "attention": {
            "kind": "mla",
            "q_heads": 128,
            "kv_heads": 1,
            "head_dim": 128,
            "kv_lora_rank": 512,
            "rope_dim": 64,
        },
        "experts": {"count": 256, "top_k": 8},
        "params_b": {"total": 671.0, "active": 37.0, "routed_experts": 653.0},
        "weight_bytes_per_param": 1.0,
        "kv_bytes_per_element": 2.0,
    },
)
HARDWARE: dict[str, Any] = {
    "name": "h200-sxm",
    "hbm_gb": 141.0,
    "hbm_gb_per_s": 4800.0,
    "peak_tflops": 1979.0,
    "runtime_reserve_gb": 4.0,
}
