"""The least rent of a design with one cache and two tiers, by bounding over the hits that each tier adds.

Fast tier ``f`` and slow ``s``. Fixed are the hits needed and HBM's own ``H0``; free are the effective hits
``e`` and the fast tier's cumulative hits ``H``. Where both are synchronous ``e`` is the slow tier's hits, and ``H`` as
small as its bandwidth allows; where the slow one prefetches, ``x = (e - H) / coverage`` are its own. Every capacity
either rises or falls in ``e`` and in ``H``, so the ends of a box bound the rent on all of it. Splits in which the slow
tier serves nothing belong to the design without it.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

from planner.designs import Design
from planner.physics import cost
from planner.physics.system import System

BOXES = 600
STEPS = 24  # sizes of a stepped tier that are worth trying one by one
DAY_S = 86400.0
TOP = 1 - 1e-9  # of a law's ceiling, which may need infinite capacity
INSIDE = 1 - 1e-9  # of a bandwidth

Box = tuple[float, float, float, float]  # H from, H to, e from, e to


@dataclass(frozen=True)
class Split:
    """Cumulative hits of both tiers and the fast one's capacity at the least rent, and a bound below any rent."""

    hits: tuple[float, float]
    fast_bytes: float
    bound_usd: float


def least_split(system: System, design: Design, tolerance_usd: float) -> Split | None:
    """The split of hits between two tiers in use at the least rent, None where no split is possible."""
    problem = _Problem(system, design)
    low, high = problem.range
    if low > high:
        return None
    first: Box = (problem.free, high, low, high) if problem.prefetch else (0.0, 0.0, low, high)
    heap = [(problem.bound(first), first)]
    best, least, fast_bytes = math.inf, (0.0, 0.0), 0.0
    for _ in range(BOXES):
        bound, box = heap[0]
        if not math.isfinite(bound) or bound >= best - tolerance_usd:
            break
        heapq.heappop(heap)
        for part in _halves(box, problem.worn):
            usd, size, hits = problem.inside(part)
            if usd < best:
                best, fast_bytes, least = usd, size, hits
            if (below := problem.bound(part)) < best:
                heapq.heappush(heap, (below, part))
        if not heap:
            heap = [(best, box)]
    return Split(least, fast_bytes, min(best, heap[0][0])) if math.isfinite(best) else None


def _halves(box: Box, worn: bool) -> tuple[Box, ...]:
    """Split the longer side; without wear the fewest hits are the cheapest, so ``e`` shrinks to its low end."""
    a, b, u, v = box
    if not worn:
        v = u
    if b - a >= v - u:
        m = (a + b) / 2
        return ((a, m, u, v), (m, b, u, v))
    m = (u + v) / 2
    return ((a, b, u, m), (a, b, m, v))


class _Problem:
    """Numbers of one design."""

    def __init__(self, system: System, design: Design) -> None:
        self.system, self.option = system, design.prefill
        self.fast, self.slow = design.roles.used
        self.prefetch = design.roles.roles[self.slow] == "prefetch"
        self.law = design.prefill.laws[0]
        self.free = self.law.hit_rate(design.prefill.hbm_bytes)
        self.flow = system.reuse_bytes_per_s[0]
        self.worn = any(system.tiers[t].dwpd for t in design.roles.used)
        self.staging = self.flow * system.coverage / system.precision * system.lead_s
        self.range = self._range(design)

    def _range(self, design: Design) -> tuple[float, float]:
        """Effective hits: enough for the load and for the tiers' writes, no more than can be read."""
        low = max(design.need, self.free)
        for t in design.roles.used:
            writes = self.system.tiers[t].write_per_node
            if writes is not None and self.flow > 0:
                low = max(low, (self.system.prompt_bytes_per_s - writes * self.option.nodes) / self.flow)
        read = self._readable(self.fast)  # a prefetched hit is read again from the fast tier
        if not self.prefetch:
            read += self._readable(self.slow)
        return low, min(self.law.top * TOP, self.free + read)

    def _readable(self, t: int) -> float:
        supply = self.system.read_utilization * self.system.tiers[t].read_per_node * self.option.nodes
        return supply * INSIDE / self.flow if self.flow > 0 else math.inf

    def bound(self, box: Box) -> float:
        """No split within ``box`` has less rent."""
        return self._least(box)[0]

    def _least(self, box: Box) -> tuple[float, float]:
        """Rent at the cheapest corner of ``box`` for every capacity, and the fast tier's capacity there."""
        a, b, u, v = box
        if not self.prefetch:
            return self._rent(self._held(u - self._readable(self.slow)), self._held(u), 0.0, v)
        x = max(0.0, (u - b) / self.system.coverage)
        if x * self.system.coverage / self.system.precision > self._readable(self.slow):
            return math.inf, 0.0
        return self._rent(self._held(a), self._held(b + x if u > b else max(u, a)), self.staging * x, v)

    def inside(self, box: Box) -> tuple[float, float, tuple[float, float]]:
        """The rent at one split within ``box``, the fast tier's capacity, and that split."""
        a, b, u, _ = box
        if not self.prefetch:
            fast = max(self.free, u - self._readable(self.slow))
            return *self._least((0.0, 0.0, u, u)), (fast, u)
        fast = min((a + b) / 2, u)
        return *self._least((fast, fast, u, u)), (fast, fast + max(0.0, u - fast) / self.system.coverage)

    def _held(self, hits: float) -> float:
        """Bytes of cache that give ``hits``; none where HBM does."""
        return 0.0 if hits <= self.free else self.law.capacity_for(hits)

    def _rent(self, fast: float, slow: float, staging: float, hits: float) -> tuple[float, float]:
        """Least rent, and the fast tier's capacity, where caches hold ``fast`` and ``slow`` bytes at ``hits``.

        Inclusive tiers each hold their own; exclusive ones add up with HBM, and the fast one may hold more than its
        hits need: rent is convex in that, so one of its kinks is the cheapest.
        """
        worn = self._worn(self.fast, hits), self._worn(self.slow, hits)
        if not math.isfinite(fast + slow):
            return math.inf, 0.0
        if self.system.inclusive:
            size = max(fast + staging, worn[0])
            return self._usd(self.fast, size) + self._usd(self.slow, max(slow, worn[1])), size
        hbm, nodes = self.option.hbm_bytes, self.option.nodes
        kinks = [hbm + self._included(self.fast) - staging, hbm + worn[0] - staging]
        kinks += [hbm + self.system.tiers[self.fast].max_per_node * nodes - staging]
        kinks += [slow - self._included(self.slow), slow - worn[1]]
        kinks += [hbm + size - staging for size in self._whole(self.fast)]
        kinks += [slow - size for size in self._whole(self.slow)]
        options = []
        for held in (fast, *kinks):
            k = max(fast, hbm, min(held, max(slow, fast, hbm)))
            size = max(k - hbm + staging, worn[0])
            options.append((self._usd(self.fast, size) + self._usd(self.slow, max(slow - k, worn[1])), size))
        return min(options)

    def _whole(self, t: int) -> list[float]:
        """The sizes that a tier bought in steps can have."""
        tier = self.system.tiers[t]
        if not tier.step:
            return []
        return [k * tier.step for k in range(int(tier.max_per_node * self.option.nodes / tier.step + 1e-9) + 1)]

    def _worn(self, t: int, hits: float) -> float:
        """Bytes that take the writes of misses at ``hits``."""
        dwpd = self.system.tiers[t].dwpd
        return (self.system.prompt_bytes_per_s - self.flow * hits) * DAY_S / dwpd if dwpd else 0.0

    def _included(self, t: int) -> float:
        return self.system.tiers[t].included_per_node * self.option.nodes

    def _usd(self, t: int, size: float) -> float:
        """Rent in dollars per hour, infinite above what the nodes hold."""
        tier = self.system.tiers[t]
        if tier.step:
            size = math.ceil(size / tier.step * (1 - 1e-9)) * tier.step
        if size > tier.max_per_node * self.option.nodes * (1 + 1e-9):
            return math.inf
        return cost.rent_usd_per_hour(size, self._included(t), tier.usd_per_byte_hour)
