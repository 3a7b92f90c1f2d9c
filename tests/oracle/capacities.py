"""The cheapest capacities of one discrete design, under the exact laws.

One cache partition, at most two listed tiers in use. With hits fixed every capacity is explicit, so the search runs
over the fast tier's cumulative hits (and over the effective hits where endurance rewards more of them) on a grid
that is zoomed into; a tier bought in steps is enumerated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .laws import SplitLaw

SLACK = 1e-11
GRID = 241
ZOOMS = 7


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


@dataclass
class Answer:
    """The cheapest rent and what it buys; ``usd`` is infinite where nothing fits."""

    usd: float = math.inf
    capacity: tuple[float, ...] = ()
    hits: tuple[float, ...] = ()  # cumulative, HBM first
    effective: float = 0.0
    detail: dict[str, Any] = field(default_factory=dict)


def cheapest(demand: Demand, tiers: list[Tier]) -> Answer:
    """Cheapest capacities for the roles in ``tiers`` (an unused tier costs nothing)."""
    base = float(demand.law.h(demand.hbm))
    used = [i for i, t in enumerate(tiers) if t.role != "unused"]
    if not used:
        ok = base >= demand.need - SLACK
        return Answer(0.0, (0.0,) * len(tiers), (base,) * (1 + len(tiers)), base) if ok else Answer()
    if len(used) > 2:
        raise ValueError("the oracle handles at most two tiers in use")
    best = Answer()
    for fixed in _fixed_capacities([tiers[i] for i in used], demand.budget):
        found = _search(demand, [tiers[i] for i in used], fixed, base, min(best.usd, demand.budget))
        if found.usd < best.usd:
            best = found
    if math.isinf(best.usd):
        return best
    capacity, hits = [0.0] * len(tiers), [base]
    for i in range(len(tiers)):
        place = used.index(i) if i in used else None
        capacity[i] = best.capacity[place] if place is not None else 0.0
        hits.append(best.hits[place] if place is not None else hits[-1])
    return Answer(best.usd, tuple(capacity), tuple(hits), best.effective)


def _fixed_capacities(tiers: list[Tier], budget: float) -> list[tuple[float | None, ...]]:
    """Every combination of whole steps worth trying; None for a tier of free size."""
    choices: list[list[float | None]] = []
    for t in tiers:
        if t.step is None:
            choices.append([None])
            continue
        sizes: list[float | None] = []
        j = 0
        while j * t.step <= t.most * (1 + 1e-12) and _rent(t, j * t.step) < budget:
            sizes.append(j * t.step)
            j += 1
        choices.append(sizes)
    if len(tiers) == 1:
        return [(x,) for x in choices[0]]
    return [(x, y) for x in choices[0] for y in choices[1]]


def _rent(t: Tier, capacity: Any) -> Any:
    return t.usd_per_byte * np.maximum(0.0, capacity - t.included)


def _search(d: Demand, tiers: list[Tier], fixed: tuple[float | None, ...], base: float, budget: float) -> Answer:
    """Zoomed grid over (effective hits, share of them up to the fast tier)."""
    floor_usd = sum(float(_rent(t, f)) for t, f in zip(tiers, fixed, strict=True) if f is not None)
    top = d.law.ceiling
    if floor_usd >= budget or d.need > top + SLACK:
        return Answer()
    low_e = max(d.need, base)
    endurance = any(t.writes_per_day_per_byte for t in tiers)
    e_range = (low_e, max(top, low_e)) if endurance else (low_e, low_e)
    u_range = (0.0, 1.0) if len(tiers) == 2 else (1.0, 1.0)
    return _zoom(d, tiers, fixed, base, e_range, u_range)


def _axis(low: float, high: float, points: int, extra: list[float]) -> np.ndarray:
    if high <= low:
        return np.array([low])
    inside = [x for x in extra if low <= x <= high]
    return np.unique(np.concatenate([np.linspace(low, high, points), inside]))


def _zoom(
    d: Demand,
    tiers: list[Tier],
    fixed: tuple[float | None, ...],
    base: float,
    e_range: tuple[float, float],
    u_range: tuple[float, float],
) -> Answer:
    """Keep a few best basins of a coarse grid and refine each; infeasible grids steer by their least violation."""
    two_d = e_range[1] > e_range[0] and u_range[1] > u_range[0]
    points = 61 if two_d else GRID
    boxes = [(e_range, u_range)]
    best = Answer()
    for round_ in range(ZOOMS + (4 if two_d else 0)):
        following: list[tuple[float, float, int, int, np.ndarray, np.ndarray]] = []
        for e_box, u_box in boxes:
            es = _axis(*e_box, points, d.law.kinks() if round_ == 0 else [])
            us = _axis(*u_box, points, _corners(d, tiers, base, e_box[0]) if round_ == 0 and not two_d else [])
            grid = _evaluate(d, tiers, fixed, base, es[:, None], us[None, :])
            cost, wrong = grid["usd"], grid["wrong"]
            score = np.where(wrong <= SLACK, cost, np.inf)
            flat = int(np.argmin(score))
            i, j = divmod(flat, len(us))
            if score[i, j] < best.usd:
                best = Answer(
                    float(score[i, j]),
                    tuple(float(c[i, j]) for c in grid["capacity"]),
                    tuple(float(h[i, j]) for h in grid["hits"]),
                    float(np.broadcast_to(es[:, None], cost.shape)[i, j]),
                )
            following += [(s, w, a, b, es, us) for s, w, a, b in _basins(score, wrong)]
        following.sort(key=lambda x: (x[0], x[1]))
        boxes = [(_around(es, a), _around(us, b)) for _, _, a, b, es, us in following[: 6 if round_ < 2 else 2]]
        if all(e[0] == e[1] and u[0] == u[1] for e, u in boxes):
            break
    return best


def _around(axis: np.ndarray, i: int) -> tuple[float, float]:
    return float(axis[max(0, i - 1)]), float(axis[min(len(axis) - 1, i + 1)])


def _basins(score: np.ndarray, wrong: np.ndarray) -> list[tuple[float, float, int, int]]:
    """Local minima of the cost among feasible points, or of the violation where no point is feasible."""
    feasible = np.isfinite(score)
    field_ = score if feasible.any() else wrong
    padded = np.pad(field_, 1, constant_values=np.inf)
    rows, cols = field_.shape
    lowest = np.ones(field_.shape, bool)
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            lowest &= field_ <= padded[1 + di : 1 + di + rows, 1 + dj : 1 + dj + cols]
    lowest &= np.isfinite(field_)
    picks = [(float(score[i, j]), float(wrong[i, j]), int(i), int(j)) for i, j in zip(*np.nonzero(lowest), strict=True)]
    picks.sort()
    kept: list[tuple[float, float, int, int]] = []
    for p in picks:
        if len(kept) < 8 and all(abs(p[2] - q[2]) + abs(p[3] - q[3]) > 2 for q in kept):
            kept.append(p)
    return kept


def _corners(d: Demand, tiers: list[Tier], base: float, e: float) -> list[float]:
    """Shares at which a bandwidth binds or the law has a corner: the places a minimum likes."""
    span = e - base
    if span <= 0 or len(tiers) < 2:
        return []
    fast, slow = tiers
    theta = d.coverage if slow.role == "prefetch" else 1.0
    weight = d.over_read if slow.role == "prefetch" else 1.0
    marks = [e - theta * slow.read_cap / weight, base + fast.read_cap]
    reread = d.coverage if slow.role == "prefetch" else 0.0
    if abs(1 - reread / theta) > 1e-12:
        marks.append((fast.read_cap + base - reread * e / theta) / (1 - reread / theta))
    for y in d.law.kinks():
        marks.append(y)
        if theta < 1:
            marks.append((e / theta - y) / (1 / theta - 1))
    return [(m - base) / span for m in marks]


def _evaluate(
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
    usd = _rent(fast, cap_fast) + _rent(slow, cap_slow)
    worst = np.maximum.reduce([np.broadcast_to(w, e.shape) for w in wrong + more])
    return {"usd": usd, "wrong": worst, "capacity": (cap_fast, cap_slow), "hits": (h_fast, h_slow)}


def _one_tier(d: Demand, t: Tier, fixed: float | None, base: float, e: np.ndarray) -> dict[str, Any]:
    """One synchronous tier: it must reach ``e`` by itself."""
    need = np.where(e > base, d.law.inverse(np.minimum(e, d.law.ceiling)) - (d.hbm if d.exclusive else 0.0), 0.0)
    least = np.maximum(np.maximum(need, 0.0), _worn(d, t, e))
    cap = np.full(e.shape, fixed) if fixed is not None else least
    wrong = np.maximum.reduce(
        [e - base - t.read_cap, e - d.law.ceiling, _relative(least, cap), _relative(cap, np.full(e.shape, t.most))]
    )
    return {"usd": _rent(t, cap), "wrong": wrong, "capacity": (cap,), "hits": (e,)}


def _worn(d: Demand, t: Tier, e: np.ndarray) -> np.ndarray:
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
    least = np.maximum(need_fast + stage, _worn(d, fast, e))
    cap_fast = np.full(e.shape, fixed[0]) if fixed[0] is not None else least
    larger = np.where(adds, np.maximum(cap_fast - stage, d.hbm), 0.0)
    least_slow = np.maximum(np.maximum(need_slow, larger), _worn(d, slow, e))
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
    least_fast = np.maximum(np.maximum(need_fast - d.hbm, 0.0) + stage, _worn(d, fast, e))
    worn_slow = _worn(d, slow, e)
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
        usd = np.where(wrong <= SLACK, _rent(fast, cap_fast) + _rent(slow, cap_slow), np.inf)
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
