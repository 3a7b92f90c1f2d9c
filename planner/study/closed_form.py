"""Where rent equals the GPU time that hits save: in closed form for a power law, by search on any curve.

One tier, no other limit (MODEL.md section 12): ``cost(K) = r max(0, K - included) - 3600 lambda v h(K + beside)``.
Capacities in bytes, ``v`` in dollars per hit, ``r`` in dollars per byte-hour, ``lambda`` in requests per second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.physics.reuse import Law, PowerLaw

HOUR_S = 3600.0
BETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
GRID = 600
Picture = tuple[tuple[float, float], ...]  # beta and capacity in bytes


@dataclass(frozen=True)
class PowerFit:
    """A power law through a curve: itself where the law is one, else least squares on h."""

    law: PowerLaw
    worst_error: float  # largest absolute error in hit rate


@dataclass(frozen=True)
class Trade:
    """What a hit is worth against what a byte costs, for one tier and one cache partition."""

    rate: float  # requests per second
    usd_per_hit: float
    usd_per_byte_hour: float
    included: float = 0.0  # bytes that come with the nodes
    beside: float = 0.0  # bytes of HBM whose content the tier does not repeat (exclusive hierarchy)

    @property
    def usd_per_hour_of_hits(self) -> float:
        """``3600 lambda v``: dollars per hour if every request hit."""
        return HOUR_S * self.rate * self.usd_per_hit

    def net_usd_per_hour(self, law: Law, capacity: float) -> float:
        """Rent less what the hits save; negative where the capacity pays."""
        rent = self.usd_per_byte_hour * max(0.0, capacity - self.included)
        return rent - self.usd_per_hour_of_hits * law.hit_rate(capacity + self.beside)


def closed_form(law: PowerLaw, rate: float, usd_per_hit: float, usd_per_byte_hour: float) -> float:
    """``K* = (3600 lambda v h beta / (r at^beta))^(1/(1-beta))`` in bytes, uncapped.

    >>> law = PowerLaw(beta=0.5, hit_rate_at=0.4, at=4e12, ceiling=1.0)
    >>> k = closed_form(law, rate=10.0, usd_per_hit=1e-3, usd_per_byte_hour=1e-12)
    >>> round(36 * law.slope(k) / 1e-12, 9)
    1.0
    """
    log_ratio = math.log(HOUR_S * rate * usd_per_hit * law.hit_rate_at * law.beta / usd_per_byte_hour)
    exponent = (log_ratio - law.beta * math.log(law.at)) / (1 - law.beta)
    return math.exp(min(exponent, 700.0))


def elasticity(law: PowerLaw, rate: float, usd_per_hit: float, usd_per_byte_hour: float) -> float:
    """``d ln K* / d beta``; it grows like ``1/(1-beta)^2``."""
    rest = 1 - law.beta
    log_k = math.log(closed_form(law, rate, usd_per_hit, usd_per_byte_hour))
    return (1 / law.beta - math.log(law.at) + log_k) / rest


def explosion(law: PowerLaw, rate: float, usd_per_hit: float, usd_per_byte_hour: float) -> Picture:
    """The closed form, uncapped, of laws through the same point ``(at, hit_rate)`` as beta nears 1; its own too."""
    betas = sorted({*(b for b in BETAS if abs(b - law.beta) > 1e-9), law.beta})
    laws = (PowerLaw(beta, law.hit_rate_at, law.at, 1.0) for beta in betas)
    return tuple((one.beta, closed_form(one, rate, usd_per_hit, usd_per_byte_hour)) for one in laws)


def optimum(law: Law, trade: Trade, limit: float = math.inf) -> float:
    """The capacity up to ``limit`` with the least net cost on the curve as it is, in bytes.

    Beyond ``included + 3600 lambda v top / r`` the rent exceeds what all hits save. A grid in log K and the curve's
    knots find the valley (a curve may have several), then it is narrowed down.
    """

    def net(k: float) -> float:
        return trade.net_usd_per_hour(law, k)

    most = min(limit, trade.included + trade.usd_per_hour_of_hits * law.top / trade.usd_per_byte_hour)
    if most <= 0:
        return 0.0
    grid = [most * 10 ** (-9 * (1 - i / GRID)) for i in range(GRID + 1)]
    turns = (trade.included, *(k - trade.beside for k in law.knots()))
    points = sorted({0.0, *grid, *(k for k in turns if 0 < k <= most)})
    best = min(range(len(points)), key=lambda i: net(points[i]))
    low, high = points[max(0, best - 1)], points[min(len(points) - 1, best + 1)]
    inside = _golden(net, low, high)
    return min((points[best], inside), key=net)


def _golden(net: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search of the lowest point between two bounds."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = low, high
    for _ in range(90):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        a, b = (a, d) if net(c) <= net(d) else (c, b)
    return (a + b) / 2


def power_fit(law: Law) -> PowerFit:
    """The power law nearest to a curve in hit rate, over the capacities at which the curve still climbs."""
    if isinstance(law, PowerLaw):
        return PowerFit(law, 0.0)
    high = law.capacity_for(0.98 * law.top)
    ks = [high * (i / 120) for i in range(1, 121)]
    hs = [law.hit_rate(k) for k in ks]
    best: tuple[float, float, float] | None = None
    for step in range(2, 99):
        beta = step / 100
        basis = [(k / high) ** beta for k in ks]
        scale = sum(b * h for b, h in zip(basis, hs, strict=True)) / sum(b * b for b in basis)
        error = sum((scale * b - h) ** 2 for b, h in zip(basis, hs, strict=True))
        if best is None or error < best[0]:
            best = (error, beta, scale)
    assert best is not None
    fitted = PowerLaw(best[1], best[2], high, law.top)
    return PowerFit(fitted, max(abs(fitted.hit_rate(k) - h) for k, h in zip(ks, hs, strict=True)))
