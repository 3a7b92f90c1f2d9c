"""The exact nonlinear model as one mixed-integer nonlinear program, for SCIP.

Every (candidate, role assignment) is a binary; the law stands as it is (a power, a quotient, or a piecewise-linear
curve with SOS2), not as tangents. Physics numbers come from the oracle. Meant for small instances.
"""

from __future__ import annotations

import math
from typing import Any

try:
    from pyscipopt import Model, quicksum
except ImportError:  # tests that need it skip
    Model = quicksum = None

from .laws import Law, SplitLaw
from .options import Option, options_of, pure_load
from .physics import Physics

TB = 1e12


def optimum(doc: dict[str, Any], architecture: str, tiered: bool, seconds: float = 60.0) -> dict[str, Any]:
    """Cost and proven bound of one cell; ``usd_per_hour`` is None where SCIP proves that nothing fits."""
    p = Physics(doc)
    options = options_of(p, architecture, tiered) if architecture in p.dep["architectures"] else []
    if not options:
        return {"usd_per_hour": None, "bound": math.inf, "status": "no candidate"}
    split = architecture == "colocated" and p.dep["colocated_routing"] == "random"
    build = _solved(p, options, split, seconds)
    status = build.model.getStatus()
    if build.model.getNSols() == 0:
        return {"usd_per_hour": None, "bound": build.model.getDualbound(), "status": status}
    chosen = next(o for o, y in zip(options, build.pick, strict=True) if build.model.getVal(y) > 0.5)
    return {
        "usd_per_hour": build.model.getObjVal(),
        "bound": build.model.getDualbound(),
        "status": status,
        "instances": chosen.candidate.n,
        "gpus_per_instance": chosen.candidate.config.gpus,
        "roles": chosen.roles,
        "capacity_gb": [build.model.getVal(c) * TB / 1e9 for c in build.size],
    }


def _solved(p: Physics, options: list[Option], split: bool, seconds: float) -> _Build:
    """The model, solved; with looser tolerances where the tight ones break an LP numerically."""
    for tolerance in (1e-9, 1e-7):
        build = _Build(p, options, split, tolerance)
        build.model.setParam("limits/time", seconds)
        try:
            build.model.optimize()
        except Exception as error:  # what PySCIPOpt raises for any SCIP failure
            failure = error
        else:
            return build
    raise failure


class _Build:
    """Variables and rows."""

    def __init__(self, p: Physics, options: list[Option], split: bool, tolerance: float) -> None:
        self.p, self.options, self.split = p, options, split
        self.model = m = Model("exact")
        m.hideOutput()
        for name, value in (
            ("numerics/feastol", tolerance),
            ("limits/gap", 1e-8),
            ("randomization/randomseedshift", 0),
        ):
            m.setParam(name, value)
        self.tiers = p.doc["tiers"]
        self.parts = range(len(options[0].parts))
        pre = p.doc["workload"].get("prefetch") or {"coverage": 0.0, "precision": 1.0, "lead_s": 0.0}
        self.coverage, self.over, self.lead = pre["coverage"], pre["coverage"] / pre["precision"], pre["lead_s"]
        self.read = [q.read for q in options[0].parts]
        self.pick = [m.addVar(vtype="B", name=f"pick_{i}") for i in range(len(options))]
        m.addCons(quicksum(self.pick) == 1)
        self.top = max(o.candidate.hbm + sum(self._most(t, o) for t in self.tiers) for o in options) / TB
        self._copies()
        self.size = [m.addVar(ub=self.top, name=f"C_{t['name']}") for t in self.tiers]
        self._hbm()
        for i in range(len(self.tiers)):
            self._tier(i)
        self._load()
        self._price()

    def _most(self, tier: dict[str, Any], o: Option) -> float:
        return float(tier["max_gb_per_node"] * 1e9 * o.candidate.nodes)

    def _chosen(self, value: Any) -> Any:
        """The chosen option's number."""
        return quicksum(float(value(o)) * y for o, y in zip(self.options, self.pick, strict=True))

    def _role(self, i: int, role: str) -> Any:
        return self._chosen(lambda o: o.roles[i] == role)

    # -- the law ------------------------------------------------------------------------------------------------
    def _copies(self) -> None:
        """One binary per number of copies of the cache, tied to the options that have it."""
        counts = sorted({o.candidate.n if self.split else 1 for o in self.options})
        self.counts = {n: self.model.addVar(vtype="B", name=f"copies_{n}") for n in counts}
        for n, y in self.counts.items():
            self.model.addCons(y == self._chosen(lambda o, n=n: (o.candidate.n if self.split else 1) == n))

    def _scaled(self, var: Any, factor: dict[int, float], top: float) -> Any:
        """``var`` times the factor of the chosen number of copies, by disaggregation."""
        if len(self.counts) == 1:
            return next(iter(factor.values())) * var
        pieces = {n: self.model.addVar(ub=top) for n in self.counts}
        for n, piece in pieces.items():
            self.model.addCons(piece <= top * self.counts[n])
        self.model.addCons(quicksum(pieces.values()) == var)
        return quicksum(factor[n] * piece for n, piece in pieces.items())

    def _law(self, j: int, hits: Any, capacity: Any, off: Any) -> None:
        """hits <= h(capacity) unless the 0/1 expression ``off`` is one."""
        m = self.model
        law = self.options[0].parts[j].law.law
        split = {n: SplitLaw(law, n) for n in self.counts}
        above = m.addVar(ub=1.0)  # hits above the floor
        m.addCons(above >= hits - law.floor - off)
        used = m.addVar(ub=1.0)
        m.addCons(used == self._scaled(above, {n: s.dilution for n, s in split.items()}, 1.0))
        seen = m.addVar(ub=self.top * max(s.dilution / n for n, s in split.items()) / law.stretch)
        ratio = {n: s.dilution / n / law.stretch for n, s in split.items()}
        m.addCons(seen == self._scaled(capacity, ratio, self.top))
        m.addCons(used <= law.ceiling - law.floor)
        if law.kind == "power":
            m.addCons(used <= law.rate * (seen * (TB / law.at)) ** law.beta)
        elif law.kind == "hill":
            u = m.addVar(ub=None)
            m.addCons(u <= (seen * (TB / law.half)) ** law.slope)
            m.addCons(used + used * u <= (law.ceiling - law.floor) * u)
        else:
            self._pieces(law, used, seen)

    def _pieces(self, law: Law, used: Any, seen: Any) -> None:
        m = self.model
        xs, ys = [x / TB for x in law.xs], list(law.ys)
        if xs[-1] < 2 * self.top:
            xs, ys = [*xs, 2 * self.top + 1.0], [*ys, ys[-1]]
        w = [m.addVar(ub=1.0) for _ in xs]
        m.addCons(quicksum(w) == 1)
        m.addCons(quicksum(x * v for x, v in zip(xs, w, strict=True)) == seen)
        m.addCons(used <= quicksum(y * v for y, v in zip(ys, w, strict=True)))
        m.addConsSOS2(w)

    # -- tiers --------------------------------------------------------------------------------------------------
    def _hbm(self) -> None:
        m = self.model
        self.free = [m.addVar(ub=self.top) for _ in self.parts]
        self.hits = [[m.addVar(ub=1.0) for _ in self.parts]]
        m.addCons(quicksum(self.free) == self._chosen(lambda o: o.candidate.hbm / TB))
        for j in self.parts:
            if len(self.parts) == 1:
                m.addCons(self.hits[0][j] == self._chosen(lambda o: o.parts[0].law.h(o.candidate.hbm)))
            else:
                self._law(j, self.hits[0][j], self.free[j], 0.0)
        self.seen: list[Any] = [list(self.free)]
        self.sync: list[list[Any]] = []
        self.ahead: list[list[Any]] = []

    def _tier(self, i: int) -> None:
        """Marginal hits of a tier, split by role, and the capacity its cumulative hits see."""
        m = self.model
        self.sync.append([m.addVar(ub=1.0) for _ in self.parts])
        self.ahead.append([m.addVar(ub=1.0) for _ in self.parts])
        self.hits.append([m.addVar(ub=1.0) for _ in self.parts])
        given = [m.addVar(ub=self.top) for _ in self.parts]
        m.addCons(quicksum(given) == self.size[i])
        m.addCons(self.size[i] <= self._chosen(lambda o: self._most(self.tiers[i], o) / TB * (o.roles[i] != "unused")))
        if self.tiers[i].get("step_gb"):
            m.addCons(self.size[i] == self.tiers[i]["step_gb"] * 1e9 / TB * m.addVar(vtype="I"))
        nets = []
        for j in self.parts:
            m.addCons(self.sync[i][j] <= self._role(i, "sync"))
            m.addCons(self.ahead[i][j] <= self._role(i, "prefetch"))
            m.addCons(self.hits[i + 1][j] == self.hits[i][j] + self.sync[i][j] + self.ahead[i][j])
            nets.append(m.addVar(ub=self.top))
        if i == 1:  # what the second tier prefetches is staged in the first
            for j in self.parts:
                stage = self.read[j] * self.over * self.lead / TB
                m.addCons(self.first[j] == self.first_given[j] - stage * self.ahead[1][j])
        elif len(self.tiers) == 2:
            self.first, self.first_given = nets, given
        if i == 1 or len(self.tiers) == 1:
            for j in self.parts:
                m.addCons(nets[j] == given[j])
        self._sees(i, nets)

    def _sees(self, i: int, nets: list[Any]) -> None:
        m = self.model
        exclusive = self.p.dep["hierarchy"] == "exclusive"
        here = []
        for j in self.parts:
            total = m.addVar(ub=2 * self.top)
            m.addCons(total == nets[j] + (self.seen[i][j] if exclusive else 0.0))
            here.append(total)
            adds: Any = m.addVar(vtype="B")
            m.addCons(self.sync[i][j] + self.ahead[i][j] <= adds)
            if not exclusive:
                for faster in self.seen:
                    m.addCons(total >= faster[j] - 2 * self.top * (1 - adds))
            self._law(j, self.hits[i + 1][j], total, 1 - adds)
        self.seen.append(here)

    # -- needs --------------------------------------------------------------------------------------------------
    def _effective(self, j: int) -> Any:
        tiers = range(len(self.tiers))
        return self.hits[0][j] + quicksum(self.sync[i][j] + self.coverage * self.ahead[i][j] for i in tiers)

    def _load(self) -> None:
        """Queue, decode share, bandwidth, writing."""
        p, m = self.p, self.model
        e = [m.addVar(ub=1.0) for _ in self.parts]
        for j in self.parts:
            m.addCons(e[j] == self._effective(j))
        for o, y in zip(self.options, self.pick, strict=True):
            c = o.candidate
            whole = sum(k.rate * s for k, s in zip(p.classes, c.miss, strict=True)) - o.limit
            if whole > 0:  # with y = 0 the row asks for nothing
                m.addCons(quicksum(q.gain / whole * e[j] for j, q in enumerate(o.parts)) >= y)
            pure = pure_load(p, c) - c.pure_limit
            if pure > 0:
                m.addCons(quicksum(q.pure_gain / pure * e[j] for j, q in enumerate(o.parts)) >= y)
        fresh = sum(k.rate * k.prompt for k in p.classes) * p.kv_bytes
        writes = 1.0 - quicksum(self.read[j] / fresh * e[j] for j in self.parts)
        for i, t in enumerate(self.tiers):
            self._flows(i, t, fresh, writes)

    def _flows(self, i: int, t: dict[str, Any], fresh: float, writes: Any) -> None:
        m, p = self.model, self.p
        unit = sum(self.read)
        supply = self._chosen(
            lambda o: p.doc["read_utilization"] * t["gb_per_s_per_node"] * 1e9 * o.candidate.nodes / unit
        )
        reads = quicksum(self.read[j] / unit * (self.sync[i][j] + self.over * self.ahead[i][j]) for j in self.parts)
        if i == 0 and len(self.tiers) == 2:
            self._restaged = (reads, supply)
        else:
            m.addCons(reads <= supply)
        if i == 1:
            first, room = self._restaged
            again = quicksum(self.read[j] / unit * self.coverage * self.ahead[1][j] for j in self.parts)
            m.addCons(first + again <= room)
        unused = self._role(i, "unused")
        if t.get("write_gb_per_s_per_node") is not None:
            rate = t["write_gb_per_s_per_node"] * 1e9 / fresh
            m.addCons(writes <= self._chosen(lambda o: rate * o.candidate.nodes) + unused)
        if t.get("dwpd"):
            m.addCons(writes <= t["dwpd"] * TB / (86400 * fresh) * self.size[i] + unused)

    def _price(self) -> None:
        m = self.model
        total = self._chosen(lambda o: o.candidate.usd)
        for i, t in enumerate(self.tiers):
            rent = m.addVar()
            free = (t.get("included_gb_per_node") or 0.0) * 1e9 / TB
            included = self._chosen(lambda o, free=free: free * o.candidate.nodes)
            m.addCons(rent >= t["usd_per_gb_hour"] * TB / 1e9 * (self.size[i] - included))
            total = total + rent
        m.setObjective(total, "minimize")
