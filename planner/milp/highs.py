"""HiGHS through Pyomo's persistent interface: options set and checked, one outcome type, no exception on infeasible."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition

from planner.errors import PlannerError
from planner.milp.interruptible import AbandonedError, InterruptibleHighs, Watch

if TYPE_CHECKING:
    from planner.milp.solve import SolverOptions

MIN_HIGHS = (1, 16)
LARGE_ROWS = 400
logging.getLogger("pyomo.contrib.solver.solvers.highs").setLevel(logging.ERROR)  # it warns of every interruption


@dataclass(frozen=True)
class Outcome:
    """One solve: the dual bound in objective units, whether values were loaded, and what stopped it early."""

    bound: float
    has_answer: bool
    infeasible: bool
    stopped: str = ""


def solver_name() -> str:
    """``HiGHS x.y.z``."""
    return f"HiGHS {highspy.HIGHS_VERSION_MAJOR}.{highspy.HIGHS_VERSION_MINOR}.{highspy.HIGHS_VERSION_PATCH}"


def require_highs() -> None:
    """Refuse versions of HiGHS that are known to return wrong answers.

    Raises:
        PlannerError: HiGHS is older than 1.16 (1.14 and 1.15 call wrong values optimal, HiGHS issues 2957 and 3043).
    """
    have = (highspy.HIGHS_VERSION_MAJOR, highspy.HIGHS_VERSION_MINOR)
    if have < MIN_HIGHS:
        raise PlannerError(
            f"{solver_name()} is installed, but planner needs 1.16 or newer: older ones return wrong optima. "
            "Upgrade it: pip install --upgrade 'highspy>=1.16'"
        )


class Solver:
    """One model in one persistent solver."""

    def __init__(self, model: Any, options: SolverOptions, stop: Callable[[], bool] | None = None) -> None:
        """Load ``model``; ``stop`` is polled while HiGHS runs and interrupts it when true."""
        require_highs()
        self.model = model
        self.options = options
        self.stop = stop
        self._start_afresh()

    def _start_afresh(self) -> None:
        """A new HiGHS, which has yet to read the model."""
        self.watch = Watch(self.stop)
        self.solver = InterruptibleHighs(self.watch)
        self.solver.config.load_solutions = False
        self.solver.config.raise_exception_on_nonoptimal_result = False
        self.loaded = False

    def solve(self, time_limit_s: float, tolerance: float = 1e-7) -> Outcome:
        """Solve within ``time_limit_s`` seconds and load the answer's values into the model.

        Args:
            time_limit_s: seconds.
            tolerance: of rows and integers; smaller than the default only where all choices are fixed, as tight
                tolerances have made HiGHS call feasible models infeasible.
        """
        settings = {
            "presolve": self._presolve(),
            "random_seed": self.options.random_seed,
            "mip_rel_gap": self.options.gap / 10,
            "mip_abs_gap": 1e-7,
            "mip_feasibility_tolerance": tolerance,
            "primal_feasibility_tolerance": tolerance,
            **dict(self.options.more),
        }
        limit = max(0.05, min(time_limit_s, 1e6))
        if self.watch.left_behind:  # the run before is still going on, in the HiGHS that it had
            self._start_afresh()
        self.loaded = True
        try:
            result = self.solver.solve(self.model, time_limit=limit, threads=1, solver_options=settings)
        except AbandonedError:
            why = self._why_stopped("time limit")
            return Outcome(self.watch.bound, self.solver.load_watched(), False, why)
        condition, status = result.termination_condition, result.solution_status
        if condition in (TerminationCondition.provenInfeasible, TerminationCondition.infeasibleOrUnbounded):
            return Outcome(math.inf, False, True)
        has_answer = status in (SolutionStatus.optimal, SolutionStatus.feasible)
        stopped = ""
        if condition == TerminationCondition.maxTimeLimit:
            stopped = "time limit"
        elif condition != TerminationCondition.convergenceCriteriaSatisfied:
            stopped = self._why_stopped("the solver gave up")
        bound = result.objective_bound
        if bound is None and has_answer and not stopped:
            bound = result.incumbent_objective
        if has_answer:
            result.solution_loader.load_vars()
        return Outcome(-math.inf if bound is None else float(bound), has_answer, False, stopped)

    def _presolve(self) -> str:
        """``off`` for large models: there HiGHS' presolve takes up to a minute, deaf to every limit."""
        import pyomo.core as pyo

        rows = sum(len(c) for c in self.model.component_objects(pyo.Constraint, active=True))
        return "off" if rows > LARGE_ROWS and self.options.presolve == "choose" else self.options.presolve

    def _why_stopped(self, otherwise: str) -> str:
        if self.stop is not None and self.stop():
            return "interrupted"
        return "time limit" if self.watch.is_over() else otherwise

    def add(self, constraints: list[Any]) -> None:
        """Tell the solver of new rows of the model; before the first solve it has yet to read them all."""
        if self.loaded:
            self.solver.add_constraints(constraints)
