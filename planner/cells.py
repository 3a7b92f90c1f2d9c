"""One cell of the comparison: an architecture with or without tiers, solved to a certificate.

Candidates are generated cheapest first; a design's *simplest* plan (its fastest free hits plus one tier that makes up
the rest) gives an upper bound before any solver runs. Where that bound already meets the lower bound of every
candidate, the cell is closed; otherwise the optimisation model decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.derive import candidates
from planner.designs import Candidates, DecodeOption, Design
from planner.evaluate import evaluate
from planner.milp.repair import Answer, repaired, without_idle_tiers
from planner.physics.system import System
from planner.plan import Architecture, Evaluation

if TYPE_CHECKING:
    from planner.milp.solve import Proof, Prover

Progress = Callable[[str], None]


@dataclass(frozen=True)
class SolveSettings:
    """What a solve may take and must reach."""

    gap: float = 1e-4
    deadline: float = math.inf  # of time.perf_counter
    stop: Callable[[], bool] | None = None
    presolve: str = "choose"
    random_seed: int = 0

    def share(self, parts: int) -> SolveSettings:
        """The same with one of ``parts`` equal shares of the time that is left."""
        now = time.perf_counter()
        return replace(self, deadline=now + (self.deadline - now) / parts)

    def halted(self) -> str:
        """Why no further step may be taken, empty while it may."""
        if self.stop is not None and self.stop():
            return "interrupted"
        return "time limit" if time.perf_counter() > self.deadline else ""


class SimplestPlans:
    """Exact cost of a design's simplest plan; remembers the best ones."""

    def __init__(self, system: System) -> None:
        """Judge designs of ``system``."""
        self.system = system
        self.best: Evaluation | None = None

    def cost(self, design: Design, pool: DecodeOption | None) -> float:
        """Dollars per hour of the simplest plan, infinite where it breaks a promise."""
        used = design.roles.used
        laws = design.prefill.laws
        share = design.prefill.hbm_bytes / len(laws)
        free = tuple(law.hit_rate(share) for law in laws)
        tiers = range(len(self.system.tiers))
        answer = Answer(
            design=design,
            decode=pool,
            hits=(free,) * (len(self.system.tiers) + 1),
            adds=tuple((bool(used) and t == used[-1],) * len(laws) for t in tiers),
            hbm_bytes=(share,) * len(laws),
            capacity_bytes=((0.0,) * len(laws),) * len(self.system.tiers),
        )
        found = evaluate(self.system, without_idle_tiers(repaired(self.system, answer)))
        if not found.feasible:
            return math.inf
        self.see(found)
        return found.usd_per_hour

    def see(self, plan: Evaluation) -> None:
        """Remember a plan that keeps every promise."""
        if self.best is None or preferred(plan, self.best):
            self.best = plan


def preferred(a: Evaluation, b: Evaluation) -> bool:
    """Whether ``a`` is the better plan: cheaper, and at equal cost the simpler (see :func:`simplicity`)."""
    if not math.isclose(a.usd_per_hour, b.usd_per_hour, rel_tol=1e-9):
        return a.usd_per_hour < b.usd_per_hour
    return simplicity(a) < simplicity(b)


def simplicity(plan: Evaluation) -> tuple[int, int, int]:
    """Tiers in use, pools, instances: ties are broken towards fewer of each, in this order."""
    own = plan.decision
    pools = 1 if own.architecture == "colocated" else 2
    return sum(r != "unused" for r in own.roles), pools, own.prefill_instances + own.decode_instances


@dataclass
class CellResult:
    """A solved cell: its candidates, what is proven, and the model if one was built."""

    candidates: Candidates
    proof: Proof
    prover: Prover | None = None

    @property
    def best(self) -> Evaluation | None:
        """The cheapest plan, or None where nothing fits."""
        return self.proof.best


def solve_cell(
    system: System,
    architecture: Architecture,
    tiered: bool,
    settings: SolveSettings,
    *,
    keep: int = 1,
    ranking_limit: float = math.inf,
    use_model: bool = False,
    simplest: SimplestPlans | None = None,
    at_most: float = math.inf,
    prove_below: float = math.inf,
) -> CellResult:
    """Solve one cell.

    Args:
        system: the scenario's numbers.
        architecture: colocated or disaggregated.
        tiered: whether tiers may be used (they need not be).
        settings: gap, deadline and solver settings.
        keep: plans of different structure that must stay possible.
        ranking_limit: cost above which only this cell's own optimum is of interest.
        use_model: build and solve the model even where the candidates' own bounds close the gap.
        simplest: judges the designs' simplest plans, where the caller wants to see them.
        at_most: cost above which no plan is of interest, and nothing is proven.
        prove_below: cost that the cell's bound must undercut for its gap to be worth closing.
    """
    from planner.milp.solve import Proof, Prover, SolverOptions

    started = time.perf_counter()
    simplest = simplest or SimplestPlans(system)
    found = candidates(
        system, architecture, tiered, keep=keep, judge=simplest.cost, halted=settings.halted, at_most=at_most
    )
    own = simplest.best.usd_per_hour if simplest.best else math.inf
    limit = max(own, ranking_limit) * (1 + 1e-9)
    found = replace(found, designs=tuple(d for d in found.designs if d.usd_floor <= limit))
    proof = Proof(min((d.usd_floor for d in found.designs), default=math.inf), own, simplest.best)
    proof.bound = min(proof.bound, own, found.unexplored_usd, at_most)
    proof.interrupted = found.halted
    result = CellResult(found, proof)
    worth = proof.gap > settings.gap and proof.bound < prove_below
    if found.designs and not found.halted and (use_model or worth):
        options = SolverOptions(settings.gap, settings.presolve, settings.random_seed)
        scale = own if math.isfinite(own) else found.designs[0].usd_floor
        result.prover = Prover(found, scale, options, settings.stop)
        result.prover.prove(proof, settings.deadline)
        if simplest.best is not None and proof.best is not None and preferred(simplest.best, proof.best):
            proof.best, proof.cost = simplest.best, simplest.best.usd_per_hour
    proof.seconds = time.perf_counter() - started
    return result
