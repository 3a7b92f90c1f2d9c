"""Candidates scaled for the solver: capacities near one unit, rows divided by the flow they limit.

HiGHS drops coefficients below 1e-9 and has returned wrong answers on rows left in bytes per second, so nothing leaves
this module outside 1e-4 … 1e5 (see ``row_scale`` and ``capacity_unit``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from planner.designs import Candidates, Design, RoleSet
from planner.physics.reuse import Law
from planner.physics.system import System

FLAT = 1e-8  # slopes per capacity unit below it are taken as zero
TINY = 1e-4  # coefficients below it are rounded to the side that keeps the bound a bound


@dataclass
class Segment:
    """One linear piece of a law: concave ones carry tangents, convex ones their chord. In units of capacity."""

    lo: float
    hi: float
    concave: bool
    cuts: list[tuple[float, float]] = field(default_factory=list)  # (a, b): G <= a * on + b * K


class ModelData:
    """Everything the rules read, by the names of MODEL.md; capacities in ``unit`` bytes, money in ``usd_unit`` $/h."""

    def __init__(self, candidates: Candidates, usd_scale: float) -> None:
        """Scale ``candidates``; ``usd_scale`` is a cost near the optimum, so that the objective is near 100."""
        self.candidates = candidates
        self.system: System = candidates.system
        self.usd_unit = max(usd_scale, 1e-9) / 100.0
        self.designs = candidates.designs
        self.decodes = candidates.decodes
        self.tiers = tuple(sorted({t for r in self.roles for t in r.used}))  # tiers that some design uses
        self.levels = (0, *(t + 1 for t in self.tiers))
        self.parts = range(len(self.system.laws))
        self.inclusive = self.system.inclusive
        self.unit = self._capacity_unit()
        self.segments: dict[tuple[int, int], list[Segment]] = {}
        for j in self.parts:
            for g, laws in enumerate(self.groups):
                self.segments[j, g] = self._first_segments(laws[j], j, g)

    @cached_property
    def groups(self) -> tuple[tuple[Law, ...], ...]:
        """Distinct laws over designs: one group, or one per instance count where routing splits the cache."""
        return tuple(dict.fromkeys(d.prefill.laws for d in self.designs))

    @cached_property
    def group_of(self) -> tuple[int, ...]:
        """Law group per design."""
        where = {laws: g for g, laws in enumerate(self.groups)}
        return tuple(where[d.prefill.laws] for d in self.designs)

    @cached_property
    def roles(self) -> tuple[RoleSet, ...]:
        """Role set per design."""
        return tuple(d.roles for d in self.designs)

    @cached_property
    def flow_share(self) -> tuple[float, ...]:
        """A partition's share of the KV that hits would read; rows on bandwidth are divided by the total."""
        total = sum(self.system.reuse_bytes_per_s)
        return tuple(r / total for r in self.system.reuse_bytes_per_s) if total > 0 else (0.0,) * len(self.parts)

    @cached_property
    def stage_units(self) -> tuple[float, ...]:
        """Staging per unit of prefetched hits and partition: ``lambda P kappa * coverage / precision * lead``."""
        s = self.system
        units = (r * s.coverage / s.precision * s.lead_s / self.unit for r in s.reuse_bytes_per_s)
        return tuple(u if u >= TINY else 0.0 for u in units)  # less staging than true: the bound stays a bound

    @cached_property
    def fresh(self) -> float:
        """KV of all prompts relative to the KV that hits would read: what misses write."""
        total = sum(self.system.reuse_bytes_per_s)
        return self.system.prompt_bytes_per_s / total if total > 0 else 1.0

    def gpu_cost(self, billed_gpus: float) -> float:
        """GPU cost in objective units."""
        return billed_gpus * self.system.gpu_usd_per_hour / self.usd_unit

    def rent(self, t: int) -> float:
        """Rent of one capacity unit in objective units."""
        return self.system.tiers[t].usd_per_byte_hour * self.unit / self.usd_unit

    def supply(self, t: int, q: int) -> float:
        """Capacity that design ``q``'s nodes can hold of tier ``t``."""
        return self.system.tiers[t].max_per_node * self.designs[q].prefill.nodes / self.unit

    def need(self, q: int, row: int) -> float:
        """Hits that load row ``row`` of design ``q`` needs; none where the solver would drop so small a need."""
        need = self.designs[q].rows[row].need
        return need if need >= TINY else 0.0

    def hbm_hits(self, q: int) -> float:
        """Hits of design ``q``'s free HBM (one partition), rounded up where the solver would drop them."""
        option = self.designs[q].prefill
        hits = option.laws[0].hit_rate(option.hbm_bytes)
        return max(hits, TINY) if hits > 0 else 0.0

    def hbm(self, q: int) -> float:
        """Free HBM of design ``q``; if tiny, rounded to the side that keeps the bound a bound."""
        free = self.designs[q].prefill.hbm_bytes / self.unit
        if 0 < free < TINY:  # inclusion asks tiers to hold as much; an exclusive tier counts it as its own
            return 0.0 if self.inclusive and len(self.parts) == 1 else TINY
        return free

    def read_supply(self, t: int, q: int) -> float:
        """Hits per second that the nodes of ``q`` can read from tier ``t``, relative to all reusable KV."""
        s = self.system
        total = sum(s.reuse_bytes_per_s)
        if total <= 0:
            return self.read_demand
        have = s.read_utilization * s.tiers[t].read_per_node * self.designs[q].prefill.nodes / total
        return min(have, self.read_demand)

    @cached_property
    def read_demand(self) -> float:
        """More than any plan can ask of a tier, in units of all reusable KV: beyond it a supply is not a limit."""
        s = self.system
        return max(1.0, s.coverage / s.precision) + s.coverage * len(self.system.tiers)

    def largest(self, level: int, group: int) -> float:
        """Largest capacity that level ``level`` can hold in designs of ``group``."""
        best = 0.0
        for q, g in enumerate(self.group_of):
            if g == group:
                own = [self.supply(t, q) for t in self.roles[q].used if t < level]
                if level == 0 or not self.inclusive:
                    best = max(best, self.hbm(q) + sum(own))
                elif level - 1 in self.roles[q].used:
                    best = max(best, self.supply(level - 1, q))
        return best

    def group_limit(self, group: int) -> float:
        """Largest capacity of any level in designs of ``group``."""
        return max(*(self.largest(level, group) for level in self.levels), 1e-6)

    def _capacity_unit(self) -> float:
        """A power of ten near the capacity at which the laws are half-way up: coefficients near one."""
        halves = [law.capacity_for(law.top / 2) for law in self.system.laws]
        return 10.0 ** round(math.log10(max(halves)))

    def _first_segments(self, law: Law, j: int, g: int) -> list[Segment]:
        limit = self.group_limit(g)
        out = []
        for region in law.regions(limit * self.unit):
            segment = Segment(region.lo / self.unit, region.hi / self.unit, region.concave)
            if region.concave:
                for k in self._first_points(law, j, g, segment):
                    self.add_tangent(law, segment, k)
            else:
                self.set_chord(law, segment)
            out.append(segment)
        return out

    def _first_points(self, law: Law, j: int, g: int, segment: Segment) -> list[float]:
        """Tangent points: knots, capacities at which designs meet their need, and a geometric spread."""
        points = [k / self.unit for k in law.knots()]
        if len(self.parts) == 1:
            needs = {round(d.need, 3): d.need for q, d in enumerate(self.designs) if self.group_of[q] == g}
            points += [law.capacity_for(min(n, law.top * 0.999)) / self.unit for n in list(needs.values())[:12]]
        points += [law.capacity_for(law.top * f) / self.unit for f in (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)]
        points += [segment.lo, segment.hi]
        return sorted({k for k in points if segment.lo <= k <= segment.hi and math.isfinite(k)})

    def add_tangent(self, law: Law, segment: Segment, k: float) -> bool:
        """Add the tangent at ``k``: it over-estimates a concave law everywhere, so the bound stays a bound."""
        width = segment.hi - segment.lo  # at an end, rounding must not pick the slope of the neighbouring stretch
        k = min(max(k, segment.lo + 1e-9 * width), segment.hi - 1e-9 * width)
        slope = law.slope(k * self.unit) * self.unit
        value = law.hit_rate(k * self.unit)
        if slope > 1e4 or not math.isfinite(slope):
            return False
        cut = (value - slope * k, slope)
        if slope < FLAT:  # too flat even for a scaled row: its largest value instead, still above the law
            cut = (value + slope * (segment.hi - k), 0.0)
        cut = (_intercept(cut[0]), cut[1])
        if any(abs(a - cut[0]) < 1e-9 and abs(b - cut[1]) < 1e-9 * b for a, b in segment.cuts):
            return False
        segment.cuts.append(cut)
        return True

    def set_chord(self, law: Law, segment: Segment) -> None:
        """The chord of a convex stretch lies above it."""
        low = law.hit_rate(segment.lo * self.unit) if segment.lo > 0 else law.base
        high = law.hit_rate(segment.hi * self.unit)
        slope = (high - low) / (segment.hi - segment.lo)
        if slope < FLAT:
            segment.cuts = [(high, 0.0)]
        else:
            segment.cuts = [(_intercept(low - slope * segment.lo), slope)]

    def below(self, t: int) -> int:
        """The next faster level that the model has."""
        return max(level for level in self.levels if level <= t)

    def pieces(self, j: int) -> list[tuple[int, int]]:
        """(law group, segment) pairs of partition ``j``."""
        return [(g, s) for g in range(len(self.groups)) for s in range(len(self.segments[j, g]))]

    @cached_property
    def stage_pairs(self) -> tuple[tuple[int, int], ...]:
        """(prefetch tier, the tier it is staged in) that some design has."""
        pairs = {(t, r.staged_in(t)) for r in self.roles for t in r.used if r.roles[t] == "prefetch"}
        return tuple(sorted((t, s) for t, s in pairs if s is not None))

    @cached_property
    def law_levels(self) -> tuple[int, ...]:
        """Levels whose hits need the law's pieces: HBM only where partitions share it."""
        return self.levels if len(self.parts) > 1 else self.levels[1:]

    def group_on(self, m: Any, g: int) -> Any:
        """1 where the chosen design has the law of group ``g``."""
        return 1.0 if len(self.groups) == 1 else sum(m.use[q] for q in m.DESIGN if self.group_of[q] == g)

    def piece_on(self, m: Any, level: int, j: int, g: int, s: int) -> Any:
        """1 where segment ``s`` of group ``g`` is in use at ``level``."""
        return self.group_on(m, g) if len(self.segments[j, g]) == 1 else m.piece[level, j, g, s]

    def staging(self, m: Any, t: int, j: int) -> Any:
        """Capacity of tier ``t`` that holds prefetched KV of partition ``j``."""
        return sum(self.stage_units[j] * m.prefetch_hits[a, s, j] for a, s in self.stage_pairs if s == t)

    def held(self, m: Any, level: int, j: int) -> Any:
        """``K``: HBM's part at level 0; then a tier's capacity net of staging, with all faster ones' if exclusive."""
        if level == 0:
            return m.hbm[j] if len(self.parts) > 1 else sum(self.hbm(q) * m.use[q] for q in m.DESIGN)
        tiers = [level - 1] if self.inclusive else [t for t in self.tiers if t < level]
        net = sum(m.capacity[t, j] - self.staging(m, t, j) for t in tiers)
        return net if self.inclusive else net + self.held(m, 0, j)

    def fresh_written(self, m: Any) -> Any:
        """Fresh KV relative to the KV of all prompts: ``1 - sum_j share_j e_j``."""
        return 1.0 - sum(self.flow_share[j] / self.fresh * m.effective[j] for j in self.parts)

    def design_label(self, q: int) -> str:
        """Readable name of design ``q``."""
        return design_label(self.designs[q], self.system)


def _intercept(a: float) -> float:
    """A cut's intercept without coefficients that the solver would drop: raised, so the cut stays above the law."""
    if abs(a) < 1e-9:
        return 0.0
    return a if abs(a) >= TINY else (TINY if a > 0 else 0.0)


def design_label(design: Design, system: System) -> str:
    """Readable name, e.g. ``3 x tp8, dram sync``."""
    option = design.prefill
    batch = "" if option.batch is None else f" b{option.batch}"
    return f"{option.instances}x {option.config.name}{batch}, {design.roles.label(system.tiers)}"
