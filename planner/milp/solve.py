"""Outer approximation with a certificate: the MILP bounds from below, the exact evaluation of its plan from above.

Each round solves the model, lifts the bound, repairs the answer and has it judged, then adds the tangents (or splits
the convex pieces) at which the solver's hits exceed the law. Bound and cost meet in a few rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner.designs import Candidates
from planner.evaluate import evaluate
from planner.milp.build import add_cut, build
from planner.milp.data import ModelData, Segment
from planner.milp.repair import Answer, repaired, without_idle_tiers
from planner.plan import Evaluation

LAW_TOLERANCE = 1e-7  # hits above the law that are worth a new tangent
MAX_ROUNDS = 40
POLISH_ROUNDS = 8


@dataclass
class Proof:
    """What is known of one cell: ``bound <= optimum <= cost`` in dollars per hour."""

    bound: float
    cost: float = math.inf
    best: Evaluation | None = None
    rounds: int = 0
    seconds: float = 0.0
    interrupted: str = ""

    @property
    def gap(self) -> float:
        """``(cost - bound) / cost``; 0 where bound exceeds cost by rounding, infinite without a plan."""
        if self.best is None:
            return math.inf
        return max(0.0, (self.cost - self.bound) / self.cost) if self.cost > 0 else 0.0


@dataclass(frozen=True)
class SolverOptions:
    """Settings of HiGHS; ``--verify`` solves again with others. ``more`` are options by HiGHS' own names."""

    gap: float = 1e-4
    presolve: str = "choose"
    random_seed: int = 0
    more: tuple[tuple[str, float | bool], ...] = ()


class Prover:
    """One optimisation model with its solver, kept between rounds and ranked solves."""

    def __init__(
        self, candidates: Candidates, usd_scale: float, options: SolverOptions, stop: Callable[[], bool] | None = None
    ) -> None:
        """Build the model of ``candidates``; ``usd_scale`` is a cost near the optimum."""
        from planner.milp.highs import Solver

        self.candidates = candidates
        self.options = options
        self.data = ModelData(candidates, usd_scale)
        self.stop = stop
        self.model = build(self.data)
        self.solver = Solver(self.model, options, stop)
        self.excluded: list[tuple[int, int | None]] = []
        self.model_bound = -math.inf  # of the last solve, in dollars per hour
        self.unexplained = math.inf  # bound at which the judge rejected a design: nothing is proven beyond it

    def prove(self, proof: Proof | None = None, deadline: float = math.inf) -> Proof:
        """Rounds until the gap is within its target, the law holds, or the deadline passes."""
        started = time.perf_counter()
        proof = proof or Proof(-math.inf)
        for _ in range(MAX_ROUNDS):
            left = deadline - time.perf_counter()
            if left <= 0 or (self.stop is not None and self.stop()):
                proof.interrupted = proof.interrupted or ("time limit" if left <= 0 else "interrupted")
                break
            outcome = self.solver.solve(left)
            proof.rounds += 1
            if outcome.infeasible:
                proof.bound = max(proof.bound, min(proof.cost, self.unexplained))
                break
            self.model_bound = outcome.bound * self.data.usd_unit
            proof.bound = max(proof.bound, min(self.model_bound, self.unexplained))
            if outcome.stopped:
                proof.interrupted = outcome.stopped
            if not outcome.has_answer:
                break
            judged = self._judge(proof)
            if proof.gap <= self.options.gap or outcome.stopped:
                break
            chosen = self._chosen()
            changed = self._refine()
            if not (changed and judged.feasible) or self._stepped(chosen[0]):
                judged = self._polish(proof, chosen, deadline) or judged
            if proof.gap <= self.options.gap:
                break
            if not changed:
                if judged.feasible:
                    break
                self.unexplained = min(self.unexplained, proof.bound)  # a rejected design may have another plan
                self._note_excluded(*chosen)
        proof.seconds += time.perf_counter() - started
        return proof

    def _judge(self, proof: Proof) -> Evaluation:
        """The exact evaluation of the repaired answer: the cheaper of both repairs where one alone may not do."""
        answer, system = self._answer(), self.data.system
        stepped = any(system.tiers[t].step for t in answer.design.roles.used)
        best: Evaluation | None = None
        for keep_capacity in (False, True):
            judged = evaluate(system, without_idle_tiers(repaired(system, answer, keep_capacity)))
            if best is None or (judged.feasible, -judged.usd_per_hour) > (best.feasible, -best.usd_per_hour):
                best = judged
            if judged.feasible and not stepped:
                break
        assert best is not None
        if best.feasible and best.usd_per_hour < proof.cost:
            proof.best, proof.cost = best, best.usd_per_hour
        return best

    def _stepped(self, q: int) -> bool:
        return any(self.data.system.tiers[t].step for t in self.data.roles[q].used)

    def _polish(self, proof: Proof, chosen: tuple[int, int | None], deadline: float) -> Evaluation | None:
        """Judge the chosen design once more with its whole numbers fixed and the law met to 1e-10.

        The solver's tolerance on a mixed-integer answer can hide that a capacity is a hair short of its limit or of a
        purchase step; with the choices fixed, a linear programme finds the exact split between tiers.
        """
        if not self._load(chosen):
            return None
        fixed = self._fix_choices()
        judged: Evaluation | None = None
        try:
            for _ in range(POLISH_ROUNDS):
                outcome = self.solver.solve(deadline - time.perf_counter(), tolerance=1e-9)
                if not outcome.has_answer or outcome.stopped:
                    break
                judged = self._judge(proof)
                if not self._refine(tolerance=1e-10, split=False):
                    break
        finally:
            for variable in fixed:
                variable.unfix()
        return judged

    def _load(self, chosen: tuple[int, int | None]) -> bool:
        """Whether the model still holds the answer of ``chosen`` (a rebuilt model holds none)."""
        return self.model.use[chosen[0]].value is not None

    def _fix_choices(self) -> list[Any]:
        """Fix every binary and integer at its rounded value; returns what was fixed."""
        m = self.model
        families = [m.use, m.decode, m.steps, m.piece] + ([m.adds] if self.data.inclusive else [])
        fixed = [v for family in families for v in family.values() if v.value is not None]
        for variable in fixed:
            variable.fix(round(variable.value))
        return fixed

    def _chosen(self) -> tuple[int, int | None]:
        m = self.model
        q = max(m.DESIGN, key=lambda i: m.use[i].value)
        d = max(m.DECODE, key=lambda i: m.decode[i].value) if len(m.DECODE) else None
        return q, d

    def _answer(self) -> Answer:
        m, c = self.model, self.data
        q, d = self._chosen()

        def value(x: Any) -> float:
            return max(0.0, float(x.value if hasattr(x, "value") else x))

        def adds(t: int, j: int) -> bool:
            if t not in c.roles[q].used:
                return False
            return value(m.adds[t, j]) > 0.5 if c.inclusive else True

        def capacity(t: int, j: int) -> float:
            return value(m.capacity[t, j]) * c.unit if t in c.tiers else 0.0

        multi = len(c.parts) > 1
        every = range(len(c.system.tiers))
        return Answer(
            design=c.designs[q],
            decode=None if d is None else c.decodes[d],
            hits=tuple(
                tuple(value(m.hits[max(have for have in c.levels if have <= level), j]) for j in c.parts)
                for level in range(len(c.system.tiers) + 1)
            ),
            adds=tuple(tuple(adds(t, j) for j in c.parts) for t in every),
            hbm_bytes=tuple(value(m.hbm[j]) * c.unit for j in c.parts) if multi else (c.designs[q].prefill.hbm_bytes,),
            capacity_bytes=tuple(tuple(capacity(t, j) for j in c.parts) for t in every),
        )

    def _refine(self, tolerance: float = LAW_TOLERANCE, split: bool = True) -> bool:
        """Add tangents (or split convex pieces) where the answer's hits exceed the law; False where none do."""
        changed = rebuilt = False
        for (j, g), segments in self.data.segments.items():
            law = self.data.groups[g][j]
            for s in range(len(segments) - 1, -1, -1):
                segment = segments[s]
                for k in self._violated(j, g, s, segment, tolerance):
                    if not segment.concave:
                        rebuilt |= split and self._split(j, g, s, k)
                        break
                    if self.data.add_tangent(law, segment, k):
                        changed = True
                        if not rebuilt:
                            a, b = segment.cuts[-1]
                            self.solver.add(add_cut(self.model, self.data, j, g, s, a, b))
        if rebuilt:
            self._rebuild()
        return changed or rebuilt

    def _violated(self, j: int, g: int, s: int, segment: Segment, tolerance: float) -> list[float]:
        law, m, c = self.data.groups[g][j], self.model, self.data
        found = []
        for level in c.law_levels:
            k = float(m.law_capacity[level, j, g, s].value or 0.0)
            hits = float(m.law_hits[level, j, g, s].value or 0.0)
            on = c.piece_on(m, level, j, g, s)
            if (on if isinstance(on, float) else _value(on)) < 0.5:
                continue
            true = law.hit_rate(k * c.unit) if k > 0 else law.base
            if hits > true + tolerance:
                found.append(min(max(k, segment.lo), segment.hi))
        return found

    def _split(self, j: int, g: int, s: int, k: float) -> bool:
        """Split a convex piece at ``k`` (or in the middle where ``k`` is at its edge)."""
        law, segments = self.data.groups[g][j], self.data.segments[j, g]
        segment = segments[s]
        width = segment.hi - segment.lo
        if width < 1e-7 * max(segment.hi, 1e-9):
            return False
        at = k if 0.02 < (k - segment.lo) / width < 0.98 else segment.lo + width / 2
        halves = [Segment(segment.lo, at, False), Segment(at, segment.hi, False)]
        for half in halves:
            self.data.set_chord(law, half)
        segments[s : s + 1] = halves
        return True

    def _rebuild(self) -> None:
        from planner.milp.highs import Solver

        self.model = build(self.data)
        self.solver = Solver(self.model, self.options, self.stop)
        for q, d in self.excluded:
            self._exclude(q, d)

    def exclude_chosen(self) -> None:
        """Exclude the design of the last answer: the judge rejects it, or it repeats a structure."""
        self._note_excluded(*self._chosen())

    def _note_excluded(self, q: int, d: int | None) -> None:
        self.excluded.append((q, d))
        self._exclude(q, d)

    def _exclude(self, q: int, d: int | None) -> None:
        m = self.model
        if not hasattr(m, "excluded"):
            import pyomo.core as pyo

            m.excluded = pyo.ConstraintList()
        pair = m.use[q] if d is None else m.use[q] + m.decode[d]
        self.solver.add([m.excluded.add(pair <= (0 if d is None else 1))])

    def exclude_structure(self, structure: tuple[object, ...]) -> None:
        """A no-good cut: no later answer has this structure (ranked plans)."""
        for q, design in enumerate(self.data.designs):
            if (design.prefill.config.name, design.prefill.instances, design.prefill.batch) != (
                structure[1],
                structure[2],
                structure[3],
            ) or design.roles.roles != structure[6]:
                continue
            pools = range(len(self.data.decodes)) if self.data.decodes else (None,)
            for d in pools:
                if d is None or (self.data.decodes[d].config.name, self.data.decodes[d].instances) == structure[4:6]:
                    self.excluded.append((q, d))
                    self._exclude(q, d)


def _value(expression: Any) -> float:
    import pyomo.core as pyo

    return float(pyo.value(expression))
