"""The designs of one cell at one value of an axis: a floor under each, and the exact cost of those that matter.

A design is a configuration, a batch, an instance count and a role per tier. Its cost changes continuously with the
axis (memory is bought by the byte) until it becomes impossible, and is found without a choice among designs: by its
simplest plan where that meets the design's floor, else by the optimisation model with this one design in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planner.bounds import hbm_suffices, reachable, rent_floor
from planner.cells import SimplestPlans
from planner.derive import Stream, decode_options, stream_of, streams_of, transfer_nodes
from planner.designs import Candidates, DecodeOption, Design, RoleSet, role_sets
from planner.physics.system import System
from planner.plan import Architecture, Evaluation, Role
from planner.study.proposals import proposed

CLOSED = 5e-6  # relative: a plan this near its floor is its design's cheapest
ROUNDING = 1e-9

Key = tuple[str, int | None, int, tuple[Role, ...]]  # configuration, batch, prefill instances, role per tier


@dataclass(frozen=True)
class Priced:
    """A design's cheapest plan and what no plan of it costs less than, in dollars per hour."""

    plan: Evaluation | None
    bound: float

    @property
    def usd(self) -> float:
        """The plan's cost, infinite where there is none."""
        return self.plan.usd_per_hour if self.plan is not None else math.inf


class DesignsAt:
    """One cell's designs in ``system``; everything is looked up once."""

    def __init__(self, system: System, architecture: Architecture, tiered: bool = True) -> None:
        """Derive the streams of ``system``."""
        self.system, self.architecture = system, architecture
        self.sets = {s.roles: s for s in role_sets(system.tiers, tiered)}
        self.decodes = decode_options(system) if architecture == "disaggregated" else ()
        self.nodes_needed = transfer_nodes(system) if architecture == "disaggregated" else 0.0
        self.programmes = 0  # designs priced by the model
        self._streams: dict[tuple[str, int | None], Stream | None] = {}
        self._designs: dict[Key, Design | None] = {}
        self._admissible: dict[tuple[str, int | None, int, float], float] = {}
        self._prices: dict[Key, Priced] = {}

    def stream(self, name: str, batch: int | None) -> Stream | None:
        """The designs of one configuration (and batch), None where it cannot serve."""
        where = name, batch
        if where not in self._streams:
            config, found = self.system.config_by_name[name], None
            if self.decodes or self.architecture == "colocated":
                found = stream_of(self.system, config, batch, tuple(self.sets.values()), self.decodes)
            self._streams[where] = found
        return self._streams[where]

    def keys(self, limit_usd: float) -> Iterator[Key]:
        """Designs whose floor is below ``limit_usd``."""
        if not self.decodes and self.architecture == "disaggregated":
            return
        for stream in streams_of(self.system, self.architecture, tuple(self.sets.values()), self.decodes):
            self._streams[stream.config.name, stream.batch] = stream
            for count in range(stream.first, stream.last + 1):
                if stream.usd(count) >= limit_usd:
                    break
                every = ((stream.config.name, stream.batch, count, roles.roles) for roles in stream.sets)
                yield from (key for key in every if self.floor(key) < limit_usd)

    def floor(self, key: Key) -> float:
        """Dollars per hour that no plan of the design goes below, infinite where it is known to have none."""
        design = self.design(key)
        return math.inf if design is None else design.usd_floor

    def design(self, key: Key) -> Design | None:
        """The design with its floor, None where it is known to be impossible."""
        if key not in self._designs:
            self._designs[key] = self._derive(key)
        return self._designs[key]

    def _derive(self, key: Key) -> Design | None:
        stream, roles = self.stream(*key[:2]), self.sets[key[3]]
        if stream is None or roles not in stream.sets or not stream.first <= key[2] <= stream.last:
            return None
        option = stream.option(key[2])
        if option.nodes < self.nodes_needed * (1 - ROUNDING):
            return None
        rows = stream.rows(key[2], self._admitted(stream, key, roles))
        if not reachable(option, rows):
            return None
        floor = stream.usd(key[2])
        if roles.used:
            floor += rent_floor(self.system, option, roles, rows)
        elif len(option.laws) == 1 and not hbm_suffices(option, rows):
            return None
        return Design(option, roles, rows, floor) if math.isfinite(floor) else None

    def _admitted(self, stream: Stream, key: Key, roles: RoleSet) -> float:
        where = (*key[:3], stream.budgets[roles])
        if where not in self._admissible:
            self._admissible[where] = stream.admissible(key[2], stream.budgets[roles])
        return self._admissible[where]

    def price(self, key: Key, halted: Callable[[], bool] | None = None) -> Priced:
        """The design's cheapest plan."""
        if key not in self._prices:
            self._prices[key] = self._price(key, halted)
        return self._prices[key]

    def priced(self, key: Key) -> Priced | None:
        """The design's price if it has been asked for."""
        return self._prices.get(key)

    def forget(self, key: Key) -> None:
        """Price the design again when it is next asked for."""
        self._prices.pop(key, None)

    def known(self, key: Key) -> Evaluation | None:
        """The design's cheapest plan if it has been asked for."""
        found = self._prices.get(key)
        return None if found is None else found.plan

    def _price(self, key: Key, halted: Callable[[], bool] | None) -> Priced:
        design, stream = self.design(key), self.stream(*key[:2])
        if design is None or stream is None:
            return Priced(None, math.inf)
        simplest = SimplestPlans(self.system)
        usd = simplest.cost(design, stream.pool)
        floor = design.usd_floor
        if usd > floor * (1 + CLOSED) and (better := proposed(self.system, design, stream.pool, CLOSED)) is not None:
            if better.plan is not None:
                simplest.see(better.plan)
            usd = simplest.best.usd_per_hour if simplest.best is not None else math.inf
            floor = max(floor, better.bound)
        if usd <= floor * (1 + CLOSED):
            return Priced(simplest.best, min(floor, usd))
        return self._programme(design, stream.pool, Priced(simplest.best, floor), halted)

    def _programme(
        self, design: Design, pool: DecodeOption | None, known: Priced, halted: Callable[[], bool] | None
    ) -> Priced:
        """The optimisation model with one design to choose from."""
        from planner.milp.solve import Proof, Prover, SolverOptions

        self.programmes += 1
        found = Candidates(self.system, self.architecture, (design,), (pool,) if pool else ())
        scale = known.usd if known.plan is not None else design.usd_floor
        proof = Proof(known.bound, known.usd, known.plan)
        Prover(found, scale, SolverOptions(CLOSED), halted).prove(proof)
        if proof.best is None and proof.interrupted:
            return known
        return Priced(proof.best, min(proof.bound, proof.cost))
