"""Why a request is impossible, and the smallest changes that make it possible, each found by solving again.

Promises (TTFT, TPOT, load) and settings are relaxed one by one along :mod:`planner.relaxations`; bisection on whole
solves finds the smallest sufficient value. Where no single change suffices, pairs of promises are tried, then the
smallest set of settings. An irreducible infeasible subset of the model's rows would name rows of one architecture
and design, not what the user can change, so none is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from itertools import combinations, product
from typing import Any

from planner.cells import SimplestPlans, SolveSettings, solve_cell
from planner.derive import candidates
from planner.designs import DecodeOption, Design
from planner.errors import InputError
from planner.physics.system import System
from planner.plan import Architecture, Change, Conflict, Fix
from planner.relaxations import LEFT_OUT, Relaxation, relaxations
from planner.scenario import Scenario, replace

PROMISES = {
    "slo.ttft_ms": ("ttft", "TTFT", "ms"),
    "slo.tpot_ms": ("tpot", "TPOT", "ms"),
    "workload.requests_per_second": ("load", "load", "req/s"),
}
JOINT = (*PROMISES, "deployment.max_gpus")  # tried in pairs where no single change suffices
MOST_JOINT = 6  # suggestions of two changes
SEARCH_GAP = 1e-2  # of the solves that search
COST_GAP, COST_S = 1e-4, 3.0  # of the solve that tells a suggestion's cost
GB = 1e9


@dataclass(frozen=True)
class Diagnosis:
    """What cannot be kept, what would help, and what ended the search early (empty: it is complete)."""

    conflicts: tuple[Conflict, ...]
    fixes: tuple[Fix, ...]
    halted: str = ""


class _HaltedError(Exception):
    """A limit was hit; the reason is the argument."""


class _FoundError(Exception):
    """A plan was found."""


def diagnose(system: System, settings: SolveSettings) -> Diagnosis:
    """Diagnose a scenario for which no plan exists."""
    memory = memory_conflict(system)
    search = _Search(system, settings)
    conflicts: list[Conflict] = [memory] if memory else []
    fixes: list[Fix] = []
    halted = ""
    try:
        search.run(conflicts, fixes)
    except _HaltedError as why:
        halted = str(why)
    return Diagnosis(tuple(conflicts), tuple(fixes), halted)


class _Search:
    """Solves of one scenario with changed settings."""

    def __init__(self, system: System, settings: SolveSettings) -> None:
        self.system, self.settings = system, settings
        self.scenario: Scenario = system.scenario
        self.all = list(relaxations(self.scenario))
        self.promises = [r for r in self.all if r.key in PROMISES]

    def run(self, conflicts: list[Conflict], fixes: list[Fix]) -> None:
        """Fill both lists in the order of the settings, so that what was found is kept when a limit is hit."""
        for relaxation in self.all:
            steps = self.smallest([relaxation])
            if steps is not None:
                fixes.append(self.fix([relaxation], steps))
            if relaxation.key in PROMISES and not any(c.code == "memory" for c in conflicts):
                conflicts += self.conflict(relaxation, None if steps is None else steps[0])
        if not fixes:
            fixes += self.joint()

    def conflict(self, promise: Relaxation, steps: int | None) -> Iterable[Conflict]:
        """How nearly a promise can be kept: with all others kept, else with the others released."""
        released = [(r, len(r.ladder) - 1) for r in self.promises if r.key != promise.key]
        alone = not self.possible(released)
        if alone and steps is None:
            found = self.smallest([promise], released)
            steps = None if found is None else found[0]
        if steps is None:
            return
        code, name, unit = PROMISES[promise.key]
        best, limit = float(promise.ladder[steps]), float(promise.before)
        yield Conflict(code, name, best, limit, unit, promise.key, self.line(promise.key), alone)

    def smallest(self, wanted: Sequence[Relaxation], given: Sequence[tuple[Relaxation, int]] = ()) -> list[int] | None:
        """The smallest step of each ladder, one after the other, with the later ones still at their most generous."""
        tops = [self.allowed(r, given) for r in wanted]
        steps = [(r, top) for r, top in zip(wanted, tops, strict=True)]
        if min(tops, default=-1) < 0 or not self.possible([*given, *steps]):
            return None
        for i, (relaxation, top) in enumerate(steps):
            low, high = -1, top  # impossible below, possible above
            while high - low > 1:
                middle = (low + high) // 2
                trial = [*given, *steps[:i], (relaxation, middle), *steps[i + 1 :]]
                low, high = (low, middle) if self.possible(trial) else (middle, high)
            steps[i] = (relaxation, high)
        return [step for _, step in steps]

    def allowed(self, relaxation: Relaxation, given: Sequence[tuple[Relaxation, int]]) -> int:
        """The most generous step that the scenario's own rules accept; -1 where none is."""
        low, high = -1, len(relaxation.ladder) - 1
        if self.changed([*given, (relaxation, high)]) is not None:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.changed([*given, (relaxation, middle)]) is not None
            low, high = (middle, high) if fits else (low, middle)
        return low

    def changed(self, steps: Sequence[tuple[Relaxation, int]]) -> System | None:
        """The scenario with the steps taken; None where its own rules refuse them."""
        changes: dict[str, Any] = {}
        for relaxation, step in steps:
            if step >= 0:
                changes |= relaxation.changes(relaxation.ladder[step])
        try:
            return System(replace(self.scenario, changes), like=self.system)
        except InputError:
            return None

    def possible(self, steps: Sequence[tuple[Relaxation, int]]) -> bool:
        """Whether a plan exists with the steps taken."""
        system = self.changed(steps)
        if system is None:
            return False
        loose = with_fields(self.settings, gap=max(SEARCH_GAP, self.settings.gap))
        architectures = _faster_first(system)
        if any(self.simple_plan_exists(system, a) for a in architectures):
            return True
        return any(math.isfinite(usd) for usd in self.costs(system, loose))

    def simple_plan_exists(self, system: System, architecture: Architecture) -> bool:
        """Whether the first designs' simplest plans hold: sufficient, and known before any model is built."""
        simplest = SimplestPlans(system)

        def judge(design: Design, pool: DecodeOption | None) -> float:
            usd = simplest.cost(design, pool)
            if math.isfinite(usd):
                raise _FoundError
            return usd

        try:
            found = candidates(system, architecture, True, judge=judge, halted=self.settings.halted)
        except _FoundError:
            return True
        if found.halted:
            raise _HaltedError(found.halted)
        return False

    def costs(self, system: System, settings: SolveSettings) -> Iterable[float]:
        """The cheapest plan of each architecture, infinite where there is none."""
        for architecture in _faster_first(system):
            proof = solve_cell(system, architecture, True, settings).proof
            if proof.best is None and proof.interrupted:
                raise _HaltedError(proof.interrupted)
            yield proof.cost

    def fix(self, wanted: Sequence[Relaxation], steps: Sequence[int]) -> Fix:
        """The found changes with what the plan then costs."""
        taken = list(zip(wanted, steps, strict=True))
        system = self.changed(taken)
        assert system is not None
        values = [(r, r.ladder[step]) for r, step in taken]
        changes = tuple(
            Change(r.key, self.line(r.key), r.before, None if value == LEFT_OUT else value) for r, value in values
        )
        enough = time.perf_counter() + COST_S
        settings = with_fields(
            self.settings, gap=max(COST_GAP, self.settings.gap), deadline=min(enough, self.settings.deadline)
        )
        return Fix(changes, min(self.costs(system, settings)))

    def joint(self) -> Iterable[Fix]:
        """Changes that suffice together: two promises, else one with a setting, else the smallest set of settings."""
        some = [r for r in self.all if r.key in JOINT]
        others = [r for r in self.all if r.key not in JOINT]
        found = 0
        for pairs in (combinations(some, 2), product(some, others)):
            for pair in pairs:
                steps = self.smallest(pair) if found < MOST_JOINT else None
                if steps is not None:
                    found += 1
                    yield self.fix(pair, steps)
            if found:
                return
        yield from self.minimal()

    def minimal(self) -> Iterable[Fix]:
        """All settings relaxed, then put back one by one where the rest suffices; none where nothing does."""
        wanted = [r for r in self.all if self.allowed(r, ()) >= 0]
        if not self.possible(self.generous(wanted)):
            return
        for relaxation in reversed(list(wanted)):
            without = [r for r in wanted if r is not relaxation]
            if self.possible(self.generous(without)):
                wanted = without
        steps = self.smallest(wanted)
        if steps is not None:
            yield self.fix(wanted, steps)

    def generous(self, wanted: Sequence[Relaxation]) -> list[tuple[Relaxation, int]]:
        """Every relaxation at its most generous step."""
        return [(r, self.allowed(r, ())) for r in wanted]

    def line(self, key: str) -> int | None:
        """Where a key stands in the file."""
        span = self.scenario.span(key)
        return span.line if span else None


def _faster_first(system: System) -> list[Architecture]:
    """Disaggregated designs have fewer dimensions to search."""
    return sorted(system.scenario.deployment.architectures, reverse=True)


def memory_conflict(system: System) -> Conflict | None:
    """The HBM that the roomiest configuration lacks, where the weights and what runs beside them fit in none."""
    short = [_short_of_memory(system, a) for a in system.scenario.deployment.architectures]
    lacking = [s for s in short if s is not None]
    if len(lacking) < len(short):
        return None
    _, what, key, have, need = max(lacking)
    span = system.scenario.span(key)
    return Conflict("memory", what, have / GB, need / GB, "GB", key, span.line if span else None, True)


def _short_of_memory(system: System, architecture: str) -> tuple[float, str, str, float, float] | None:
    """Room (negative), what for, the key that decides, HBM there and needed; None where a configuration has room."""
    batch = min(system.scenario.engine.batches)
    sequences = f"{batch} running sequence{'s' if batch > 1 else ''}"
    parts = [("one prompt", True, False), (sequences, False, True)]
    if architecture == "colocated":
        parts.append((f"one prompt and {sequences}", True, True))
    for what, prefills, decodes in parts:
        rooms = []
        for config in system.configs:
            need = system.prefill_memory(config) * prefills + system.decode_memory(config, batch) * decodes
            fixed = config.weight_bytes + config.reserve_bytes
            rooms.append((system.kv_memory(config) - need, fixed + system.kv_memory(config), fixed + need))
        room, have, need = max(rooms, default=(-math.inf, 0.0, 0.0))
        if room < 0:
            key = "engine.batches" if decodes and not prefills else "engine.configs"
            return room, f"HBM for the weights and {what}", key, have, need
    return None
