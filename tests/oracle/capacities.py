"""The cheapest capacities of one discrete design, under the exact laws.

One cache partition, at most two listed tiers in use. With hits fixed every capacity is explicit, so the search runs
over the fast tier's cumulative hits (and over the effective hits where endurance rewards more of them) on a grid
that is zoomed into; a tier bought in steps is enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .sizing import SLACK, Demand, Tier, evaluate, rent, worn

UNFIT = 1e15  # dollars: worse than any cost, and rising with the misfit


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
    if _least_rent(demand, [tiers[i] for i in used]) >= demand.budget:
        return best
    for fixed in _fixed_capacities(demand, [tiers[i] for i in used]):
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


def _fixed_capacities(d: Demand, tiers: list[Tier]) -> list[tuple[float | None, ...]]:
    """Every combination of whole steps worth trying; None for a tier of free size."""
    choices: list[list[float | None]] = []
    for t in tiers:
        if t.step is None:
            choices.append([None])
            continue
        sizes: list[float | None] = []
        j = max(0, math.ceil(float(worn(d, t, np.array(d.law.ceiling))) / t.step - 1e-6))
        while j * t.step <= t.most * (1 + 1e-12) and rent(t, j * t.step) < d.budget:
            sizes.append(j * t.step)
            j += 1
        choices.append(sizes)
    combos: list[tuple[float | None, ...]] = [(x,) for x in choices[0]]
    if len(tiers) == 2:
        combos = [(x, y) for x in choices[0] for y in choices[1]]
    return sorted(combos, key=lambda sizes: _floor_usd(tiers, sizes))


def _floor_usd(tiers: list[Tier], sizes: tuple[float | None, ...]) -> float:
    return sum(float(rent(t, s)) for t, s in zip(tiers, sizes, strict=True) if s is not None)


def _most_hits(d: Demand, tiers: list[Tier], fixed: tuple[float | None, ...]) -> float:
    """No more hits than this fit into what is bought, or may be bought."""
    sizes = [t.most if f is None else f for t, f in zip(tiers, fixed, strict=True)]
    return float(d.law.h(d.hbm + sum(sizes) if d.exclusive else max(d.hbm, *sizes)))


def _least_rent(d: Demand, tiers: list[Tier]) -> float:
    """No capacities that reach the needed hits rent for less: one of them, or all together, must hold that much."""
    size = float(d.law.inverse(d.need)) if d.need <= d.law.ceiling else math.inf
    lasting = sum(float(rent(t, worn(d, t, np.array(d.law.ceiling)))) for t in tiers)
    if d.exclusive:
        spare = d.hbm + sum(t.included for t in tiers)
        return max(lasting, min(t.usd_per_byte for t in tiers) * max(0.0, size - spare))
    return max(lasting, 0.0 if size <= d.hbm else min(float(rent(t, size)) for t in tiers))


def _search(d: Demand, tiers: list[Tier], fixed: tuple[float | None, ...], base: float, budget: float) -> Answer:
    """Best effective hits (one number, unless endurance rewards more) and best share of them up to the fast tier."""
    top = d.law.ceiling
    if _most_hits(d, tiers, fixed) < d.need - 1e-9 or _floor_usd(tiers, fixed) >= budget or d.need > top + SLACK:
        return Answer()
    low = max(d.need, base)
    e = np.array([low])
    if any(t.writes_per_day_per_byte for t in tiers) and top > low:

        def outer(x: np.ndarray) -> np.ndarray:
            return _shares(d, tiers, fixed, base, x.ravel())[1].reshape(x.shape)

        kinks = np.array([[y for y in d.law.kinks() if low < y < top]])
        e = minimise(outer, np.array([low]), np.array([top]), kinks, points=41, keep=3, rounds=7)[0]
    share, score = _shares(d, tiers, fixed, base, e)
    if score[0] >= UNFIT:
        return Answer()
    at = evaluate(d, tiers, fixed, base, e[:, None], share[:, None])
    capacity, hits = (tuple(float(v[0, 0]) for v in at[key]) for key in ("capacity", "hits"))
    return Answer(float(score[0]), capacity, hits, float(e[0]))


def _shares(
    d: Demand, tiers: list[Tier], fixed: tuple[float | None, ...], base: float, e: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each value of ``e``, the best share of its hits that the fast tier reaches, and the cost (or the misfit)."""

    def inner(x: np.ndarray) -> np.ndarray:
        grid = evaluate(d, tiers, fixed, base, e[:, None], x)
        return np.where(grid["wrong"] <= SLACK, grid["usd"], UNFIT * (1 + np.minimum(grid["wrong"], 1e12)))

    if len(tiers) == 1:
        x = np.ones((len(e), 1))
        return x[:, 0], inner(x)[:, 0]
    corners = np.clip(np.stack([_corners(d, tiers, base, float(v)) for v in e]), 0.0, 1.0)
    return minimise(inner, np.zeros(len(e)), np.ones(len(e)), corners, points=121, keep=4, rounds=8)


def minimise(
    f: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    extra: np.ndarray,
    points: int,
    keep: int,
    rounds: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Row by row, the smallest value of ``f`` between ``low`` and ``high``: a grid, then zooms into its best basins.

    ``f`` maps a matrix of positions (one row per problem) to a matrix of values; ``extra`` are positions worth a try.
    """
    rows = np.arange(len(low))
    grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)
    x = np.sort(np.concatenate([grid, extra], axis=1), axis=1)
    value = f(x)
    first = np.argmin(value, axis=1)
    best_x, best = x[rows, first], value[rows, first]
    padded = np.pad(value, ((0, 0), (1, 1)), constant_values=np.inf)
    basin = np.where((value <= padded[:, :-2]) & (value <= padded[:, 2:]), value, np.inf)
    chosen = np.argsort(basin, axis=1, kind="stable")[:, :keep]
    left = np.take_along_axis(x, np.maximum(chosen - 1, 0), 1)
    right = np.take_along_axis(x, np.minimum(chosen + 1, x.shape[1] - 1), 1)
    steps = np.linspace(0, 1, 33)
    for _ in range(rounds):
        box = left[:, :, None] + (right - left)[:, :, None] * steps
        value = f(box.reshape(len(low), -1)).reshape(box.shape)
        at = np.argmin(value, axis=2)[:, :, None]
        lowest, where = np.take_along_axis(value, at, 2)[:, :, 0], np.take_along_axis(box, at, 2)[:, :, 0]
        winner = np.argmin(lowest, axis=1)
        better = lowest[rows, winner] < best
        best = np.where(better, lowest[rows, winner], best)
        best_x = np.where(better, where[rows, winner], best_x)
        left = np.take_along_axis(box, np.maximum(at - 1, 0), 2)[:, :, 0]
        right = np.take_along_axis(box, np.minimum(at + 1, 32), 2)[:, :, 0]
    return best_x, best


def _corners(d: Demand, tiers: list[Tier], base: float, e: float) -> np.ndarray:
    """Shares at which a bandwidth binds or the law has a corner: the places a minimum likes."""
    span = max(e - base, 1e-300)
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
    return np.array([(m - base) / span for m in marks])
