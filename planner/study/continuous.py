"""The optimisation model with GPUs in fractions, one tier and no TTFT limit: what the closed form is the answer to.

The same modelling layer, solver and tangents as the real model; only the integers and the promises are gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from planner.physics.reuse import Law

ROUNDS = 80
CLOSE = 1e-7  # relative distance of the last two capacities
HITS = 1e4  # hits are counted in ten-thousandths: the solver's row tolerance of 1e-7 is then 1e-11 of all hits


@dataclass(frozen=True)
class Continuous:
    """The optimum: capacity in bytes, hit rate, GPUs, and cost in dollars per hour with its bound."""

    capacity_bytes: float
    hit_rate: float
    gpus: float
    usd_per_hour: float
    bound: float
    rounds: int


def continuous_optimum(
    law: Law, *, gpus_without_hits: float, gpus_saved: float, gpu_usd_per_hour: float, usd_per_byte_hour: float
) -> Continuous:
    """Minimise ``price * gpus + r * K`` with ``gpus >= gpus_without_hits - gpus_saved * H`` and ``H <= h(K)``.

    Args:
        law: concave; tangents bound it from above, so each round's value is a true lower bound.
        gpus_without_hits: GPUs that prefill takes at no hits.
        gpus_saved: fewer GPUs at a hit rate of 1: ``lambda * delta * g / utilisation``.
        gpu_usd_per_hour: price of a GPU.
        usd_per_byte_hour: rent.
    """
    from planner.milp.highs import Solver
    from planner.milp.solve import SolverOptions

    most = min(gpu_usd_per_hour * gpus_saved * law.top / usd_per_byte_hour, law.capacity_for(law.top * (1 - 1e-12)))
    unit = most / 10.0
    scale = gpu_usd_per_hour * gpus_saved * law.top / 1000.0
    for halvings in range(30):  # the capacity near which the slope pays is the natural unit
        if law.slope(most / 2**halvings) * gpu_usd_per_hour * gpus_saved >= usd_per_byte_hour:
            unit = most / 2**halvings
            break
    m = _model(
        gpus_without_hits, gpus_saved, gpu_usd_per_hour / scale, usd_per_byte_hour * unit / scale, most / unit, law.top
    )
    for share in (1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0):
        _tangent(m, law, unit, min(share, most / unit))
    solver = Solver(m, SolverOptions(1e-9))
    before, bound = math.inf, -math.inf
    rounds = 0
    while rounds < ROUNDS:
        rounds += 1
        outcome = solver.solve(60.0)
        bound = max(bound, outcome.bound * float(scale))
        k = float(m.capacity.value)
        if abs(k - before) <= CLOSE * k:
            break
        before = k
        solver.add([_tangent(m, law, unit, k)])
    capacity = float(m.capacity.value) * unit
    hits = law.hit_rate(capacity)
    gpus = gpus_without_hits - gpus_saved * hits
    usd = gpu_usd_per_hour * gpus + usd_per_byte_hour * capacity
    return Continuous(capacity, hits, gpus, usd, bound, rounds)


def _model(idle: float, saved: float, price: float, rent: float, most: float, top: float) -> Any:
    import pyomo.core as pyo

    m = pyo.ConcreteModel(name="continuous")
    m.gpus = pyo.Var(bounds=(0, None))
    m.capacity = pyo.Var(bounds=(0, most))
    m.hits = pyo.Var(bounds=(0, HITS * top))
    m.prefill_load = pyo.Constraint(expr=idle - saved / HITS * m.hits <= m.gpus)
    m.hit_law = pyo.ConstraintList()
    m.cost = pyo.Objective(expr=price * m.gpus + rent * m.capacity)
    return m


def _tangent(m: Any, law: Law, unit: float, k: float) -> Any:
    """``H <= h(k) + h'(k) (K - k)``: above a concave law everywhere."""
    slope = law.slope(k * unit) * unit
    return m.hit_law.add(m.hits <= HITS * (law.hit_rate(k * unit) + slope * (m.capacity - k)))
