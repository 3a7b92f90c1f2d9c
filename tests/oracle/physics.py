"""The equations of the model in plain Python, on the plain mapping of a fully specified roofline scenario.

Seconds, bytes, requests per second. Nothing here comes from the product: it is written from the equations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any


@dataclass(frozen=True)
class Klass:
    """One request class at the planned load."""

    rate: float
    prompt: float
    reusable: float
    output: float
    prompt_cv: float
    own_law: dict[str, Any] | None


@dataclass(frozen=True)
class Config:
    """GPUs per instance, tensor parallelism, and sequences per prefill pass."""

    gpus: int
    tp: int
    ways: int


class Physics:
    """Every number the oracle needs, from one scenario mapping."""

    def __init__(self, doc: dict[str, Any]) -> None:
        """Read the mapping once; nothing is defaulted but the optional keys of the file format."""
        self.doc = doc
        m, hw, wl, eng = doc["model"], doc["hardware"], doc["workload"], doc["engine"]
        self.dep, self.slo = doc["deployment"], doc["slo"]
        self.ttft, self.tpot = self.slo["ttft_ms"] / 1e3, self.slo["tpot_ms"] / 1e3
        self.percentile = float(self.slo["percentile"])
        self.z = NormalDist().inv_cdf(self.percentile)
        self.rps = float(wl["requests_per_second"])
        self.arrival_cv = float(wl.get("arrival_cv", 1.0))
        self.classes = [
            Klass(
                self.rps * c["share"],
                float(c["prompt_tokens"]),
                float(c["reusable_tokens"]),
                float(c["output_tokens"]),
                float(c.get("prompt_cv", 0.0)),
                c.get("reuse"),
            )
            for c in wl["classes"]
        ]
        self._read_model(m)
        self.hbm, self.reserve = hw["hbm_gb"] * 1e9, hw["runtime_reserve_gb"] * 1e9
        self.hbm_rate, self.peak = hw["hbm_gb_per_s"] * 1e9, hw["peak_tflops"] * 1e12
        self.nvlink = (hw.get("nvlink_gb_per_s") or 0) * 1e9
        self.roof = eng["roofline"]
        self.usable = eng["hbm_utilization"]
        self.chunk = eng["chunk_tokens"]
        self.batches = list(eng["batches"])
        self.max_utilization = eng["max_utilization"]
        self.configs = [Config(c["gpus"], c.get("tp") or c["gpus"], c.get("ways") or 1) for c in eng["configs"]]

    def _read_model(self, m: dict[str, Any]) -> None:
        """Bytes per token, weights and the share of the experts that one token touches."""
        att = m["attention"]
        self.layers = m["layers"]
        self.state = float(m.get("sequence_state_bytes") or 0.0)
        self.mla = att["kind"] == "mla"
        full = m.get("full_attention_layers") or m["layers"]
        width = (att["kv_lora_rank"] + att["rope_dim"]) if self.mla else 2 * att["kv_heads"] * att["head_dim"]
        self.kv_bytes = full * width * m["kv_bytes_per_element"]
        self.kv_heads = att.get("kv_heads", 1)
        self.qk = att["q_heads"] * att["head_dim"]
        per = m["weight_bytes_per_param"]
        params = m["params_b"]
        self.active = params["active"] * 1e9
        self.weights = params["total"] * 1e9 * per
        experts = m.get("experts") or {"count": 0, "top_k": 0}
        self.touch = experts["top_k"] / experts["count"] if experts["count"] else 0.0
        self.expert_weights = params.get("routed_experts", 0) * 1e9 * per if experts["count"] else 0.0
        self.hidden = m.get("hidden")

    # -- engine timing --------------------------------------------------------------------------------------------
    def copies(self, c: Config) -> float:
        """How often one token's KV is stored in an instance's HBM."""
        return float(c.tp) if self.mla else max(1.0, c.tp / self.kv_heads)

    def comm_s(self, c: Config, tokens: float) -> float:
        """Tensor-parallel all-reduces; zero where the scenario gives no width or link."""
        if not self.hidden or not self.nvlink:
            return 0.0
        return 2 * self.layers * tokens * self.hidden * 2 * 2 * (c.tp - 1) / c.tp / self.nvlink

    def prefill_s(self, c: Config, new: float, prefix: float) -> float:
        """One pass over ``ways`` sequences of ``new`` tokens each behind ``prefix`` cached ones."""
        flops = 2 * self.active * new + 4 * self.layers * self.qk * new * (prefix + new / 2)
        compute = c.ways * flops / (c.gpus * self.peak * self.roof["mfu"])
        weights = self.weights / (c.gpus * self.hbm_rate * self.roof["mbu"])
        return max(compute, weights) + self.comm_s(c, new) + self.roof["prefill_overhead_ms"] / 1e3

    def decode_s(self, c: Config, batch: float, context: float) -> float:
        """One decode step of an instance."""
        experts = self.expert_weights * (1 - (1 - self.touch) ** batch)
        read = self.weights - self.expert_weights + experts + batch * context * self.copies(c) * self.kv_bytes
        compute = 2 * self.active * batch / (c.gpus * self.peak * self.roof["mfu"])
        moved = read / (c.gpus * self.hbm_rate * self.roof["mbu"])
        return moved + compute + self.comm_s(c, batch) + self.roof["step_overhead_ms"] / 1e3

    def steps_s(self, c: Config, batch: int) -> list[float]:
        """Step time of each class at its mean context."""
        return [self.decode_s(c, batch, k.prompt + k.output / 2) for k in self.classes]

    # -- memory ---------------------------------------------------------------------------------------------------
    def hbm_kv(self, c: Config) -> float:
        """HBM left for KV on one instance, bytes."""
        return c.gpus * (self.hbm * self.usable - self.reserve) - self.weights

    def prefill_space(self, c: Config) -> float:
        """Working space of a prefill instance, bytes."""
        return c.ways * (max(k.prompt for k in self.classes) * self.copies(c) * self.kv_bytes + self.state)

    def decode_space(self, c: Config, batch: int) -> float:
        """What ``batch`` sequences occupy at the percentile, bytes."""
        weights = [k.rate * k.output for k in self.classes]
        lengths = [k.prompt + k.output for k in self.classes]
        mean = sum(w * x for w, x in zip(weights, lengths, strict=True)) / sum(weights)
        var = sum(w * (x - mean) ** 2 for w, x in zip(weights, lengths, strict=True)) / sum(weights)
        return (batch * mean + self.z * math.sqrt(batch * var)) * self.copies(c) * self.kv_bytes + batch * self.state

    # -- paths ----------------------------------------------------------------------------------------------------
    def fetch_s(self, c: Config, tier: dict[str, Any], k: Klass) -> float:
        """Read one class's reusable prefix from a tier into HBM."""
        node = tier["gb_per_s_per_node"] * max(1.0, c.gpus / self.dep["gpus_per_node"])
        rate = min(c.gpus * tier["gb_per_s_per_gpu"], node) * 1e9
        return tier["latency_ms"] / 1e3 + k.reusable * self.kv_bytes / rate

    def transfer_s(self, c: Config, k: Klass) -> float:
        """Move a prompt's KV from a prefill instance to a decode instance."""
        t = self.dep["transfer"]
        rate = c.gpus * t["gb_per_s_per_gpu"] * 1e9
        return t["latency_ms"] / 1e3 + (1 - t["overlap"]) * k.prompt * self.kv_bytes / rate

    def nodes(self, gpus: int) -> float:
        """Nodes of a pool: a share when billed by GPU, whole ones when billed by node."""
        share = gpus / self.dep["gpus_per_node"]
        return float(math.ceil(share - 1e-9)) if self.dep["billing"] == "node" else share

    # -- queue ----------------------------------------------------------------------------------------------------
    def service_cv2(self, miss: list[float], hit: list[float]) -> float:
        """Largest squared variation of the service time over hit rates 0, 0.01, ... 1."""
        worst = 0.0
        for i in range(101):
            h = i / 100
            first = second = 0.0
            for k, s0, s1 in zip(self.classes, miss, hit, strict=True):
                p = k.rate / self.rps
                first += p * ((1 - h) * s0 + h * s1)
                second += p * (1 + k.prompt_cv**2) * ((1 - h) * s0**2 + h * s1**2)
            worst = max(worst, second / first**2 - 1)
        return worst

    def admissible(self, servers: int, rate: float, cv2: float, budget: float) -> float | None:
        """Largest offered load of one queue whose percentile of the wait is within ``budget`` seconds."""
        if budget < 0:
            return None
        spread = (self.arrival_cv**2 + cv2) / 2

        def ok(a: float) -> bool:
            if a <= 0:
                return True
            rest = servers - a
            tail = math.exp(-min(700.0, rest * budget * rate / (a * spread))) if spread > 0 and budget > 0 else 1.0
            if spread == 0 and budget > 0:
                tail = 0.0
            return erlang_c(servers, a) * tail <= 1 - self.percentile

        low, high = 0.0, self.max_utilization * servers
        if ok(high):
            return high
        for _ in range(200):
            mid = (low + high) / 2
            low, high = (mid, high) if ok(mid) else (low, mid)
            if high - low < 1e-13 * servers:
                break
        return low


def erlang_c(servers: int, load: float) -> float:
    """Probability of waiting in M/M/s with ``load`` < ``servers``."""
    b = 1.0
    for i in range(1, servers + 1):
        b = load * b / (i + load * b)
    return b / (1 - load / servers * (1 - b))
