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

from .sizing import SLACK, Demand, Tier, evaluate, rent

GRID = 241
ZOOMS = 7


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
        while j * t.step <= t.most * (1 + 1e-12) and rent(t, j * t.step) < budget:
            sizes.append(j * t.step)
            j += 1
        choices.append(sizes)
    combos: list[tuple[float | None, ...]] = [(x,) for x in choices[0]]
    if len(tiers) == 2:
        combos = [(x, y) for x in choices[0] for y in choices[1]]
    return sorted(combos, key=lambda sizes: _floor_usd(tiers, sizes))


def _floor_usd(tiers: list[Tier], sizes: tuple[float | None, ...]) -> float:
    return sum(float(rent(t, s)) for t, s in zip(tiers, sizes, strict=True) if s is not None)


def _search(d: Demand, tiers: list[Tier], fixed: tuple[float | None, ...], base: float, budget: float) -> Answer:
    """Zoomed grid over (effective hits, share of them up to the fast tier)."""
    top = d.law.ceiling
    if _floor_usd(tiers, fixed) >= budget or d.need > top + SLACK:
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
            grid = evaluate(d, tiers, fixed, base, es[:, None], us[None, :])
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
