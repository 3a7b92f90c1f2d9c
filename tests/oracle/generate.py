"""Random small scenarios, fully specified, for comparing two solvers. Same seed, same scenario.

Every feature of the model that the oracle covers appears with some probability; sizes stay small enough that a
brute force takes a second or so.
"""

from __future__ import annotations

import math
import random
from typing import Any

from .shapes import HARDWARE, MODELS


def scenario(seed: int, partitions: bool | None = None) -> dict[str, Any]:
    """One scenario; ``partitions`` forces or forbids a class with its own reuse law (None: now and then)."""
    r = random.Random(seed)
    model = _copy(r.choice(MODELS))
    kv = _kv_bytes(model)
    classes = _classes(r)
    rps = _load(r, model, classes)
    own = r.random() < 0.12 if partitions is None else partitions
    if own and len(classes) == 1:
        classes = [_share(classes[0], "first", 0.5), _share(classes[0], "second", 0.5)]
        classes[1]["output_tokens"] = max(20, classes[1]["output_tokens"] // 2)
    nodes = max(1.0, rps / 25)
    if own:
        classes[-1]["reuse"] = _law(r, kv, nodes, rps, concave=True)
    doc = {
        "name": f"fuzz-{seed}",
        "description": f"random scenario {seed}",
        "model": model,
        "hardware": _hardware(r, model),
        "workload": {
            "requests_per_second": rps,
            "arrival_cv": r.choice([0.6, 1.0, 1.0, 1.8]),
            "classes": classes,
            "reuse": _law(r, kv, nodes, rps, concave=own),
            "prefetch": {
                "coverage": r.choice([0.3, 0.6, 0.9, 1.0]),
                "precision": r.choice([0.5, 0.8, 1.0]),
                "lead_s": r.choice([1.0, 5.0, 20.0]),
            },
        },
        "slo": _slo(r, model, classes),
        "engine": _engine(r, model),
        "deployment": _deployment(r),
        "tiers": _tiers(r, steps=not own),
        "read_utilization": r.choice([0.7, 0.8, 1.0]),
        "prices": {"gpu_usd_per_hour": r.choice([1.9, 2.8, 4.5])},
        "solve": {"plans": 1, "gap": 1e-4, "time_limit_s": 60},
    }
    _extras(r, doc)
    return doc


def _extras(r: random.Random, doc: dict[str, Any]) -> None:
    """Rarer features: linear layers with a fixed state, a class with nothing to reuse, one architecture only."""
    model, classes = doc["model"], doc["workload"]["classes"]
    if r.random() < 0.15:
        model["full_attention_layers"] = model["layers"] // 4
        model["sequence_state_bytes"] = 40e6
    if r.random() < 0.15 and len(classes) > 1:
        classes[0]["reusable_tokens"] = 0
    if r.random() < 0.1:
        doc["deployment"]["architectures"] = [r.choice(["colocated", "disaggregated"])]
    if r.random() < 0.1:
        doc["deployment"]["gpus_per_node"] = 4


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copy(v) for k, v in value.items()}
    return [_copy(v) for v in value] if isinstance(value, list | tuple) else value


def _share(c: dict[str, Any], name: str, share: float) -> dict[str, Any]:
    return {**c, "name": name, "share": share}


def _kv_bytes(model: dict[str, Any]) -> float:
    a = model["attention"]
    width = a["kv_lora_rank"] + a["rope_dim"] if a["kind"] == "mla" else 2 * a["kv_heads"] * a["head_dim"]
    return float(model["layers"] * width * model["kv_bytes_per_element"])


def _classes(r: random.Random) -> list[dict[str, Any]]:
    count = r.choice([1, 1, 2, 2, 3])
    shares = {1: [1.0], 2: r.choice([[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]]), 3: [0.5, 0.3, 0.2]}[count]
    out = []
    for i, share in enumerate(shares):
        prompt = r.choice([1000, 4000, 8000, 12000, 24000])
        c: dict[str, Any] = {
            "name": f"class{i}",
            "share": share,
            "prompt_tokens": prompt,
            "reusable_tokens": int(prompt * r.choice([0.5, 0.7, 0.85, 0.95])),
            "output_tokens": r.choice([40, 100, 200, 400]),
        }
        if r.random() < 0.3:
            c["prompt_cv"] = r.choice([0.3, 0.8])
        out.append(c)
    return out


def _load(r: random.Random, model: dict[str, Any], classes: list[dict[str, Any]]) -> float:
    """A load worth two to about a hundred GPUs of prefill."""
    tokens = sum(c["share"] * c["prompt_tokens"] for c in classes)
    per_gpu = 1979e12 * 0.4 / (2e9 * model["params_b"]["active"]) / tokens
    return float(f"{per_gpu * math.exp(r.uniform(math.log(2), math.log(24))):.3g}")


def _law(r: random.Random, kv: float, nodes: float, rps: float, concave: bool) -> dict[str, Any]:
    """A reuse law whose interesting part lies within what the tiers can hold."""
    scale = 10 ** r.uniform(2.4, 3.6) * nodes**0.5  # GB
    kind = r.choice(["power", "power", "hill", "measured"])
    law: dict[str, Any] = {"law": kind}
    if kind == "power":
        law |= {"beta": r.choice([0.2, 0.4, 0.6, 0.85]), "hit_rate": r.uniform(0.2, 0.5)}
        law |= {"ceiling": r.choice([0.6, 0.8, 0.95])} | _size(r, "at", scale, kv)
    elif kind == "hill":
        slope = r.choice([0.6, 1.0]) if concave else r.choice([0.7, 1.0, 1.5, 1.84, 3.0])
        law |= {"floor": r.choice([0.0, 0.04, 0.1]), "ceiling": r.choice([0.5, 0.75, 0.9]), "slope": slope}
        law |= _size(r, "half", scale, kv)
    else:
        law |= _measured(r, scale, kv, concave)
    if r.random() < 0.35:
        law["at_requests_per_second"] = float(f"{rps * r.choice([0.5, 0.8, 1.5]):.4g}")
    return law


def _size(r: random.Random, key: str, gb: float, kv: float) -> dict[str, float]:
    if r.random() < 0.5:
        return {f"{key}_gb": float(f"{gb:.4g}")}
    return {f"{key}_tokens": float(f"{gb * 1e9 / kv:.4g}")}


def _measured(r: random.Random, scale: float, kv: float, concave: bool) -> dict[str, Any]:
    xs = [scale * f for f in (0.1, 0.3, 0.7, 1.5, 4.0, 12.0)]
    if concave:
        ys = [0.12, 0.26, 0.41, 0.53, 0.66, 0.7]
    else:
        ys = r.choice([[0.03, 0.06, 0.2, 0.42, 0.6, 0.66], [0.1, 0.12, 0.13, 0.45, 0.5, 0.8]])
    unit, name = (1.0, "points_gb") if r.random() < 0.5 else (1e9 / kv, "points_tokens")
    return {name: [[float(f"{x * unit:.4g}"), y] for x, y in zip(xs, ys, strict=True)]}


def _hardware(r: random.Random, model: dict[str, Any]) -> dict[str, Any]:
    hw = dict(HARDWARE)
    if r.random() < 0.3:
        hw["nvlink_gb_per_s"] = 450.0
        model["hidden"] = r.choice([4096, 7168])
    return hw


def _engine(r: random.Random, model: dict[str, Any]) -> dict[str, Any]:
    weights = model["params_b"]["total"] * model["weight_bytes_per_param"]
    least = next(g for g in (1, 2, 4, 8, 16) if g * 122.9 > weights * 1.15)
    configs = [{"gpus": least}]
    if r.random() < 0.7 and least <= 8:
        configs.append({"gpus": least * 2})
    if r.random() < 0.25 and least >= 2:
        configs.append({"gpus": least, "tp": least // 2, "dp": 2, "ways": 2})
    return {
        "timing": "roofline",
        "configs": configs,
        "hbm_utilization": r.choice([0.85, 0.9]),
        "chunk_tokens": r.choice([2048, 8192]),
        "batches": r.choice([[8, 32, 128], [1, 4, 16, 64, 256], [16, 64, 128, 384]]),
        "max_utilization": r.choice([0.85, 0.95]),
        "roofline": {
            "mfu": r.choice([0.35, 0.45]),
            "mbu": r.choice([0.55, 0.65]),
            "prefill_overhead_ms": r.choice([5.0, 15.0]),
            "step_overhead_ms": r.choice([3.0, 8.0]),
        },
    }


def _slo(r: random.Random, model: dict[str, Any], classes: list[dict[str, Any]]) -> dict[str, Any]:
    """TTFT a few times the slowest prefill of a mid-sized instance."""
    longest = max(c["prompt_tokens"] for c in classes)
    gpus = max(2.0, model["params_b"]["total"] * model["weight_bytes_per_param"] / 70)
    prefill_ms = 2e3 * model["params_b"]["active"] * 1e9 * longest / (gpus * 1979e12 * 0.4) + 15
    return {
        "ttft_ms": float(f"{prefill_ms * math.exp(r.uniform(math.log(1.8), math.log(8))) + 60:.4g}"),
        "tpot_ms": r.choice([40.0, 60.0, 100.0]),
        "percentile": r.choice([0.9, 0.95, 0.99]),
    }


def _deployment(r: random.Random) -> dict[str, Any]:
    transfer: dict[str, Any] = {
        "gb_per_s_per_gpu": r.choice([0.8, 5.0, 45.0, 45.0]),
        "latency_ms": 2.0,
        "overlap": r.choice([0.0, 0.0, 0.7]),
        "prefill_tp_at_most_decode_tp": r.random() < 0.3,
    }
    if r.random() < 0.2:
        transfer["gb_per_s_per_node"] = r.choice([20.0, 60.0, 300.0])
    return {
        "architectures": ["colocated", "disaggregated"],
        "colocated_routing": r.choice(["random", "affinity"]),
        "load_imbalance": r.choice([1.0, 1.1, 1.25]),
        "hierarchy": r.choice(["inclusive", "exclusive"]),
        "transfer": transfer,
        "max_gpus": r.choice([64, 128, 256]),
        "gpus_per_node": 8,
        "billing": r.choice(["gpu", "gpu", "node"]),
    }


def _tiers(r: random.Random, steps: bool) -> list[dict[str, Any]]:
    dram: dict[str, Any] = {
        "name": "dram",
        "roles": r.choice([["sync", "prefetch"], ["sync", "prefetch"], ["sync"]]),
        "gb_per_s_per_gpu": r.choice([25.0, 38.0]),
        "gb_per_s_per_node": r.choice([30.0, 60.0, 300.0]),
        "latency_ms": 3.0,
        "max_gb_per_node": r.choice([500.0, 2000.0]),
        "included_gb_per_node": r.choice([0.0, 0.0, 300.0, 2000.0]),
        "usd_per_gb_hour": r.choice([5.2e-4, 1e-3, 4e-3]),
    }
    nvme: dict[str, Any] = {
        "name": "nvme",
        "roles": r.choice([["sync", "prefetch"], ["sync", "prefetch"], ["prefetch"]]),
        "gb_per_s_per_gpu": r.choice([0.8, 3.0, 24.0]),
        "gb_per_s_per_node": r.choice([3.0, 10.0, 25.0]),
        "latency_ms": 10.0,
        "max_gb_per_node": r.choice([7680.0, 30720.0]),
        "included_gb_per_node": r.choice([0.0, 0.0, 3840.0]),
        "usd_per_gb_hour": r.choice([1.15e-5, 1e-4, 4e-4]),
    }
    if steps and r.random() < 0.25:
        nvme["step_gb"] = r.choice([1920.0, 3840.0])
    if steps and r.random() < 0.1:
        dram["step_gb"] = 256.0
    if r.random() < 0.25:
        nvme["write_gb_per_s_per_node"] = r.choice([2.0, 6.0, 12.0])
    if r.random() < 0.25:
        nvme["dwpd"] = r.choice([1.0, 3.0, 10.0])
    return [dram, nvme] if r.random() < 0.85 else [r.choice([dram, nvme])]
