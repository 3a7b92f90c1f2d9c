"""Which column each service gets: a multiple-choice knapsack, solved with a certificate.

Two solves: the greatest value within the limits, then the least cost at that value. One service without limits gets its
cheapest full plan.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import GaveUpError, StoppedError
from planner.study.columns import Column, Service
from planner.study.processes import Stop

if TYPE_CHECKING:
    from planner.milp.highs import Outcome

GAP = 1e-6
MORE = 1e-4  # relative: a greater value is greater by this much
CHEAPER_S = 2.0  # for the least cost at the greatest value, which seldom has a choice
# knapsacks: many quick nodes prove them twice as fast as few that are worked at
TUNED = (("mip_pscost_minreliable", 1), ("mip_allow_cut_separation_at_nodes", False), ("mip_heuristic_effort", 0.0))
ROUNDING = 1e-9  # relative: a limit is met up to the judge's own rounding


@dataclass(frozen=True)
class Choice:
    """A column per service and what is proven: ``value <= bound``, both in weighted Mtok an hour."""

    columns: tuple[Column, ...]
    value: float
    bound: float
    usd_per_hour: float
    usd_bound: float  # no choice of this value costs less

    @property
    def relative_gap(self) -> float:
        """How far the value may be from the greatest possible."""
        return max(0.0, (self.bound - self.value) / self.bound) if self.bound > 0 else 0.0

    @property
    def usd_gap(self) -> float:
        """How far the cost may be from the least for that value."""
        return max(0.0, (self.usd_per_hour - self.usd_bound) / self.usd_per_hour) if self.usd_per_hour > 0 else 0.0

    def uses(self, resource: str) -> float:
        """The total amount of a resource."""
        return sum(c.uses(resource) for c in self.columns)


Pool = Sequence[Sequence[Column]]


def choose(
    services: Sequence[Service],
    limits: Mapping[str, float],
    *,
    serve_all: bool = False,
    gap: float = GAP,
    time_limit_s: float = math.inf,
    stop: Stop | None = None,
    least_cost: bool = True,
) -> Choice | None:
    """The best columns within ``limits`` (``usd`` per hour, ``gpus``, GB by tier); None where none fit.

    Args:
        services: with their columns.
        limits: what all of them together may take.
        serve_all: whether every service must get its full load.
        gap: relative gap to prove.
        time_limit_s: for both solves together.
        least_cost: whether to look for the cheapest of the choices of the greatest value.
        stop: polled; when it turns true the best choice so far is the answer.

    Raises:
        GaveUpError: The time limit passed, or ``stop`` turned true, before there was a choice.
    """
    deadline = time.perf_counter() + time_limit_s
    pool = _fitting(services, limits, serve_all)
    if not all(pool):
        return None
    if (free := _each_its_best(pool, limits)) is not None:
        return free
    most = sum(max(c.value for c in row) for row in pool)
    model = _model(pool, limits)
    chosen: tuple[Column, ...] = ()
    bound = most
    if most > 0 and not serve_all:
        first = _solve(model, [[-100 * c.value / most for c in row] for row in pool], gap, deadline, stop)
        if first.infeasible:
            return None
        chosen, bound = _picked(model, pool, first), min(most, -first.bound * most / 100)
        if not least_cost:
            value, usd = sum(c.value for c in chosen), sum(c.usd_per_hour for c in chosen)
            return Choice(chosen, value, max(bound, value), usd, 0.0)
        _require_value(model, pool, sum(c.value for c in chosen) / most)
        deadline = min(deadline, time.perf_counter() + CHEAPER_S)
    return _cheapest(model, pool, chosen, bound, gap, deadline, stop)


def _fitting(services: Sequence[Service], limits: Mapping[str, float], serve_all: bool) -> list[list[Column]]:
    """The columns that exceed no limit on their own."""
    return [
        [
            c
            for c in s.columns
            if (not serve_all or c.level >= 1.0) and all(c.uses(r) <= x * (1 + ROUNDING) for r, x in limits.items())
        ]
        for s in services
    ]


def _each_its_best(pool: Pool, limits: Mapping[str, float]) -> Choice | None:
    """Every service's most valuable column, the cheapest of them; None where a limit forbids all of these together."""
    best = tuple(min(row, key=lambda c: (-c.value, c.usd_per_hour)) for row in pool)
    if any(sum(c.uses(r) for c in best) > limit for r, limit in limits.items()):
        return None
    value, usd = sum(c.value for c in best), sum(c.usd_per_hour for c in best)
    return Choice(best, value, value, usd, usd)


def _cheapest(
    model: Any, pool: Pool, chosen: tuple[Column, ...], bound: float, gap: float, deadline: float, stop: Stop | None
) -> Choice | None:
    """The least cost at the value that the model requires; ``chosen`` stands where time allows no cheaper one."""
    dear = max(sum(max(c.usd_per_hour for c in row) for row in pool), 1e-9)
    second = _solve(model, [[100 * c.usd_per_hour / dear for c in row] for row in pool], gap, deadline, stop)
    if second.infeasible and not chosen:
        return None
    best = _picked(model, pool, second) if second.has_answer or not chosen else chosen
    if chosen and sum(c.usd_per_hour for c in chosen) < sum(c.usd_per_hour for c in best):
        best = chosen
    usd, value = sum(c.usd_per_hour for c in best), sum(c.value for c in best)
    return Choice(best, value, max(bound, value), usd, min(usd, max(0.0, second.bound) * dear / 100))


def least_for_more(
    services: Sequence[Service],
    limits: Mapping[str, float],
    resource: str,
    value: float,
    deadline: float,
    stop: Stop | None = None,
) -> tuple[Column, ...] | None:
    """The columns that take least of ``resource`` among those worth more than ``value``; None where none are."""
    others = {r: limit for r, limit in limits.items() if r != resource}
    pool = _fitting(services, others, False)
    most = sum(max(c.value for c in row) for row in pool)
    target = value * (1 + MORE) if value > 0 else MORE * most
    if most <= 0 or target > most:
        return None
    model = _model(pool, others)
    _require_value(model, pool, target / most)
    return _least(model, pool, resource, deadline, stop)


def least_for_all(
    services: Sequence[Service], limits: Mapping[str, float], resource: str, deadline: float
) -> tuple[Column, ...] | None:
    """The columns that take least of ``resource`` and serve everything within the other limits; None where none do."""
    others = {r: limit for r, limit in limits.items() if r != resource}
    pool = _fitting(services, others, True)
    return _least(_model(pool, others), pool, resource, deadline) if all(pool) else None


def _least(
    model: Any, pool: Pool, resource: str, deadline: float, stop: Stop | None = None
) -> tuple[Column, ...] | None:
    """The least of a resource; of equals, by a hair, the cheaper."""
    amount, usd = (max(sum(max(c.uses(r) for c in row) for row in pool), 1e-9) for r in (resource, "usd"))
    costs = [[100 * c.uses(resource) / amount + 1e-6 * c.usd_per_hour / usd for c in row] for row in pool]
    found = _solve(model, costs, GAP, deadline, stop)
    if found.stopped:
        raise GaveUpError("budget: the least was not found in time")
    return None if found.infeasible else _picked(model, pool, found)


def _model(pool: Pool, limits: Mapping[str, float]) -> Any:
    """One binary per column, one choice per service, one row per limit (divided by the limit)."""
    import pyomo.core as pyo

    m = pyo.ConcreteModel(name="budget")
    m.COLUMN = pyo.Set(initialize=[(s, c) for s, row in enumerate(pool) for c in range(len(row))], dimen=2)
    m.use = pyo.Var(m.COLUMN, domain=pyo.Binary)
    m.one_column = pyo.Constraint(
        range(len(pool)), rule=lambda m, s: sum(m.use[s, c] for c in range(len(pool[s]))) == 1
    )
    m.within = pyo.ConstraintList()
    for resource, limit in limits.items():
        uses = {(s, c): pool[s][c].uses(resource) for s, c in m.COLUMN}
        if limit <= 0 or sum(max(u for (i, _), u in uses.items() if i == s) for s in range(len(pool))) <= limit:
            continue  # columns that exceed it alone are gone already
        terms = [u / limit * m.use[key] for key, u in uses.items() if u / limit > 1e-9]
        m.within.add(sum(terms) <= 1 + ROUNDING)
    return m


def _require_value(m: Any, pool: Pool, share: float) -> None:
    """No less value than ``share`` of the most."""
    import pyomo.core as pyo

    most = sum(max(c.value for c in row) for row in pool)
    worth = sum(pool[s][c].value / most * m.use[s, c] for s, c in m.COLUMN if pool[s][c].value > 0)
    m.value_kept = pyo.Constraint(expr=worth >= share * (1 - ROUNDING))


def _solve(m: Any, costs: Sequence[Sequence[float]], gap: float, deadline: float, stop: Stop | None = None) -> Outcome:
    """Minimise the costs; the answer is in the model."""
    import pyomo.core as pyo

    from planner.milp.highs import Solver
    from planner.milp.solve import SolverOptions

    if hasattr(m, "goal"):
        m.del_component("goal")
    m.goal = pyo.Objective(expr=sum(costs[s][c] * m.use[s, c] for s, c in m.COLUMN))
    return Solver(m, SolverOptions(gap, more=TUNED), stop).solve(deadline - time.perf_counter())


def _picked(m: Any, pool: Pool, outcome: Outcome) -> tuple[Column, ...]:
    """The columns of the answer.

    Raises:
        GaveUpError: There is none.
    """
    if outcome.stopped == "interrupted" and not outcome.has_answer:
        raise StoppedError("interrupted before there was a choice")
    if not outcome.has_answer:
        raise GaveUpError("budget: no choice was found in time; raise --time-limit")
    return tuple(row[max(range(len(row)), key=lambda c: m.use[s, c].value)] for s, row in enumerate(pool))
