"""Cheapest capacities where some classes have their own reuse law, hence their own partition of every tier.

With concave laws and the roles fixed the problem is convex: linear but for ``H <= h(K)``, which tangents describe
from above. A cutting-plane loop adds tangents until the law holds to 1e-9. Whether a tier adds hits in a partition
is a yes or no each, all tried.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from .candidates import Prefill
from .capacities import Answer
from .laws import Law, SplitLaw
from .physics import Physics

TB = 1e12
LAW_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Part:
    """One cache partition: its law and the sums over its classes that the rows need."""

    law: SplitLaw
    members: tuple[int, ...]
    gain: float  # service seconds saved per second and unit of hits
    pure_gain: float
    read: float  # bytes per second per unit of hits


def parts_of(p: Physics, c: Prefill, split: int) -> list[Part]:
    """The shared partition (if any class uses it), then one per class with its own law."""
    groups: list[tuple[dict[str, Any], list[int]]] = []
    shared = [i for i, k in enumerate(p.classes) if not k.own_law]
    if shared:
        groups.append((p.doc["workload"]["reuse"], shared))
    groups += [(k.own_law, [i]) for i, k in enumerate(p.classes) if k.own_law]
    out = []
    for spec, members in groups:
        ks = [(i, p.classes[i]) for i in members]
        out.append(
            Part(
                SplitLaw(Law(spec, p.kv_bytes, p.rps), split),
                tuple(members),
                sum(k.rate * (c.miss[i] - c.hit[i]) for i, k in ks),
                sum(k.rate * c.pure_gain[i] for i, k in ks),
                sum(k.rate * k.reusable for _, k in ks) * p.kv_bytes,
            )
        )
    return out


def cheapest_partitions(p: Physics, c: Prefill, roles: tuple[str, ...], limit: float, budget: float) -> Answer | None:
    """Cheapest rent for one candidate and one role assignment, or None."""
    random = c.batch is not None and p.dep["colocated_routing"] == "random"
    parts = parts_of(p, c, c.n if random else 1)
    whole = sum(k.rate * s for k, s in zip(p.classes, c.miss, strict=True)) - limit
    if sum(q.gain * q.law.ceiling for q in parts) < whole - 1e-9:
        return None
    used = [i for i, r in enumerate(roles) if r != "unused"]
    if not all(is_concave(q.law.law) for q in parts):
        raise ValueError("the oracle handles several partitions under concave laws only")
    best: Answer | None = None
    choices = (True,) if p.dep["hierarchy"] == "exclusive" else (True, False)
    for adds in itertools.product(choices, repeat=len(used) * len(parts)):
        pattern = {(t, j): adds[n * len(parts) + j] for n, t in enumerate(used) for j in range(len(parts))}
        if any(not any(pattern[t, j] for j in range(len(parts))) and roles[t] == "prefetch" for t in used):
            continue  # a prefetch tier without hits is an unused one
        found = _Lp(p, c, roles, parts, limit, pattern).solve(min(budget, best.usd if best else math.inf))
        if found is not None and (best is None or found.usd < best.usd):
            best = found
    return best


class _Lp:
    """The linear part, built once, and its loop of tangents."""

    def __init__(
        self,
        p: Physics,
        c: Prefill,
        roles: tuple[str, ...],
        parts: list[Part],
        limit: float,
        adds: dict[tuple[int, int], bool],
    ) -> None:
        self.p, self.c, self.roles, self.parts, self.adds = p, c, roles, parts, adds
        self.used = [i for i, r in enumerate(roles) if r != "unused"]
        self.names: dict[tuple[Any, ...], int] = {}
        self.lp = highspy.Highs()
        for key, value in (
            ("output_flag", False),
            ("log_to_console", False),
            ("threads", 1),
            ("primal_feasibility_tolerance", 1e-10),
            ("dual_feasibility_tolerance", 1e-10),
            ("mip_feasibility_tolerance", 1e-9),
            ("mip_rel_gap", 0.0),
        ):
            self.lp.setOptionValue(key, value)
        pre = p.doc["workload"].get("prefetch") or {"coverage": 0.0, "precision": 1.0, "lead_s": 0.0}
        self.coverage, self.over = pre["coverage"], pre["coverage"] / pre["precision"]
        self.lead = pre["lead_s"]
        self._variables()
        self._rows(limit)

    # -- variables and rows -------------------------------------------------------------------------------------
    def _var(self, key: tuple[Any, ...], top: float = math.inf, cost: float = 0.0) -> None:
        self.lp.addCol(cost, 0.0, top, 0, np.array([], np.int32), np.array([]))
        self.names[key] = len(self.names)

    def _row(self, terms: dict[tuple[Any, ...], float], low: float, high: float) -> None:
        index = np.array([self.names[k] for k in terms], np.int32)
        self.lp.addRow(low, high, len(index), index, np.array(list(terms.values())))

    def _variables(self) -> None:
        for j, q in enumerate(self.parts):
            self._var(("F", j))
            self._var(("H", -1, j), q.law.ceiling)
        for t in self.used:
            spec = self.p.doc["tiers"][t]
            self._var(("rent", t), cost=1.0)
            most = spec["max_gb_per_node"] * 1e9 * self.c.nodes / TB
            self._var(("C", t), most)
            if spec.get("step_gb"):
                self._var(("N", t))
                self.lp.changeColIntegrality(self.names["N", t], highspy.HighsVarType.kInteger)
            for j, q in enumerate(self.parts):
                self._var(("c", t, j))
                self._var(("x", t, j), math.inf if self.adds[t, j] else 0.0)
                self._var(("H", t, j), q.law.ceiling)
                self._var(("K", t, j))

    def _e(self, j: int, weight: float = 1.0) -> dict[tuple[Any, ...], float]:
        """Effective hits of a partition as a linear form."""
        form: dict[tuple[Any, ...], float] = {("H", -1, j): weight}
        for t in self.used:
            form["x", t, j] = weight * (self.coverage if self.roles[t] == "prefetch" else 1.0)
        return form

    def _total(self, weights: list[float]) -> dict[tuple[Any, ...], float]:
        form: dict[tuple[Any, ...], float] = {}
        for j, w in enumerate(weights):
            form |= self._e(j, w)
        return form

    def _rows(self, limit: float) -> None:
        p, c = self.p, self.c
        rates = [k.rate for k in p.classes]
        whole = sum(r * s for r, s in zip(rates, c.miss, strict=True))
        self._row(self._total([q.gain for q in self.parts]), whole - limit, math.inf)
        if math.isfinite(c.pure_limit):
            pure = sum(r * s for r, s in zip(rates, c.pure_miss, strict=True))
            self._row(self._total([q.pure_gain for q in self.parts]), pure - c.pure_limit, math.inf)
        count = len(self.parts)
        self._row({("F", j): 1.0 for j in range(count)}, c.hbm / TB, c.hbm / TB)
        for place, t in enumerate(self.used):
            faster = self.used[place - 1] if place else -1
            slower = self.used[place + 1] if place + 1 < len(self.used) else None
            for j in range(count):
                self._one(t, faster, slower, j)
            self._tier(t, slower)

    def _stage(self, t: int, slower: int | None, j: int) -> float:
        """Bytes (TB) of tier t that staging takes per unit of the slower tier's prefetched hits."""
        if slower is None or self.roles[slower] != "prefetch":
            return 0.0
        return self.parts[j].read * self.over * self.lead / TB

    def _one(self, t: int, faster: int, slower: int | None, j: int) -> None:
        """One tier in one partition: marginal hits, and the capacity that its cumulative hits see."""
        self._row({("H", t, j): 1.0, ("H", faster, j): -1.0, ("x", t, j): -1.0}, 0.0, 0.0)
        net: dict[tuple[Any, ...], float] = {("c", t, j): 1.0}
        stage = self._stage(t, slower, j)
        if slower is not None:
            net["x", slower, j] = -stage
        self._row(net, 0.0, math.inf)
        below: tuple[Any, ...] = ("K", faster, j) if faster >= 0 else ("F", j)
        seen = {("K", t, j): 1.0} | {k: -v for k, v in net.items()}
        if self.p.dep["hierarchy"] == "exclusive":
            self._row(seen | {below: -1.0}, 0.0, 0.0)
            return
        self._row(seen, 0.0, 0.0)
        if self.adds[t, j]:
            self._row({("K", t, j): 1.0, below: -1.0}, 0.0, math.inf)
            self._row({("K", t, j): 1.0, ("F", j): -1.0}, 0.0, math.inf)

    def _tier(self, t: int, slower: int | None) -> None:
        """Purchase, price, bandwidth, writes of one tier."""
        p, c, spec = self.p, self.c, self.p.doc["tiers"][t]
        count = range(len(self.parts))
        self._row({("C", t): 1.0} | {("c", t, j): -1.0 for j in count}, 0.0, 0.0)
        if spec.get("step_gb"):
            self._row({("C", t): 1.0, ("N", t): -spec["step_gb"] * 1e9 / TB}, 0.0, 0.0)
        usd = spec["usd_per_gb_hour"] * TB / 1e9
        included = (spec.get("included_gb_per_node") or 0.0) * 1e9 * c.nodes / TB
        self._row({("rent", t): 1.0, ("C", t): -usd}, -usd * included, math.inf)
        supply = p.doc["read_utilization"] * spec["gb_per_s_per_node"] * 1e9 * c.nodes
        weight = self.over if self.roles[t] == "prefetch" else 1.0
        reads: dict[tuple[Any, ...], float] = {}
        for j in count:
            reads["x", t, j] = weight * self.parts[j].read / supply
            if slower is not None and self.roles[slower] == "prefetch":
                reads["x", slower, j] = self.coverage * self.parts[j].read / supply
        self._row(reads, 0.0, 1.0)
        fresh = sum(k.rate * k.prompt for k in p.classes) * p.kv_bytes
        if spec.get("write_gb_per_s_per_node") is not None:
            room = spec["write_gb_per_s_per_node"] * 1e9 * c.nodes
            self._row(self._total([q.read / room for q in self.parts]), fresh / room - 1.0, math.inf)
        if spec.get("dwpd"):
            day = 86400 / TB
            form = self._total([q.read * day for q in self.parts]) | {("C", t): float(spec["dwpd"])}
            self._row(form, fresh * day, math.inf)

    # -- tangents -----------------------------------------------------------------------------------------------
    def _lawful(self) -> list[tuple[tuple[Any, ...], tuple[Any, ...], SplitLaw]]:
        """(hits, capacity, law) wherever the law limits hits."""
        out: list[tuple[tuple[Any, ...], tuple[Any, ...], SplitLaw]] = []
        for j, q in enumerate(self.parts):
            out.append((("H", -1, j), ("F", j), q.law))
            out += [(("H", t, j), ("K", t, j), q.law) for t in self.used if self.adds[t, j]]
        return out

    def _cut(self, hits: tuple[Any, ...], size: tuple[Any, ...], law: SplitLaw, at: float) -> None:
        value, slope = tangent(law, at * TB)
        self._row({hits: 1.0, size: -slope * TB}, -math.inf, value - slope * at * TB)

    def solve(self, budget: float) -> Answer | None:
        """Cutting planes; gives up as soon as the relaxation costs ``budget``."""
        largest = max(1.0, self.c.hbm / TB + sum(t["max_gb_per_node"] for t in self.p.doc["tiers"]) / 1e3)
        for hits, size, law in self._lawful():
            for at in np.geomspace(1e-4, largest, 12):
                self._cut(hits, size, law, float(at))
        for _ in range(60):
            self.lp.run()
            status = self.lp.getModelStatus()
            if status == highspy.HighsModelStatus.kInfeasible:
                return None
            if status != highspy.HighsModelStatus.kOptimal:
                raise RuntimeError(f"the relaxation ended as {status}")
            usd = self.lp.getInfo().objective_function_value
            if usd >= budget:
                return None
            x = self.lp.getSolution().col_value
            worst = 0.0
            for hits, size, law in self._lawful():
                at = max(x[self.names[size]], 1e-9)
                gap = x[self.names[hits]] - float(law.h(at * TB))
                worst = max(worst, gap)
                if gap > LAW_TOLERANCE:
                    self._cut(hits, size, law, at)
                    self._cut(hits, size, law, float(law.inverse(min(x[self.names[hits]], law.ceiling - 1e-12))) / TB)
            if worst <= LAW_TOLERANCE:
                return self._answer(usd, x)
        raise RuntimeError(f"cutting planes stopped {worst:.1e} short of the law")

    def _answer(self, usd: float, x: Any) -> Answer:
        tiers = range(len(self.roles))
        capacity = tuple(x[self.names["C", t]] * TB if t in self.used else 0.0 for t in tiers)
        total = sum(q.read for q in self.parts) or 1.0
        share = [q.read / total for q in self.parts]
        effective = [sum(w * x[self.names[k]] for k, w in self._e(j).items()) for j in range(len(self.parts))]
        detail = {"effective_by_partition": effective}
        return Answer(usd, capacity, (), sum(s * e for s, e in zip(share, effective, strict=True)), detail)


def is_concave(law: Law) -> bool:
    """Whether the law has no convex stretch (a jump at zero capacity aside)."""
    if law.kind == "measured":
        slopes = np.diff(law.ys) / np.diff(law.xs)
        return bool(np.all(np.diff(slopes) <= 1e-15))
    return law.kind == "power" or law.slope <= 1


def tangent(law: SplitLaw, at: float) -> tuple[float, float]:
    """Value and slope of a concave law at ``at`` bytes; the line lies on or above the law everywhere."""
    ratio = law.dilution / law.copies
    value, inner = float(law.h(at)), law.law.slope_at(at * ratio)
    return value, inner * ratio / law.dilution
