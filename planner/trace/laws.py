"""Laws fitted to a measured hit curve, each with its residuals: table, power and hill.

All fits are least squares on the hit rate itself, at capacities spread evenly in their logarithm between 0.1 % and
all of what the trace can use. (Fitted on log h, as often done, the power law is two to four points worse.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.trace.curve import HitCurve
from planner.trace.records import Floats

TABLE_POINTS = 16
CANDIDATES = 120  # of each kind
FIT_POINTS = 200
FIT_FROM = 1e-3  # of the saturation capacity
POOR_POINTS = 2.0  # percentage points: beyond, a law is said not to hold
STEEP_BETA = 0.9  # the closed-form break-even explodes towards 1
ZOOMS, SIDE = 9, 33


@dataclass(frozen=True)
class LawFit:
    """One fitted law; capacities in tokens, residuals in percentage points of the hit rate."""

    law: str
    parameters: dict[str, float]
    points_tokens: tuple[tuple[float, float], ...]  # of the measured law
    largest_residual_points: float
    mean_residual_points: float
    from_tokens: float
    to_tokens: float
    holds: bool
    verdict: str


def fit_laws(curve: HitCurve, table_points: int = TABLE_POINTS) -> tuple[LawFit, ...]:
    """The measured table, and the power and hill laws, on one curve."""
    table = fit_table(curve, table_points)
    if curve.ceiling <= 0:
        return (table,)
    return (table, fit_power(curve), fit_hill(curve))


def closed_form_refusal(fits: tuple[LawFit, ...]) -> str | None:
    """Why the closed-form break-even capacity must not be used on this curve; None where it may."""
    power = next((fit for fit in fits if fit.law == "power"), None)
    if power is None:
        return "there is no reuse to fit"
    if power.parameters["beta"] >= STEEP_BETA:
        return f"β = {power.parameters['beta']:.2f} is at or above {STEEP_BETA}: the formula explodes"
    if not power.holds:
        return f"the power law is off by up to {power.largest_residual_points:.1f} points"
    return None


def fit_points(curve: HitCurve) -> tuple[Floats, Floats]:
    """Capacities in tokens and hit rates that the closed forms are fitted on."""
    top = max(2, curve.saturation_blocks)
    blocks = np.unique(np.rint(np.geomspace(max(1.0, FIT_FROM * top), top, FIT_POINTS)))
    return blocks * curve.block_tokens, curve.rates(blocks)


def fit_power(curve: HitCurve) -> LawFit:
    """``h = min(ceiling, ceiling * (K / at)^beta)`` with the ceiling of the trace."""
    capacity, rate = fit_points(curve)
    ceiling = curve.ceiling

    def predicted(log_at: Floats, beta: Floats) -> Floats:
        exponent = np.minimum(0.0, beta[..., None] * (np.log(capacity) - log_at[..., None]))
        return np.asarray(ceiling * np.exp(exponent))

    log_at, beta = _zoom(lambda a, b: ((predicted(a, b) - rate) ** 2).sum(-1), capacity, (0.02, 4.0))
    fitted = predicted(np.array(log_at), np.array(beta))
    largest, mean = _residuals(fitted, rate)
    holds = largest <= POOR_POINTS and beta < 1
    reason = f"off by up to {largest:.1f} points" if largest > POOR_POINTS else f"within {largest:.1f} points"
    if beta >= 1:
        reason += f"; β = {beta:.2f} is not below 1, so it is no concave law"
    parameters = {"beta": beta, "hit_rate": ceiling, "at_tokens": float(np.exp(log_at)), "ceiling": ceiling}
    return LawFit("power", parameters, (), largest, mean, capacity[0], capacity[-1], holds, reason)


def fit_hill(curve: HitCurve) -> LawFit:
    """``h = floor + (ceiling - floor) * u / (1 + u)``, ``u = (K / half)^slope``; floor and ceiling by linear fit."""
    capacity, rate = fit_points(curve)

    def levels(log_half: Floats, slope: Floats) -> tuple[Floats, Floats, Floats]:
        s = 1.0 / (1.0 + np.exp(-slope[..., None] * (np.log(capacity) - log_half[..., None])))
        mean_s, mean_h = s.mean(-1), rate.mean()
        spread = ((s - mean_s[..., None]) ** 2).mean(-1)
        rise = ((s - mean_s[..., None]) * (rate - mean_h)).mean(-1) / np.maximum(spread, 1e-30)
        floor = mean_h - rise * mean_s
        through_zero = (s * rate).sum(-1) / np.maximum((s * s).sum(-1), 1e-30)
        rise, floor = np.where(floor < 0, through_zero, rise), np.maximum(floor, 0.0)
        return s, floor, np.clip(rise, 0.0, 1.0 - np.minimum(floor, 1.0))

    def error(log_half: Floats, slope: Floats) -> Floats:
        s, floor, rise = levels(log_half, slope)
        return np.asarray(((floor[..., None] + rise[..., None] * s - rate) ** 2).sum(-1))

    log_half, slope = _zoom(error, capacity, (0.2, 12.0))
    s, floor, rise = levels(np.array(log_half), np.array(slope))
    largest, mean = _residuals(floor + rise * s, rate)
    parameters = {
        "floor": float(floor), "ceiling": float(floor + rise), "half_tokens": float(np.exp(log_half)), "slope": slope,
    }  # fmt: skip
    shape = "S-shaped" if slope > 1 else "concave"
    reason = f"within {largest:.1f} points, {shape}" if largest <= POOR_POINTS else f"off by up to {largest:.1f} points"
    return LawFit("hill", parameters, (), largest, mean, capacity[0], capacity[-1], largest <= POOR_POINTS, reason)


def fit_table(curve: HitCurve, points: int = TABLE_POINTS) -> LawFit:
    """The piecewise-linear curve with so many points that comes closest, in its largest error, to the whole one.

    Points are curve points, so they crowd where it bends; the search is exact over capacities spread evenly in their
    logarithm and others spread evenly in their hit rate.
    """
    blocks = np.union1d(curve.grid(CANDIDATES), curve.even_rates(CANDIDATES))
    x = np.concatenate(([0.0], blocks)) * curve.block_tokens
    y = np.concatenate(([0.0], curve.rates(blocks)))
    chosen = _best_knots(x, y, min(points, len(blocks)))
    knots = tuple((float(x[i]), round(float(y[i]), 6)) for i in chosen)
    fine = curve.grid() * curve.block_tokens
    table = np.array([(0.0, 0.0), *knots])
    largest, mean = _residuals(np.interp(fine, table[:, 0], table[:, 1]), curve.rates(curve.grid()))
    verdict = f"within {largest:.1f} points with {len(knots)} points"
    return LawFit("measured", {}, knots, largest, mean, knots[0][0], knots[-1][0], True, verdict)


def _best_knots(x: Floats, y: Floats, points: int) -> list[int]:
    """Indices of ``points`` knots after the first: minimise the largest error of linear pieces (dynamic programme)."""
    count = len(x)
    cost = np.full((count, count), np.inf)
    for i in range(count - 1):
        ends = np.arange(i + 1, count)
        slope = (y[ends] - y[i]) / (x[ends] - x[i])
        inner = x[i + 1 :]
        error = np.abs(y[i] + slope[:, None] * (inner - x[i]) - y[i + 1 :])
        cost[i, ends] = np.where(inner <= x[ends][:, None], error, 0.0).max(axis=1)
    best = cost[0].copy()
    came: list[np.ndarray] = []
    for _ in range(points - 1):
        through = np.maximum(best[:, None], cost)
        came.append(through.argmin(axis=0))
        best = through.min(axis=0)
    chosen = [count - 1]
    for step in reversed(came):
        chosen.append(int(step[chosen[-1]]))
    return sorted({i for i in chosen if i > 0})


def _residuals(fitted: Floats, rate: Floats) -> tuple[float, float]:
    """Largest and mean absolute residual in percentage points."""
    off = np.abs(fitted - rate) * 100.0
    return float(off.max()), float(off.mean())


def _zoom(
    error: Callable[[Floats, Floats], Floats], capacity: Floats, exponent: tuple[float, float]
) -> tuple[float, float]:
    """Minimise over (log capacity, exponent): a grid that closes in on its best cell."""
    low = np.array([np.log(capacity[0]) - 2.0, np.log(exponent[0])])
    high = np.array([np.log(capacity[-1]) + 2.0, np.log(exponent[1])])
    best = (low + high) / 2
    for _ in range(ZOOMS):
        a, b = (np.linspace(low[i], high[i], SIDE) for i in (0, 1))
        first, second = np.meshgrid(a, np.exp(b), indexing="ij")
        values = error(first, second)
        i, j = np.unravel_index(int(values.argmin()), values.shape)
        best = np.array([a[i], b[j]])
        reach = (high - low) * 3.0 / SIDE
        low, high = best - reach, best + reach
    return float(best[0]), float(np.exp(best[1]))
