"""What given hits cost: the capacities they need, explicit in both hierarchies, and every limit they meet.

All functions work on numpy arrays of hits, one design at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .laws import SplitLaw

SLACK = 1e-11


@dataclass(frozen=True)
class Tier:
    """One listed tier in one design; bytes, hits per unit of read rate, dollars."""

    role: str
    usd_per_byte: float
    included: float
    most: float
    read_cap: float  # largest sum of weighted hits that the read bandwidth carries
    step: float | None = None
    writes_per_day_per_byte: float | None = None  # dwpd


@dataclass(frozen=True)
class Demand:
    """What one design asks of its cache."""

    need: float  # effective hits that the queue, decode and write bandwidth ask for
    hbm: float  # HBM cache, bytes
    law: SplitLaw
    exclusive: bool
    coverage: float
    over_read: float  # coverage / precision
    staging: float  # bytes of staging per unit of prefetched hits
    fresh_per_day: tuple[float, float] = (0.0, 0.0)  # bytes written per day: constant, minus per effective hit
    budget: float = math.inf  # dollars: dearer answers are of no interest


def rent(t: Tier, capacity: Any) -> Any:
    """Dollars per hour above what the nodes bring along."""
    return t.usd_per_byte * np.maximum(0.0, capacity - t.included)


def evaluate(
    d: Demand, tiers: list[Tier], fixed: tuple[float | None, ...], base: float, e: np.ndarray, u: np.ndarray
) -> dict[str, Any]:
    """Cost and largest relative violation at effective hits ``e`` with the fast tier reaching share ``u``."""
    e, u = np.broadcast_arrays(e, u)
    if len(tiers) == 1:
        return _one_tier(d, tiers[0], fixed[0], base, e)
    fast, slow = tiers
    prefetch = slow.role == "prefetch"
    theta = d.coverage if prefetch else 1.0
    h_fast = np.where(u >= 1, e, base + (e - base) * u)
    x_fast, x_slow = h_fast - base, np.maximum(e - h_fast, 0.0) / theta
    h_slow = h_fast + x_slow
    stage = d.staging * x_slow if prefetch else 0.0 * x_slow
    wrong = [
        x_fast + (d.coverage * x_slow if prefetch else 0.0) - fast.read_cap,
        x_slow * (d.over_read if prefetch else 1.0) - slow.read_cap,
        h_slow - d.law.ceiling,
    ]
    need_fast = np.where(x_fast > 0, d.law.inverse(h_fast), 0.0)
    need_slow = np.where(x_slow > 0, d.law.inverse(np.minimum(h_slow, d.law.ceiling)), 0.0)
    size = _exclusive if d.exclusive else _inclusive
    cap_fast, cap_slow, more = size(d, tiers, fixed, e, stage, need_fast, need_slow, x_slow > 0)
    usd = rent(fast, cap_fast) + rent(slow, cap_slow)
    worst = np.maximum.reduce([np.broadcast_to(w, e.shape) for w in wrong + more])
    return {"usd": usd, "wrong": worst, "capacity": (cap_fast, cap_slow), "hits": (h_fast, h_slow)}


def _one_tier(d: Demand, t: Tier, fixed: float | None, base: float, e: np.ndarray) -> dict[str, Any]:
    """One synchronous tier: it must reach ``e`` by itself."""
    need = np.where(e > base, d.law.inverse(np.minimum(e, d.law.ceiling)) - (d.hbm if d.exclusive else 0.0), 0.0)
    least = np.maximum(np.maximum(need, 0.0), worn(d, t, e))
    cap = np.full(e.shape, fixed) if fixed is not None else least
    wrong = np.maximum.reduce(
        [e - base - t.read_cap, e - d.law.ceiling, _relative(least, cap), _relative(cap, np.full(e.shape, t.most))]
    )
    return {"usd": rent(t, cap), "wrong": wrong, "capacity": (cap,), "hits": (e,)}


def worn(d: Demand, t: Tier, e: np.ndarray) -> np.ndarray:
    """Smallest capacity whose endurance survives a day's writes."""
    if not t.writes_per_day_per_byte:
        return np.zeros_like(e)
    return np.maximum(0.0, d.fresh_per_day[0] - d.fresh_per_day[1] * e) / t.writes_per_day_per_byte


def _relative(need: np.ndarray, have: Any) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        out = np.where(np.isfinite(need), (need - have) / np.maximum(1.0, np.abs(have)), 1e9)
    return np.where(need <= have, np.minimum(out, 0.0), out)


def _inclusive(
    d: Demand,
    tiers: list[Tier],
    fixed: tuple[float | None, ...],
    e: np.ndarray,
    stage: np.ndarray,
    need_fast: np.ndarray,
    need_slow: np.ndarray,
    adds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Each tier holds what the faster ones hold: its own net capacity decides its cumulative hits."""
    fast, slow = tiers
    least = np.maximum(need_fast + stage, worn(d, fast, e))
    cap_fast = np.full(e.shape, fixed[0]) if fixed[0] is not None else least
    larger = np.where(adds, np.maximum(cap_fast - stage, d.hbm), 0.0)
    least_slow = np.maximum(np.maximum(need_slow, larger), worn(d, slow, e))
    cap_slow = np.full(e.shape, fixed[1]) if fixed[1] is not None else least_slow
    return cap_fast, cap_slow, _fits(tiers, (least, least_slow), (cap_fast, cap_slow))


def _exclusive(
    d: Demand,
    tiers: list[Tier],
    fixed: tuple[float | None, ...],
    e: np.ndarray,
    stage: np.ndarray,
    need_fast: np.ndarray,
    need_slow: np.ndarray,
    adds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Capacities add up; where the fast tier is no dearer (bundled), it may take over part of the slow one's job."""
    fast, slow = tiers
    total = np.maximum(need_slow - d.hbm, 0.0)
    least_fast = np.maximum(np.maximum(need_fast - d.hbm, 0.0) + stage, worn(d, fast, e))
    worn_slow = worn(d, slow, e)
    if fixed[0] is not None:
        options = [np.full(e.shape, fixed[0])]
    else:
        floor_slow = worn_slow if fixed[1] is None else np.maximum(worn_slow, fixed[1])
        marks = [np.full(e.shape, fast.included), np.full(e.shape, fast.most), total - slow.included + stage]
        marks += [total - floor_slow + stage, total - slow.most + stage, total + stage]
        options = [least_fast] + [np.clip(m, least_fast, max(fast.most, 0.0)) for m in marks]
        options = [np.maximum(o, least_fast) for o in options]
    best: list[Any] = []
    for cap_fast in options:
        least_slow = np.maximum(np.maximum(total - (cap_fast - stage), 0.0), worn_slow)
        cap_slow = np.full(e.shape, fixed[1]) if fixed[1] is not None else least_slow
        wrong = np.maximum.reduce(_fits(tiers, (least_fast, least_slow), (cap_fast, cap_slow)))
        usd = np.where(wrong <= SLACK, rent(fast, cap_fast) + rent(slow, cap_slow), np.inf)
        best = _better(best, [usd, wrong, cap_fast, cap_slow])
    return best[2], best[3], [best[1]]


def _better(old: list[Any], new: list[Any]) -> list[Any]:
    if not old:
        return new
    take = (new[0] < old[0]) | (np.isinf(new[0]) & np.isinf(old[0]) & (new[1] < old[1]))
    return [np.where(take, n, o) for o, n in zip(old, new, strict=True)]


def _fits(
    tiers: list[Tier], least: tuple[np.ndarray, np.ndarray], have: tuple[np.ndarray, np.ndarray]
) -> list[np.ndarray]:
    """Needs within what is bought, purchases within what the nodes take."""
    out = [_relative(n, c) for n, c in zip(least, have, strict=True)]
    return out + [_relative(c, np.full(c.shape, t.most)) for t, c in zip(tiers, have, strict=True)]
