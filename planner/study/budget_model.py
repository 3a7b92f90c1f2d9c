"""Which column each service gets: a multiple-choice knapsack, solved with a certificate.

Two solves: the greatest value within the limits, then the least cost at that value. One service without limits gets its
cheapest full plan.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.errors import GaveUpError
from planner.study.columns import Column, Service

GAP = 1e-6
MORE = 1e-4  # relative: a greater value is greater by this much
CHEAPER_S = 2.0  # for the least cost at the greatest value, which seldom has a choice
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


def choose(
    services: Sequence[Service],
    limits: Mapping[str, float],
    *,
    serve_all: bool = False,
    gap: float = GAP,
    time_limit_s: float = math.inf,
) -> Choice | None:
    """The best columns within ``limits`` (``usd`` per hour, ``gpus``, GB by tier); None where none fit.

    Args:
        services: with their columns.
        limits: what all of them together may take.
        serve_all: whether every service must get its full load.
        gap: relative gap to prove.
        time_limit_s: for both solves together.

    Raises:
        GaveUpError: The time limit passed before there was a choice.
    """
    deadline = time.perf_counter() + time_limit_s
    pool = [[c for c in s.columns if not serve_all or c.level >= 1.0] for s in services]
    pool = [[c for c in row if all(c.uses(r) <= limit * (1 + ROUNDING) for r, limit in limits.items())] for row in pool]
    if not all(pool):
        return None
    most = sum(max(c.value for c in row) for row in pool)
    model = _model(pool, limits)
    chosen: tuple[Column, ...] = ()
    bound = most
    if most > 0 and not serve_all:
        first = _solve(model, pool, [[-100 * c.value / most for c in row] for row in pool], gap, deadline)
        if first is None:
            return None
        chosen, bound = first[0], min(most, -first[1] * most / 100)
        _require_value(model, pool, sum(c.value for c in chosen) / most)
        deadline = min(deadline, time.perf_counter() + CHEAPER_S)
    return _cheapest(model, pool, chosen, bound, gap, deadline)


def _cheapest(
    model: Any, pool: Sequence[Sequence[Column]], chosen: tuple[Column, ...], bound: float, gap: float, deadline: float
) -> Choice | None:
    """The least cost at the value that the model requires; ``chosen`` stands where time allows no cheaper one."""
    dear = max(sum(max(c.usd_per_hour for c in row) for row in pool), 1e-9)
    costs = [[100 * c.usd_per_hour / dear for c in row] for row in pool]
    try:
        second = _solve(model, pool, costs, gap, deadline)
    except GaveUpError:
        if not chosen:
            raise
        second = None
    if second is None and not chosen:
        return None
    best, floor = second if second is not None else (chosen, 0.0)
    if chosen and sum(c.usd_per_hour for c in chosen) < sum(c.usd_per_hour for c in best):
        best = chosen
    usd, value = sum(c.usd_per_hour for c in best), sum(c.value for c in best)
    return Choice(best, value, max(bound, value), usd, min(usd, max(0.0, floor) * dear / 100))


def least_for_more(
    services: Sequence[Service], limits: Mapping[str, float], resource: str, value: float, deadline: float
) -> tuple[Column, ...] | None:
    """The columns that take least of ``resource`` among those worth more than ``value``; None where none are."""
    others = {r: limit for r, limit in limits.items() if r != resource}
    pool = [[c for c in s.columns if all(c.uses(r) <= x * (1 + ROUNDING) for r, x in others.items())] for s in services]
    most = sum(max(c.value for c in row) for row in pool)
    target = value * (1 + MORE) if value > 0 else MORE * most
    if most <= 0 or target > most:
        return None
    model = _model(pool, others)
    _require_value(model, pool, target / most)
    all_of_it = max(sum(max(c.uses(resource) for c in row) for row in pool), 1e-9)
    costs = [[100 * c.uses(resource) / all_of_it for c in row] for row in pool]
    found = _solve(model, pool, costs, GAP, deadline)
    return None if found is None else found[0]


def _model(pool: Sequence[Sequence[Column]], limits: Mapping[str, float]) -> Any:
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


def _require_value(m: Any, pool: Sequence[Sequence[Column]], share: float) -> None:
    """No less value than ``share`` of the most."""
    import pyomo.core as pyo

    most = sum(max(c.value for c in row) for row in pool)
    worth = sum(pool[s][c].value / most * m.use[s, c] for s, c in m.COLUMN if pool[s][c].value > 0)
    m.value_kept = pyo.Constraint(expr=worth >= share * (1 - ROUNDING))


def _solve(
    m: Any, pool: Sequence[Sequence[Column]], costs: Sequence[Sequence[float]], gap: float, deadline: float
) -> tuple[tuple[Column, ...], float] | None:
    """Minimise the costs; the chosen columns and the bound."""
    import pyomo.core as pyo

    from planner.milp.highs import Solver
    from planner.milp.solve import SolverOptions

    if hasattr(m, "goal"):
        m.del_component("goal")
    m.goal = pyo.Objective(expr=sum(costs[s][c] * m.use[s, c] for s, c in m.COLUMN))
    outcome = Solver(m, SolverOptions(gap)).solve(deadline - time.perf_counter())
    if outcome.infeasible:
        return None
    if not outcome.has_answer:
        raise GaveUpError("budget: no choice was found in time; raise --time-limit")
    chosen = tuple(row[max(range(len(row)), key=lambda c: m.use[s, c].value)] for s, row in enumerate(pool))
    return chosen, outcome.bound
