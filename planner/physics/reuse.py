"""The hit-rate law: the probability that a reusable prefix is resident, against cache capacity (MODEL.md section 5).

Three forms behind one interface. Capacities are bytes of KV shared by the whole service; hit rates lie in [0, 1].
A law is immutable; ``at_load`` and ``split`` return the law of another load or of a split cache.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol


@dataclass(frozen=True)
class Region:
    """A stretch ``[lo, hi]`` of capacity (bytes) on which a law is concave, or else convex."""

    lo: float
    hi: float
    concave: bool


class Law(Protocol):
    """One reuse law; every method is a pure function of capacity in bytes."""

    @property
    def base(self) -> float:
        """Hit rate of the smallest cache (the hot set that any cache holds)."""

    @property
    def top(self) -> float:
        """Hit rate that no capacity exceeds: first touches always miss."""

    def hit_rate(self, capacity: float) -> float:
        """``h(K)``, 0 at K <= 0."""

    def slope(self, capacity: float) -> float:
        """``dh/dK`` in 1/byte, from the right."""

    def capacity_for(self, hit_rate: float) -> float:
        """The smallest K in bytes with ``h(K) >= hit_rate``; ``inf`` above the ceiling."""

    def at_load(self, factor: float) -> Law:
        """The law at ``factor`` times the observed load: ``h(K / factor)``."""

    def split(self, instances: float) -> Law:
        """The law of the same total capacity split over ``instances`` randomly routed caches."""

    def regions(self, k_max: float) -> tuple[Region, ...]:
        """Maximal concave and convex stretches of ``[0, k_max]``, in order."""

    def knots(self) -> tuple[float, ...]:
        """Capacities at which the slope jumps."""


def distinct_shares(instances: float, floor: float, ceiling: float) -> float:
    """How many of ``n`` randomly routed caches hold distinct content: ``D = n - (n - 1) z`` (MODEL.md section 6).

    ``z = (ceiling - floor) / (1 - floor)``: a block is seen about ``1/(1-z)`` times, so ``n/D`` copies of it exist.

    >>> round(distinct_shares(4, 0.0, 0.8), 12)
    1.6
    """
    z = (ceiling - floor) / (1 - floor) if floor < 1 else 1.0
    return instances - (instances - 1) * z


def power(base: float, exponent: float) -> float:
    """``base ** exponent`` for ``base >= 0``, infinite where that is more than a float can hold.

    >>> power(2.0, 3), power(1e10, 1e9), power(0.0, -2.0)
    (8.0, inf, inf)
    """
    try:
        return float(base**exponent)
    except (OverflowError, ZeroDivisionError):
        return math.inf


@dataclass(frozen=True)
class PowerLaw:
    """``h(K) = min(ceiling, hit_rate_at * (K / at)^beta)``, ``0 < beta < 1``; concave.

    >>> law = PowerLaw(beta=0.5, hit_rate_at=0.4, at=4e12, ceiling=0.8)
    >>> law.hit_rate(1e12), law.hit_rate(1e15)
    (0.2, 0.8)
    >>> law.capacity_for(0.4) == 4e12
    True
    """

    beta: float
    hit_rate_at: float
    at: float
    ceiling: float

    @property
    def base(self) -> float:
        """0: a power law has no hot floor."""
        return 0.0

    @property
    def top(self) -> float:
        """The ceiling."""
        return self.ceiling

    def hit_rate(self, capacity: float) -> float:
        """See :class:`Law`."""
        if capacity <= 0:
            return 0.0
        return min(self.ceiling, self.hit_rate_at * power(capacity / self.at, self.beta))

    def slope(self, capacity: float) -> float:
        """``beta h / K`` below the ceiling, 0 above it."""
        if capacity >= self.capacity_for(self.ceiling):
            return 0.0
        return self.beta * self.hit_rate(capacity) / capacity if capacity > 0 else math.inf

    def capacity_for(self, hit_rate: float) -> float:
        """``at * (hit_rate / hit_rate_at)^(1/beta)``."""
        if hit_rate <= 0:
            return 0.0
        if hit_rate > self.ceiling:
            return math.inf
        return self.at * power(hit_rate / self.hit_rate_at, 1 / self.beta)

    def at_load(self, factor: float) -> PowerLaw:
        """See :class:`Law`."""
        return self if factor == 1 else replace(self, at=self.at * factor)

    def split(self, instances: float) -> PowerLaw:
        """``h(K D/n) / D``: both the curve and its ceiling fall."""
        if instances == 1:
            return self
        d = distinct_shares(instances, 0.0, self.ceiling)
        return replace(self, hit_rate_at=self.hit_rate_at / d, at=self.at * instances / d, ceiling=self.ceiling / d)

    def regions(self, k_max: float) -> tuple[Region, ...]:
        """One concave stretch."""
        return (Region(0.0, k_max, True),)

    def knots(self) -> tuple[float, ...]:
        """Where the power law meets its ceiling."""
        return (self.capacity_for(self.ceiling),)


@dataclass(frozen=True)
class HillLaw:
    """``h(K) = floor + (ceiling - floor) u / (1 + u)``, ``u = (K / half)^steepness``; 0 at K = 0.

    S-shaped when ``steepness > 1``: convex up to ``u = (steepness - 1) / (steepness + 1)``, concave beyond.

    >>> round(HillLaw(floor=0.1, ceiling=0.5, half=1e12, steepness=2).hit_rate(1e12), 12)
    0.3
    """

    floor: float
    ceiling: float
    half: float
    steepness: float

    @property
    def base(self) -> float:
        """The floor."""
        return self.floor

    @property
    def top(self) -> float:
        """The ceiling (approached, never met)."""
        return self.ceiling

    def hit_rate(self, capacity: float) -> float:
        """See :class:`Law`."""
        if capacity <= 0:
            return 0.0
        v = power(capacity / self.half, -self.steepness)
        return self.floor + (self.ceiling - self.floor) / (1 + v)

    def slope(self, capacity: float) -> float:
        """``(ceiling - floor) s u / (K (1+u)^2)``."""
        if capacity <= 0:
            limit = {True: math.inf, False: 0.0}[self.steepness < 1]
            return (self.ceiling - self.floor) / self.half if self.steepness == 1 else limit
        u = power(capacity / self.half, self.steepness)
        if u == 0:
            return 0.0
        return (self.ceiling - self.floor) * self.steepness / (capacity * (1 + u) * (1 + 1 / u))

    def capacity_for(self, hit_rate: float) -> float:
        """``half * ((h - floor) / (ceiling - h))^(1/steepness)``; one byte gives the floor, as h(0) = 0."""
        if hit_rate <= 0:
            return 0.0
        if hit_rate >= self.ceiling:
            return math.inf
        u = max(hit_rate - self.floor, 0.0) / (self.ceiling - hit_rate)
        return max(1.0, self.half * power(u, 1 / self.steepness))

    def at_load(self, factor: float) -> HillLaw:
        """See :class:`Law`."""
        return self if factor == 1 else replace(self, half=self.half * factor)

    def split(self, instances: float) -> HillLaw:
        """``floor + (h(K D/n) - floor) / D``."""
        if instances == 1:
            return self
        d = distinct_shares(instances, self.floor, self.ceiling)
        top = self.floor + (self.ceiling - self.floor) / d
        return replace(self, ceiling=top, half=self.half * instances / d)

    def regions(self, k_max: float) -> tuple[Region, ...]:
        """A convex stretch up to the inflection where ``steepness > 1``, then a concave one."""
        if self.steepness <= 1:
            return (Region(0.0, k_max, True),)
        bend = self.half * power((self.steepness - 1) / (self.steepness + 1), 1 / self.steepness)
        if bend >= k_max:
            return (Region(0.0, k_max, False),)
        return (Region(0.0, bend, False), Region(bend, k_max, True))

    def knots(self) -> tuple[float, ...]:
        """None: smooth."""
        return ()


@dataclass(frozen=True)
class MeasuredLaw:
    """Points ``(K, h)`` joined by straight lines from the origin, flat after the last: what a trace gives.

    >>> law = MeasuredLaw(((1e12, 0.2), (3e12, 0.3)))
    >>> law.hit_rate(5e11), round(law.hit_rate(2e12), 12), law.hit_rate(9e12)
    (0.1, 0.25, 0.3)
    """

    points: tuple[tuple[float, float], ...]

    @property
    def base(self) -> float:
        """0: the curve starts at the origin."""
        return 0.0

    @property
    def top(self) -> float:
        """The last point."""
        return self.points[-1][1]

    @cached_property
    def _xs(self) -> tuple[float, ...]:
        return (0.0, *(k for k, _ in self.points))

    @cached_property
    def _ys(self) -> tuple[float, ...]:
        return (0.0, *(h for _, h in self.points))

    def hit_rate(self, capacity: float) -> float:
        """See :class:`Law`."""
        xs, ys = self._xs, self._ys
        if capacity <= 0:
            return 0.0
        i = bisect_right(xs, capacity)
        if i >= len(xs):
            return ys[-1]
        return ys[i - 1] + (ys[i] - ys[i - 1]) * (capacity - xs[i - 1]) / (xs[i] - xs[i - 1])

    def slope(self, capacity: float) -> float:
        """Slope of the segment to the right of ``capacity``."""
        xs, ys = self._xs, self._ys
        i = bisect_right(xs, max(capacity, 0.0))
        return 0.0 if i >= len(xs) else (ys[i] - ys[i - 1]) / (xs[i] - xs[i - 1])

    def capacity_for(self, hit_rate: float) -> float:
        """Linear interpolation of the inverse."""
        xs, ys = self._xs, self._ys
        if hit_rate <= 0:
            return 0.0
        i = bisect_left(ys, hit_rate)
        if i >= len(ys):
            return math.inf
        return xs[i - 1] + (xs[i] - xs[i - 1]) * (hit_rate - ys[i - 1]) / (ys[i] - ys[i - 1])

    def at_load(self, factor: float) -> MeasuredLaw:
        """See :class:`Law`."""
        return self if factor == 1 else MeasuredLaw(tuple((k * factor, h) for k, h in self.points))

    def split(self, instances: float) -> MeasuredLaw:
        """``h(K D/n) / D``."""
        if instances == 1:
            return self
        d = distinct_shares(instances, 0.0, self.top)
        return MeasuredLaw(tuple((k * instances / d, h / d) for k, h in self.points))

    def regions(self, k_max: float) -> tuple[Region, ...]:
        """Runs of segments whose slopes do not rise: each is concave, and together they are exact."""
        xs, ys = self._xs, self._ys
        out: list[Region] = []
        start = 0
        slopes = [(ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]) for i in range(len(xs) - 1)]
        for i in range(1, len(slopes)):
            if slopes[i] > slopes[i - 1] * (1 + 1e-12) and xs[i] < k_max:
                out.append(Region(xs[start], xs[i], True))
                start = i
        out.append(Region(xs[start], max(k_max, xs[start]), True))
        return tuple(out)

    def knots(self) -> tuple[float, ...]:
        """Every measured capacity."""
        return self._xs[1:]
