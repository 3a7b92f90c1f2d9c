"""Brute force over every discrete design; the cheapest continuous capacities of each under the exact laws.

``cells(doc)`` takes the plain mapping of a fully specified roofline scenario and returns, per architecture, the
cheapest design without tiers and the cheapest with tiers allowed (which may use none of them).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from . import partitions
from .candidates import Prefill, candidates_of
from .capacities import Answer, Demand, Tier, cheapest
from .laws import Law, SplitLaw
from .physics import Physics

TIE = 1e-9


def cells(doc: dict[str, Any]) -> dict[str, dict[str, dict[str, Any] | None]]:
    """The four cells; None where nothing fits or the scenario does not allow the architecture."""
    p = Physics(doc)
    out: dict[str, dict[str, dict[str, Any] | None]] = {}
    for architecture in ("colocated", "disaggregated"):
        if architecture not in p.dep["architectures"]:
            out[architecture] = {"hbm_only": None, "tiered": None}
            continue
        candidates = sorted(candidates_of(p, architecture), key=lambda c: c.usd)
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
    all_roles = list(role_sets(tiers))
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


def role_sets(tiers: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Role assignments the rules allow, those with fewer tiers first."""
    options = [["unused", *t["roles"]] for t in tiers]
    sets = [r for r in itertools.product(*options) if _roles_ok(r)]
    yield from sorted(sets, key=lambda r: sum(x != "unused" for x in r))


def _roles_ok(roles: tuple[str, ...]) -> bool:
    used = [r for r in roles if r != "unused"]
    return not used or (used[0] == "sync" and "sync" not in used[used.count("sync") :])


# -- one design ---------------------------------------------------------------------------------------------------


def wait_budget(p: Physics, c: Prefill, roles: tuple[str, ...]) -> float:
    """Smallest time that any path in use leaves for the queue."""
    slowest = -math.inf
    for i, k in enumerate(p.classes):
        paths = [c.miss[i], c.hit[i]]
        for t, role in zip(p.doc["tiers"], roles, strict=False):
            if role == "sync":
                paths.append(p.fetch_s(c.config, t, k) + c.hit[i])
        slowest = max(slowest, max(paths) + c.transfer[i])
    return p.ttft - slowest


def load_limit(p: Physics, c: Prefill, budget: float) -> float | None:
    """A(c, n, w): largest total offered load."""
    cv2 = p.service_cv2(c.miss, c.hit)
    if c.batch is None:
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
    if need > demand.law.ceiling + 1e-9 or ("prefetch" in roles and pre["coverage"] <= 0):
        return None
    found = cheapest(demand, tiers_of(p, c, roles))
    return None if math.isinf(found.usd) else _design(arch, c, roles, found, need, p)


def _design(arch: str, c: Prefill, roles: tuple[str, ...], found: Answer, need: float, p: Physics) -> dict[str, Any]:
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
