"""Candidate designs as plain numbers: what enumeration produces and the optimisation model chooses from.

A *design* is one prefill option (configuration, count, and batch where it also decodes) with one role per tier. For
each design the TTFT, queue and decode limits become one number per load row: the hits it needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from planner.physics.reuse import Law
from planner.physics.system import Service, System, Tier
from planner.physics.timing import EngineConfig
from planner.plan import Architecture, Role


@dataclass(frozen=True)
class RoleSet:
    """One role per listed tier; ``staged_in(t)`` is the tier that a prefetch tier is pulled up to."""

    roles: tuple[Role, ...]

    @cached_property
    def sync(self) -> tuple[int, ...]:
        """Tiers on the critical path."""
        return tuple(t for t, r in enumerate(self.roles) if r == "sync")

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Tiers with capacity."""
        return tuple(t for t, r in enumerate(self.roles) if r != "unused")

    def staged_in(self, tier: int) -> int | None:
        """The next faster synchronous tier, where a prefetch tier's KV waits; None for other roles."""
        if self.roles[tier] != "prefetch":
            return None
        return max(t for t in self.sync if t < tier)

    def label(self, tiers: Sequence[Tier]) -> str:
        """Readable name, e.g. ``dram sync, nvme prefetch``."""
        used = [f"{tiers[t].name} {self.roles[t]}" for t in self.used]
        return ", ".join(used) or "no tier"


def role_sets(tiers: Sequence[Tier], allowed: bool = True) -> tuple[RoleSet, ...]:
    """Every legal assignment: once a tier is prefetch every slower one in use is, and a faster one must be sync.

    >>> len(role_sets([]))
    1
    """
    choices: list[tuple[Role, ...]] = [("unused", *t.roles) if allowed else ("unused",) for t in tiers]
    out = []
    for roles in product(*choices):
        used = [r for r in roles if r != "unused"]
        if used == sorted(used, key=("sync", "prefetch").index) and used[:1] != ["prefetch"]:
            out.append(RoleSet(roles))
    return tuple(out)


@dataclass(frozen=True)
class PrefillOption:
    """A pool that prefills: ``instances`` of ``config`` (with ``batch`` where it also decodes)."""

    config: EngineConfig
    instances: int
    batch: int | None
    gpus: int
    billed_gpus: float
    nodes: float
    hbm_bytes: float
    service: Service
    laws: tuple[Law, ...]


@dataclass(frozen=True)
class DecodeOption:
    """A pool that only generates."""

    config: EngineConfig
    batch: int
    instances: int
    gpus: int
    billed_gpus: float
    nodes: float


@dataclass(frozen=True)
class HitsNeeded:
    """One load row, ``sum_j weights[j] * e_j >= need``: ``load(e) <= admissible`` over the load that hits save."""

    weights: tuple[float, ...]
    need: float


@dataclass(frozen=True)
class LoadLine:
    """Offered load of a pool against hits: ``idle - saved * sum_j weights[j] e_j``."""

    idle: float
    saved: float
    weights: tuple[float, ...]

    def row(self, admitted: float) -> HitsNeeded:
        """The hits that bring the load down to ``admitted``."""
        if admitted < 0:
            return HitsNeeded(self.weights, math.inf)
        if self.saved <= 1e-12 * max(self.idle, 1e-300):  # hits save no prefill
            return HitsNeeded(self.weights, math.inf if self.idle > admitted * (1 + 1e-12) else 0.0)
        return HitsNeeded(self.weights, (self.idle - admitted) / self.saved)

    def least(self, hits: Sequence[float]) -> float:
        """The load at these hits, or without any where that is less."""
        return min(self.idle, self.idle - self.saved * sum(w * h for w, h in zip(self.weights, hits, strict=True)))


def load_line(system: System, miss: tuple[float, ...], hit: tuple[float, ...]) -> LoadLine:
    """The load line of one set of service times."""
    saved = [0.0] * len(system.laws)
    for k, m, h in zip(system.classes, miss, hit, strict=True):
        saved[k.partition] += k.rate * (m - h)
    idle, total = system.load(miss, hit, (0.0,) * len(saved)), sum(saved)
    return LoadLine(idle, total, tuple(s / total for s in saved) if total > 0 else (0.0,) * len(saved))


@dataclass(frozen=True)
class Design:
    """A prefill option with one role per tier; ``rows`` are what its hits must reach."""

    prefill: PrefillOption
    roles: RoleSet
    rows: tuple[HitsNeeded, ...]
    usd_floor: float  # no plan of this design costs less

    @cached_property
    def need(self) -> float:
        """The largest need over load rows (meaningful with one partition)."""
        return max(0.0, *(r.need for r in self.rows))


@dataclass(frozen=True)
class Candidates:
    """Numbers only: what the optimisation model is built from."""

    system: System
    architecture: Architecture
    designs: tuple[Design, ...]
    decodes: tuple[DecodeOption, ...]
    unexplored_usd: float = math.inf  # designs beyond those listed cost at least this much
    halted: str = ""  # why the enumeration ended early
