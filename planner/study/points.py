"""The one question that every study asks again and again: the cheapest plan of a variant, and its proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.cells import SolveSettings, preferred, solve_cell
from planner.physics.system import System
from planner.plan import Evaluation, TierUse

SAME = 1e-9  # relative difference below which two costs are one


@dataclass(frozen=True)
class Found:
    """The cheapest plan of one variant and the bound below it, both in dollars per hour."""

    plan: Evaluation | None
    bound: float
    interrupted: str = ""

    @property
    def usd_per_hour(self) -> float:
        """Cost of the plan, infinite where there is none."""
        return self.plan.usd_per_hour if self.plan is not None else math.inf

    @property
    def relative_gap(self) -> float | None:
        """``(cost - bound) / cost``; None without a plan."""
        if self.plan is None:
            return None
        return max(0.0, (self.usd_per_hour - self.bound) / self.usd_per_hour) if self.usd_per_hour > 0 else 0.0


def cheapest(system: System, settings: SolveSettings) -> Found:
    """The cheapest plan over the architectures that the scenario allows, tiers included."""
    best: Evaluation | None = None
    bound, stopped = math.inf, ""
    for architecture in system.scenario.deployment.architectures:
        proof = solve_cell(system, architecture, True, settings).proof
        bound = min(bound, proof.bound)
        stopped = stopped or proof.interrupted
        if proof.best is not None and (best is None or preferred(proof.best, best)):
            best = proof.best
    return Found(best, min(bound, best.usd_per_hour) if best is not None else bound, stopped)


def used_tiers(plan: Evaluation) -> tuple[TierUse, ...]:
    """The tiers that a plan buys: all in use but HBM, which is listed first."""
    return tuple(t for t in plan.tiers[1:] if t.role != "unused")


def gpus(plan: Evaluation) -> int:
    """GPUs of both pools."""
    return plan.prefill.gpus + (plan.decode.gpus if plan.decode else 0)


def attained_ttft_s(plan: Evaluation) -> float:
    """The longest path in use, queue wait at the percentile included."""
    return max(p.total_s for p in plan.paths if p.in_use)


def same_cost(a: float, b: float) -> bool:
    """Whether two costs differ by rounding only."""
    return math.isclose(a, b, rel_tol=SAME)


def shape(plan: Evaluation) -> str:
    """A plan in a few words: pools and tiers in use.

    The decode pool stands behind a slash; capacities are left out.
    """
    one = plan.prefill
    pools = f"{one.instances}×{one.gpus_per_instance} {one.parallelism}"
    if plan.decode is not None:
        two = plan.decode
        pools += f" / {two.instances}×{two.gpus_per_instance} {two.parallelism}"
    tiers = ", ".join(f"{t.name} {t.role}" for t in used_tiers(plan)) or "no tier"
    return f"{plan.decision.architecture}, {pools}, {tiers}"
