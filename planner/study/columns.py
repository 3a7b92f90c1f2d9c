"""A service's columns: its cheapest structures at several service levels, as what each would take from a shared budget.

A level is the share of the service's load that is planned for; the rest is turned away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.cells import SimplestPlans, SolveSettings, solve_cell
from planner.derive import cheapest_decode
from planner.physics.system import System
from planner.plan import Evaluation
from planner.scenario import Scenario, replace

LEVELS = (1.0, 0.75, 0.5, 0.25)
STRUCTURES = 5  # kept per level
MTOK_PER_HOUR = 3600.0 / 1e6  # of a token per second


@dataclass(frozen=True)
class Column:
    """One way to serve one service: what it takes and what it is worth. ``plan`` is None where nothing is served."""

    level: float
    usd_per_hour: float
    gpus: float
    capacity_gb: tuple[tuple[str, float], ...]
    value: float
    plan: Evaluation | None = None

    def uses(self, resource: str) -> float:
        """The amount of a resource: ``usd``, ``gpus`` or a tier's name (GB)."""
        if resource == "usd":
            return self.usd_per_hour
        return self.gpus if resource == "gpus" else dict(self.capacity_gb).get(resource, 0.0)


@dataclass(frozen=True)
class Service:
    """A service with its columns, the empty one first; ``weight`` is the worth of a million of its tokens."""

    name: str
    weight: float
    mtok_per_hour: float
    columns: tuple[Column, ...]


EMPTY = Column(0.0, 0.0, 0.0, (), 0.0)


def service_of(
    scenario: Scenario,
    name: str,
    *,
    weight: float = 1.0,
    levels: Sequence[float] = LEVELS,
    structures: int = STRUCTURES,
    stop: Callable[[], bool] | None = None,
) -> Service:
    """Solve ``scenario`` at each level and keep its cheapest structures."""
    full = System(scenario)
    value = weight * full.tokens_per_s * MTOK_PER_HOUR
    columns = [EMPTY]
    for level in sorted(set(levels), reverse=True):
        rate = full.rate * level
        system = System(replace(scenario, {"workload.requests_per_second": rate}), like=full) if level != 1 else full
        plans = _plans(system, scenario.solve.gap, structures, stop)
        columns += _undominated([_column(p, level, value * level) for p in plans])[:structures]
    return Service(name, weight, full.tokens_per_s * MTOK_PER_HOUR, tuple(columns))


def _plans(system: System, gap: float, structures: int, stop: Callable[[], bool] | None) -> list[Evaluation]:
    """The proven optimum of each architecture, and the simplest plans of the next structures."""
    found: dict[tuple[object, ...], Evaluation] = {}
    for architecture in system.scenario.deployment.architectures:
        cell = solve_cell(system, architecture, True, SolveSettings(gap, stop=stop), keep=structures)
        plans = [cell.best] if cell.best is not None else []
        for design in cell.candidates.designs[: 3 * structures]:
            simplest = SimplestPlans(system)
            decodes = cell.candidates.decodes
            pool = cheapest_decode(decodes, design.prefill.config, system) if decodes else None
            simplest.cost(design, pool)
            if simplest.best is not None:
                plans.append(simplest.best)
        for plan in plans:
            key = plan.decision.structure()
            if key not in found or plan.usd_per_hour < found[key].usd_per_hour:
                found[key] = plan
    return sorted(found.values(), key=lambda p: p.usd_per_hour)


def _column(plan: Evaluation, level: float, value: float) -> Column:
    billed = plan.prefill.billed_gpus + (plan.decode.billed_gpus if plan.decode else 0.0)
    sizes = tuple((t.name, t.capacity_bytes / 1e9) for t in plan.tiers[1:] if t.role != "unused")
    return Column(level, plan.usd_per_hour, billed, sizes, value, plan)


def _undominated(columns: list[Column]) -> list[Column]:
    """Without those that take no less of anything than a cheaper one of the same level."""
    kept: list[Column] = []
    for column in columns:
        names = {name for c in (column, *kept) for name, _ in c.capacity_gb} | {"usd", "gpus"}
        if not any(all(k.uses(n) <= column.uses(n) + 1e-9 for n in names) for k in kept):
            kept.append(column)
    return kept
