"""Waiting for prefill: Erlang's delay formula with a variability correction (MODEL.md section 9).

Loads are offered loads in servers' worth of work (Erlang), times in seconds, rates in requests per second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def erlang_c(servers: int, load: float) -> float:
    """Probability that an arrival waits, ``C(s, a)``; 1 where ``a >= s``.

    By the stable recursion of Erlang's loss formula, ``1/B(j) = 1 + j/(a B(j-1))``, ``B(0) = 1``, and
    ``C = s B / (s - a (1 - B))`` (Cooper, Introduction to Queueing Theory, 1981).

    >>> round(erlang_c(1, 0.5), 12)
    0.5
    >>> round(erlang_c(2, 1.0), 12)
    0.333333333333
    """
    if load <= 0:
        return 0.0
    if load >= servers:
        return 1.0
    inverse = 1.0
    for j in range(1, servers + 1):
        inverse = 1.0 + j / load * inverse
        if inverse > 1e250:  # nobody waits
            return 0.0
    blocked = 1.0 / inverse
    return servers * blocked / (servers - load * (1 - blocked))


def wait_s(servers: int, load: float, rate: float, variability: float, percentile: float) -> float:
    """Percentile of the queue wait in seconds: ``P(W > t) = C exp(-(s-a) t / (S v))``, ``S = a / rate``.

    Args:
        servers: parallel servers ``s``.
        load: offered load ``a``.
        rate: arrivals per second, so that the mean service is ``a / rate``.
        variability: ``v = (ca^2 + cs^2) / 2``.
        percentile: e.g. 0.95.

    >>> round(wait_s(1, 0.5, 1.0, 1.0, 0.95), 6)  # M/M/1: ln(0.5 / 0.05) * 0.5 / 0.5
    2.302585
    """
    if load >= servers:
        return math.inf
    waiting = erlang_c(servers, load)
    if waiting <= 1 - percentile:
        return 0.0
    return math.log(waiting / (1 - percentile)) * (load / rate) * variability / (servers - load)


def admissible_load(
    servers: int, rate: float, variability: float, percentile: float, max_utilization: float, budget_s: float
) -> float:
    """Largest offered load whose wait percentile is within ``budget_s``; -1 where even an idle queue is too slow.

    The wait rises with the load, so bisection finds it, to 1e-11 of the servers. Secant steps inside the bracket
    speed it up; the returned load always meets the budget.
    """
    if budget_s < 0:
        return -1.0

    def over(load: float) -> float:
        return wait_s(servers, load, rate, variability, percentile) - budget_s

    low, high = 0.0, max_utilization * servers
    f_low, f_high = -budget_s, over(high)
    if f_high <= 0:
        return high
    nudge = 1e-11 * servers
    side = 0
    while high - low > 2 * nudge:
        middle = (low + high) / 2
        if side and f_low < 0:  # regula falsi (Illinois), nudged so that the bracket closes from both sides
            middle = low - f_low * (high - low) / (f_high - f_low) + nudge * (1 if side > 0 else -1)
            middle = min(max(middle, low + nudge), high - nudge)
        f_middle = over(middle)
        if f_middle <= 0:
            low, f_low = middle, f_middle
            f_high *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, f_high = middle, f_middle
            f_low *= 0.5 if side < 0 else 1.0
            side = -1
    return low


def service_cv2(
    shares: Sequence[float], miss_s: Sequence[float], hit_s: Sequence[float], cvs: Sequence[float]
) -> float:
    """Largest squared coefficient of variation of the service time over hit rates 0, 0.01 … 1.

    A class's second moment is multiplied by ``1 + cv^2`` (its prompt lengths vary). Taking the largest over the hit
    rate makes the queue conservative and independent of the decision.
    """
    mean0 = sum(p * s for p, s in zip(shares, miss_s, strict=True))
    mean1 = sum(p * s for p, s in zip(shares, hit_s, strict=True))
    sq0 = sum(p * (1 + c * c) * s * s for p, s, c in zip(shares, miss_s, cvs, strict=True))
    sq1 = sum(p * (1 + c * c) * s * s for p, s, c in zip(shares, hit_s, cvs, strict=True))
    slope = mean1 - mean0  # the ratio has one peak in h: only its neighbours on the grid and the ends can be largest
    peak = 0.0
    if slope and sq1 != sq0:
        peak = 100 * ((sq1 - sq0) * mean0 - 2 * slope * sq0) / ((sq1 - sq0) * slope)
    near = min(max(math.floor(peak), 0), 99) if math.isfinite(peak) else 0
    worst = 0.0
    for h in (0.0, near / 100, (near + 1) / 100, 1.0):
        mean = mean0 + h * (mean1 - mean0)
        if mean > 0:
            worst = max(worst, (sq0 + h * (sq1 - sq0)) / (mean * mean) - 1)
    return worst
