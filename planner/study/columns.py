"""A service's columns: its cheapest structures at several service levels, as what each would take from a shared budget.

A level is the share of the service's load that is planned for; the rest is turned away.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from planner.cells import SimplestPlans, SolveSettings, preferred, solve_cell
from planner.errors import StoppedError
from planner.physics.system import System
from planner.plan import Architecture, Evaluation
from planner.scenario import Scenario, replace
from planner.study.load_note import observed_at
from planner.study.processes import Stop, spread

LEVELS = (1.0, 0.75, 0.5, 0.25)
STRUCTURES = 5  # kept per level
SERVICES_PER_PROCESS = 16  # a process takes as long to start as that many services take to solve
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

    @property
    def architecture(self) -> str:
        """Of its plan; empty where nothing is served."""
        return self.plan.decision.architecture if self.plan is not None else ""

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
    observed_at: tuple[float, ...] = ()  # loads of its reuse curves, where it is planned for another


EMPTY = Column(0.0, 0.0, 0.0, (), 0.0)


@dataclass(frozen=True)
class Wanted:
    """A service whose columns are wanted; it can be sent to another process."""

    scenario: str  # JSON
    name: str
    weight: float = 1.0
    levels: tuple[float, ...] = LEVELS
    structures: int = STRUCTURES


def services_of(
    wanted: Sequence[Wanted],
    *,
    jobs: int | None = None,
    stop: Stop = lambda: False,
    progress: Callable[[str], None] | None = None,
) -> list[Service]:
    """The services with their columns, in order.

    Args:
        wanted: the services.
        jobs: processes; None for as many as pay.
        stop: polled.
        progress: told of every service that is done.

    Raises:
        StoppedError: ``stop`` turned true before all were done.
    """
    pays = max(1, min(_idle_processors(), len(wanted) // SERVICES_PER_PROCESS))
    found: dict[int, Service] = {}
    for i, service in _solved(wanted, jobs or pays, stop):
        found[i] = service
        if progress:
            progress(f"{len(found)} of {len(wanted)} services")
        if stop():
            break
    if len(found) < len(wanted):
        raise StoppedError(f"interrupted: {len(found)} of {len(wanted)} services were solved, nothing was chosen")
    return [found[i] for i in range(len(wanted))]


def _idle_processors() -> int:
    """Those that others leave: on a busy machine a second process takes its turns from the first."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, (os.cpu_count() or 1) - round(busy))


def _solved(wanted: Sequence[Wanted], jobs: int, stop: Stop) -> Iterator[tuple[int, Service]]:
    if jobs > 1:
        yield from spread(columns_of, wanted, jobs, stop)
        return
    for i, one in enumerate(wanted):
        yield from ((i, service) for service in columns_of(one, stop))


def columns_of(wanted: Wanted, stop: Stop = lambda: False) -> Iterator[Service]:
    """The service, unless ``stop`` cut it short."""
    service = service_of(
        Scenario.model_validate_json(wanted.scenario), wanted.name, weight=wanted.weight, levels=wanted.levels,
        structures=wanted.structures, stop=stop,
    )  # fmt: skip
    if not stop():
        yield service


def service_of(
    scenario: Scenario,
    name: str,
    *,
    weight: float = 1.0,
    levels: Sequence[float] = LEVELS,
    structures: int = STRUCTURES,
    stop: Stop = lambda: False,
) -> Service:
    """Solve ``scenario`` at each level and keep its cheapest structures."""
    full = System(scenario)
    value = weight * full.tokens_per_s * MTOK_PER_HOUR
    settings = SolveSettings(scenario.solve.gap, time.perf_counter() + scenario.solve.time_limit_s, stop)
    architectures: Sequence[Architecture] = scenario.deployment.architectures
    columns = [EMPTY]
    for level in sorted(set(levels), reverse=True):
        if stop():
            break
        rate = full.rate * level
        system = System(replace(scenario, {"workload.requests_per_second": rate}), like=full) if level != 1 else full
        found: list[Column] = []
        for architecture in architectures:
            more = _plans(system, architecture, structures, settings, found)
            found = _undominated([*found, *(_column(p, level, value * level) for p in more)])[:structures]
        if found:  # the next level starts with the architecture that was cheapest here
            architectures = sorted(architectures, key=lambda a: a != found[0].architecture)
        columns += found
    observed = observed_at(scenario)
    other = any(full.rate * level != rate for level in levels for rate in observed)
    return Service(name, weight, full.tokens_per_s * MTOK_PER_HOUR, tuple(columns), observed if other else ())


class _Structures(SimplestPlans):
    """Simplest plans, of which the cheapest of each structure is kept."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.plans: dict[tuple[object, ...], Evaluation] = {}

    def see(self, plan: Evaluation) -> None:
        """Remember ``plan`` where it is the best of its structure."""
        super().see(plan)
        structure = plan.decision.structure()
        if structure not in self.plans or preferred(plan, self.plans[structure]):
            self.plans[structure] = plan


def _plans(
    system: System, architecture: Architecture, structures: int, settings: SolveSettings, known: Sequence[Column]
) -> list[Evaluation]:
    """The architecture's optimum, proven where it may be cheaper than what is ``known``, and other simplest plans.

    Where as many columns are known as are kept, nothing dearer than the last of them is looked for.
    """
    cheapest = known[0].usd_per_hour if known else math.inf
    at_most = known[-1].usd_per_hour if len(known) >= structures else math.inf
    seen = _Structures(system)
    cell = solve_cell(
        system, architecture, True, settings, keep=structures, ranking_limit=0.0, simplest=seen, at_most=at_most,
        prove_below=cheapest,
    )  # fmt: skip
    if cell.best is not None:
        seen.see(cell.best)
    return list(seen.plans.values())


def _column(plan: Evaluation, level: float, value: float) -> Column:
    billed = plan.prefill.billed_gpus + (plan.decode.billed_gpus if plan.decode else 0.0)
    sizes = tuple((t.name, t.capacity_bytes / 1e9) for t in plan.tiers[1:] if t.role != "unused")
    return Column(level, plan.usd_per_hour, billed, sizes, value, plan)


def _order(a: Column, b: Column) -> int:
    """Cheaper first; of equals the simpler plan."""
    if a.plan is None or b.plan is None:
        return 0
    return preferred(b.plan, a.plan) - preferred(a.plan, b.plan)


def _undominated(columns: list[Column]) -> list[Column]:
    """Cheapest first, without those that take no less of anything than a cheaper one of the same level."""
    kept: list[Column] = []
    for column in sorted(columns, key=cmp_to_key(_order)):
        names = {name for c in (column, *kept) for name, _ in c.capacity_gb} | {"usd", "gpus"}
        if not any(all(k.uses(n) <= column.uses(n) + 1e-9 for n in names) for k in kept):
            kept.append(column)
    return kept
