"""Brute force over every discrete design; the cheapest continuous capacities of each under the exact laws.

``cells(doc)`` takes the plain mapping of a fully specified roofline scenario and returns, per architecture, the
cheapest design without tiers and the cheapest with tiers allowed (which may use none of them).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import partitions
from .capacities import Answer, Demand, Tier, cheapest
from .laws import Law, SplitLaw
from .physics import Config, Physics

TIE = 1e-9


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
    queues: int  # 1 pooled, n when each instance has its own
    imbalance: float
    transfer: list[float]
    pure_gain: list[float]  # pure prefill seconds saved per hit, per class
    pure_miss: list[float]
    pure_limit: float  # largest pure prefill load that decode tolerates
    batch: int | None = None
    decode: tuple[int, int, int, int] | None = None


def cells(doc: dict[str, Any]) -> dict[str, dict[str, dict[str, Any] | None]]:
    """The four cells; None where nothing fits or the scenario does not allow the architecture."""
    p = Physics(doc)
    out: dict[str, dict[str, dict[str, Any] | None]] = {}
    for architecture in ("colocated", "disaggregated"):
        if architecture not in p.dep["architectures"]:
            out[architecture] = {"hbm_only": None, "tiered": None}
            continue
        candidates = sorted(_candidates(p, architecture), key=lambda c: c.usd)
        plain = _best(p, architecture, candidates, tiered=False)
        tiered = _best(p, architecture, candidates, tiered=True, incumbent=plain)
        out[architecture] = {"hbm_only": plain, "tiered": tiered}
    return out


def _best(
    p: Physics, arch: str, candidates: list[Prefill], tiered: bool, incumbent: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Cheapest design over candidates (cheapest GPUs first) and role assignments."""
    best = incumbent
    tiers = p.doc["tiers"] if tiered else []
    all_roles = list(_role_sets(tiers))
    for c in candidates:
        limit = best["usd_per_hour"] if best else math.inf
        if c.usd >= limit * (1 - TIE):
            break
        for roles in all_roles:
            limit = best["usd_per_hour"] if best else math.inf
            found = _solve(p, arch, c, roles, limit - c.usd)
            if found is not None and found["usd_per_hour"] < limit * (1 - TIE):
                best = found
    return best


def _role_sets(tiers: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Role assignments the rules allow, those with fewer tiers first."""
    options = [["unused", *t["roles"]] for t in tiers]
    sets = [r for r in itertools.product(*options) if _roles_ok(r)]
    yield from sorted(sets, key=lambda r: sum(x != "unused" for x in r))


def _roles_ok(roles: tuple[str, ...]) -> bool:
    used = [r for r in roles if r != "unused"]
    return not used or (used[0] == "sync" and "sync" not in used[used.count("sync") :])


# -- candidates ---------------------------------------------------------------------------------------------------


def _candidates(p: Physics, architecture: str) -> Iterator[Prefill]:
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
            s + math.ceil((k.prompt - k.reusable) / p.chunk - 1e-12) * slow
            for s, k in zip(hit, p.classes, strict=True)
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
            queues=n,
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
            while p.nodes(n * c.gpus) < need_nodes * (1 - 1e-9):
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
        queues=1,
        imbalance=1.0,
        transfer=[p.transfer_s(c, k) for k in p.classes],
        pure_gain=[0.0] * len(miss),
        pure_miss=miss,
        pure_limit=math.inf,
        decode=decode,
    )


# -- one design ---------------------------------------------------------------------------------------------------


def wait_budget(p: Physics, c: Prefill, roles: tuple[str, ...]) -> float:
    """Smallest time that any path in use leaves for the queue."""
    slowest = -math.inf
    for i, k in enumerate(p.classes):
        paths = [c.miss[i], c.hit[i]]
        for t, role in zip(p.doc["tiers"], roles, strict=False):
            if role == "sync" and k.reusable > 0:
                paths.append(p.fetch_s(c.config, t, k) + c.hit[i])
        slowest = max(slowest, max(paths) + c.transfer[i])
    return p.ttft - slowest


def load_limit(p: Physics, c: Prefill, budget: float) -> float | None:
    """A(c, n, w): largest total offered load."""
    cv2 = p.service_cv2(c.miss, c.hit)
    if c.queues == 1:
        return p.admissible(c.n * c.config.ways, p.rps, cv2, budget)
    one = p.admissible(c.config.ways, c.imbalance * p.rps / c.n, cv2, budget)
    return None if one is None else c.n * one / c.imbalance


def _needed(p: Physics, c: Prefill, limit: float) -> float:
    """Effective hits that bring the queue and the decode limit down to what is allowed (one shared cache)."""
    whole = sum(k.rate * s for k, s in zip(p.classes, c.miss, strict=True))
    gain = sum(k.rate * (a - b) for k, a, b in zip(p.classes, c.miss, c.hit, strict=True))
    need = _ratio(whole - limit, gain)
    if math.isfinite(c.pure_limit):
        pure = sum(k.rate * s for k, s in zip(p.classes, c.pure_miss, strict=True))
        saved = sum(k.rate * g for k, g in zip(p.classes, c.pure_gain, strict=True))
        need = max(need, _ratio(pure - c.pure_limit, saved))
    return max(0.0, need)


def _ratio(excess: float, gain: float) -> float:
    if excess <= 0:
        return 0.0
    return excess / gain if gain > 0 else math.inf


def _write_need(p: Physics, c: Prefill, tier: dict[str, Any]) -> float:
    """Effective hits that keep fresh KV within a tier's write bandwidth."""
    if tier.get("write_gb_per_s_per_node") is None:
        return 0.0
    fresh = sum(k.rate * k.prompt for k in p.classes) * p.kv_bytes
    spared = sum(k.rate * k.reusable for k in p.classes) * p.kv_bytes
    return _ratio(fresh - tier["write_gb_per_s_per_node"] * 1e9 * c.nodes, spared)


def tiers_of(p: Physics, c: Prefill, roles: tuple[str, ...]) -> list[Tier]:
    """The listed tiers in the units of the capacity search."""
    read = sum(k.rate * k.reusable for k in p.classes) * p.kv_bytes
    out = []
    for t, role in zip(p.doc["tiers"], roles, strict=False):
        supply = p.doc["read_utilization"] * t["gb_per_s_per_node"] * 1e9 * c.nodes
        out.append(
            Tier(
                role=role,
                usd_per_byte=t["usd_per_gb_hour"] / 1e9,
                included=(t.get("included_gb_per_node") or 0.0) * 1e9 * c.nodes,
                most=t["max_gb_per_node"] * 1e9 * c.nodes,
                read_cap=supply / read if read > 0 else math.inf,
                step=t["step_gb"] * 1e9 if t.get("step_gb") else None,
                writes_per_day_per_byte=t.get("dwpd"),
            )
        )
    return out


def _solve(p: Physics, arch: str, c: Prefill, roles: tuple[str, ...], rent_limit: float) -> dict[str, Any] | None:
    """Cheapest capacities for one candidate and one role assignment."""
    budget = wait_budget(p, c, roles)
    limit = load_limit(p, c, budget)
    if limit is None:
        return None
    if any(k.own_law for k in p.classes):
        found = partitions.cheapest_partitions(p, c, roles, limit, rent_limit)
        return None if found is None else _design(arch, c, roles, found, math.nan, p)
    need = _needed(p, c, limit)
    for t, role in zip(p.doc["tiers"], roles, strict=False):
        if role != "unused":
            need = max(need, _write_need(p, c, t))
    law = Law(p.doc["workload"]["reuse"], p.kv_bytes, p.rps)
    pre = p.doc["workload"].get("prefetch") or {"coverage": 0.0, "precision": 1.0, "lead_s": 0.0}
    split = c.n if arch == "colocated" and p.dep["colocated_routing"] == "random" else 1
    read = sum(k.rate * k.reusable for k in p.classes) * p.kv_bytes
    fresh = sum(k.rate * k.prompt for k in p.classes) * p.kv_bytes
    demand = Demand(
        need=need,
        hbm=c.hbm,
        law=SplitLaw(law, split),
        exclusive=p.dep["hierarchy"] == "exclusive",
        coverage=pre["coverage"],
        over_read=pre["coverage"] / pre["precision"],
        staging=read * pre["coverage"] / pre["precision"] * pre["lead_s"],
        fresh_per_day=(fresh * 86400, read * 86400),
        budget=rent_limit,
    )
    if need > demand.law.ceiling + 1e-9 or "prefetch" in roles and pre["coverage"] <= 0:
        return None
    found = cheapest(demand, tiers_of(p, c, roles))
    return None if math.isinf(found.usd) else _design(arch, c, roles, found, need, p)


def _design(
    arch: str, c: Prefill, roles: tuple[str, ...], found: Answer, need: float, p: Physics
) -> dict[str, Any]:
    names = [t["name"] for t in p.doc["tiers"]]
    return {
        "usd_per_hour": c.usd + found.usd,
        "architecture": arch,
        "gpus_per_instance": c.config.gpus,
        "tp": c.config.tp,
        "instances": c.n,
        "batch": c.batch,
        "decode": list(c.decode) if c.decode else None,
        "roles": dict(zip(names, roles, strict=False)),
        "capacity_gb": {n: x / 1e9 for n, x, r in zip(names, found.capacity, roles, strict=False) if r != "unused"},
        "hits": list(found.hits),
        "effective_hits": found.effective,
        "e_req": need,
        "nodes": c.nodes,
        **found.detail,
    }
