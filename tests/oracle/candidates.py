"""Discrete designs: the prefill pool, and the cheapest decode pool that goes with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from .physics import Config, Physics


@dataclass
class Prefill:
    """One prefill candidate: pools, service times, and what limits its load."""

    config: Config
    n: int
    gpus: int
    nodes: float
    usd: float  # of all GPUs, the decode pool's included
    miss: list[float]  # service time of a miss, per class
    hit: list[float]
    hbm: float  # HBM cache of the service, bytes of KV
    imbalance: float
    transfer: list[float]
    pure_gain: list[float]  # pure prefill seconds saved per hit, per class
    pure_miss: list[float]
    pure_limit: float  # largest pure prefill load that decode tolerates
    batch: int | None = None
    decode: tuple[int, int, int, int] | None = None


def candidates_of(p: Physics, architecture: str) -> Iterator[Prefill]:
    """Every configuration and count (and batch, colocated) that memory, decode and max_gpus allow."""
    for config in p.configs:
        for n in range(1, p.dep["max_gpus"] // config.gpus + 1):
            if architecture == "colocated":
                yield from _colocated(p, config, n)
            else:
                yield from _disaggregated(p, config, n)


def _pure(p: Physics, c: Config) -> tuple[list[float], list[float]]:
    miss = [p.prefill_s(c, k.prompt, 0) for k in p.classes]
    return miss, [p.prefill_s(c, k.prompt - k.reusable, k.reusable) for k in p.classes]


def _price(p: Physics, *pools: int) -> float:
    per = p.dep["gpus_per_node"] if p.dep["billing"] == "node" else 1
    units = [p.nodes(g) if p.dep["billing"] == "node" else float(g) for g in pools]
    return float(sum(u * per for u in units) * p.doc["prices"]["gpu_usd_per_hour"])


def _colocated(p: Physics, c: Config, n: int) -> Iterator[Prefill]:
    miss, hit = _pure(p, c)
    for b in p.batches:
        free = p.hbm_kv(c) - p.prefill_space(c) - p.decode_space(c, b)
        if free < 0:
            continue
        steps = p.steps_s(c, b)
        rho = _largest_rho(p, n * b, steps)
        if rho is None:
            continue
        slow = max(steps)
        whole = [s + math.ceil(k.prompt / p.chunk - 1e-12) * slow for s, k in zip(miss, p.classes, strict=True)]
        part = [
            s + math.ceil((k.prompt - k.reusable) / p.chunk - 1e-12) * slow for s, k in zip(hit, p.classes, strict=True)
        ]
        affinity = p.dep["colocated_routing"] == "affinity"
        yield Prefill(
            config=c,
            n=n,
            gpus=n * c.gpus,
            nodes=p.nodes(n * c.gpus),
            usd=_price(p, n * c.gpus),
            miss=whole,
            hit=part,
            hbm=n * free / p.copies(c),
            imbalance=p.dep["load_imbalance"] if affinity else 1.0,
            transfer=[0.0] * len(p.classes),
            pure_gain=[a - s for a, s in zip(miss, hit, strict=True)],
            pure_miss=miss,
            pure_limit=rho * n * c.ways,
            batch=b,
        )


def _largest_rho(p: Physics, slots: int, steps: list[float]) -> float | None:
    """Largest share of time for prefill that leaves TPOT and the decode slots whole; None if even zero does not."""
    m = sum(k.rate * k.output * s for k, s in zip(p.classes, steps, strict=True))

    def ok(rho: float) -> bool:
        busy = m / (1 - rho)
        return max(steps) / (1 - rho) <= p.tpot * (1 + 1e-12) and busy + p.z * math.sqrt(busy) <= slots * (1 + 1e-12)

    if not ok(0.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(100):
        mid = (low + high) / 2
        if mid < 1 and ok(mid):
            low = mid
        else:
            high = mid
    return low


def _decode_pool(p: Physics, prefill: Config, prefill_nodes: float) -> tuple[int, int, int, int] | None:
    """Fewest decode GPUs: (GPUs, GPUs per instance, batch, instances)."""
    best = None
    need_nodes = 0.0
    per_node = p.dep["transfer"].get("gb_per_s_per_node")
    if per_node is not None:
        moved = sum(k.rate * k.prompt for k in p.classes) * p.kv_bytes
        need_nodes = moved / (p.doc["read_utilization"] * per_node * 1e9)
        if need_nodes > prefill_nodes * (1 + 1e-9):
            return None
    for c in p.configs:
        if p.dep["transfer"]["prefill_tp_at_most_decode_tp"] and prefill.tp > c.tp:
            continue
        for b in p.batches:
            steps = p.steps_s(c, b)
            if max(steps) > p.tpot or p.decode_space(c, b) > p.hbm_kv(c):
                continue
            m = sum(k.rate * k.output * s for k, s in zip(p.classes, steps, strict=True))
            n = math.ceil(math.ceil(m + p.z * math.sqrt(m) - 1e-9) / b)
            while p.nodes(n * c.gpus) < need_nodes * (1 - 1e-9) and n * c.gpus <= p.dep["max_gpus"]:
                n += 1
            if best is None or n * c.gpus < best[0]:
                best = (n * c.gpus, c.gpus, b, n)
    return best


def _disaggregated(p: Physics, c: Config, n: int) -> Iterator[Prefill]:
    free = p.hbm_kv(c) - p.prefill_space(c)
    if free < 0:
        return
    decode = _decode_pool(p, c, p.nodes(n * c.gpus))
    if decode is None or n * c.gpus + decode[0] > p.dep["max_gpus"]:
        return
    miss, hit = _pure(p, c)
    yield Prefill(
        config=c,
        n=n,
        gpus=n * c.gpus + decode[0],
        nodes=p.nodes(n * c.gpus),
        usd=_price(p, n * c.gpus, decode[0]),
        miss=miss,
        hit=hit,
        hbm=n * free / p.copies(c),
        imbalance=1.0,
        transfer=[p.transfer_s(c, k) for k in p.classes],
        pure_gain=[0.0] * len(miss),
        pure_miss=miss,
        pure_limit=math.inf,
        decode=decode,
    )
