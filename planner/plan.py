"""Frozen results that cross layers: what was decided, what it costs, how it was judged, and what was proven.

Units inside are SI (seconds, bytes, requests per second) and dollars per hour; a field name says so. The
plan file (:mod:`planner.report.data`) converts them to the units that people read (ms, GB).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Architecture = Literal["colocated", "disaggregated"]
Word = Literal["synergy", "offset", "inconclusive", "not comparable"]  # of the verdict
Role = Literal["unused", "sync", "prefetch"]
Status = Literal["optimal", "feasible", "infeasible"]


@dataclass(frozen=True)
class Decision:
    """The design that is judged: everything the planner chooses, nothing it computes.

    ``capacity_bytes[t][j]`` is what tier ``t`` (in the scenario's order) gives to cache partition ``j``, staging
    included; ``hits[0][j]`` is HBM's cumulative hit rate and ``hits[1 + t][j]`` that of tier ``t``, all in [0, 1].
    """

    architecture: Architecture
    prefill_config: str
    prefill_instances: int
    batch: int | None  # sequences per instance where prefill and decode share it (colocated)
    decode_config: str | None
    decode_instances: int
    decode_batch: int | None
    roles: tuple[Role, ...]
    capacity_bytes: tuple[tuple[float, ...], ...]
    hbm_bytes: tuple[float, ...]
    hits: tuple[tuple[float, ...], ...]

    def structure(self) -> tuple[object, ...]:
        """What makes two plans different designs: architecture, configurations, counts and roles (not capacities)."""
        return (
            self.architecture,
            self.prefill_config,
            self.prefill_instances,
            self.batch,
            self.decode_config,
            self.decode_instances,
            self.roles,
        )


@dataclass(frozen=True)
class CostLine:
    """One line of the bill; ``quantity * unit_usd_per_hour`` is ``usd_per_hour``."""

    item: str
    quantity: float
    unit: str
    unit_usd_per_hour: float
    usd_per_hour: float
    source_key: str  # the scenario key that sets the unit price


@dataclass(frozen=True)
class Pool:
    """One pool of identical instances. Colocated plans have one, which prefills and decodes."""

    instances: int
    gpus_per_instance: int
    parallelism: str
    nodes: float
    gpus: int
    billed_gpus: float
    offered_load: float | None = None  # servers' worth of prefill work
    servers: float | None = None
    utilization: float | None = None  # prefill, of the busiest instance
    batch: int | None = None
    tpot_s: float | None = None
    concurrency: float | None = None  # sequences in decode, mean
    slots_needed: float | None = None
    hbm_cache_bytes: float | None = None


@dataclass(frozen=True)
class TierUse:
    """One tier in a plan. The HBM tier is listed first, free and synchronous."""

    name: str
    role: Role
    capacity_bytes: float
    staging_bytes: float
    hit_rate: float  # marginal: hits that no faster tier has
    cumulative_hit_rate: float
    read_utilization: float
    fetch_s: float  # largest over classes
    slack_s: float  # ttft - transfer - prefill - queue wait - fetch, smallest over classes
    slack_before_fetch_s: float
    why: str  # why it has this role, in one sentence with its numbers


@dataclass(frozen=True)
class TtftPath:
    """One way to the first token. ``slack_s`` is ``ttft - total_s``."""

    class_name: str
    path: str  # "miss", "hbm" or a tier's name
    probability: float
    queue_s: float
    fetch_s: float
    prefill_s: float
    transfer_s: float
    total_s: float
    slack_s: float
    in_use: bool = True


@dataclass(frozen=True)
class Violation:
    """A promise the design breaks: ``need`` exceeds ``have`` (same unit)."""

    rule: str
    need: float
    have: float
    unit: str


@dataclass(frozen=True)
class Evaluation:
    """The exact physics of one decision."""

    decision: Decision
    usd_per_hour: float
    usd_per_million_tokens: float
    costs: tuple[CostLine, ...]
    prefill: Pool
    decode: Pool | None  # None when colocated
    tiers: tuple[TierUse, ...]
    effective_hit_rate: float  # weighted by reusable tokens
    paths: tuple[TtftPath, ...]
    tpot_s: float
    binding: tuple[str, ...]  # rule names, tightest first
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]  # estimates this plan rests on (extrapolated timing, slow kernels, ...)
    tpot_error: tuple[float, float] | None = None  # measured less planned, relative: 80 % of unseen ones lay between
    ttft_error: tuple[float, float] | None = None  # the same of the first token; None where nothing was measured

    @property
    def feasible(self) -> bool:
        """True when every promise is kept."""
        return not self.violations


@dataclass(frozen=True)
class Certificate:
    """Bound from the MILP, cost from the exact evaluation, and their gap (``(cost - bound) / cost``)."""

    usd_per_hour_lower_bound: float
    usd_per_hour: float
    relative_gap: float
    target_gap: float
    rounds: int
    seconds: float
    solver: str
    verified_by: tuple[str, ...] = ()  # other solver settings that gave the same bound (--verify)

    @property
    def proven(self) -> bool:
        """True when the gap is within its target, or within what the solver's own tolerance can tell (1e-6)."""
        return self.relative_gap <= max(self.target_gap, 1e-6)


@dataclass(frozen=True)
class Plan:
    """A ranked plan and what sets it apart from the first."""

    rank: int
    evaluation: Evaluation
    differs_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One of the four: an architecture with or without tiers. ``plan`` is None where nothing fits."""

    architecture: Architecture
    tiered: bool
    evaluation: Evaluation | None
    certificate: Certificate | None
    why_not: str = ""


@dataclass(frozen=True)
class LoadPoint:
    """The interaction at one load; ``fractional`` lets instance counts be fractions."""

    load_factor: float
    interaction_usd_per_hour: float | None
    fractional: bool = False


@dataclass(frozen=True)
class Limit:
    """A re-solve that names what decides: which relaxation, what became of the plan."""

    kind: Literal["slack", "hits"]
    relaxation: str
    usd_per_hour: float | None
    structure_changed: bool
    becomes: str


@dataclass(frozen=True)
class Verdict:
    """Does combining pay? ``word`` is inconclusive where the sign flips or the amount is below one instance's price."""

    word: Word
    interaction_usd_per_hour: float | None
    saving_both: float | None
    saving_disaggregation: float | None
    saving_tiers: float | None
    limited_by: tuple[str, ...]
    points: tuple[LoadPoint, ...]
    limits: tuple[Limit, ...]
    explanation: str


@dataclass(frozen=True)
class Conflict:
    """A promise that cannot be kept: the nearest value that can, in the unit of its key."""

    code: str  # stable: "ttft", "tpot", "load", "memory"
    promise: str  # "TTFT"
    best: float
    limit: float
    unit: str
    key: str  # the scenario key that states the limit
    line: int | None  # its line in the file; None for a default
    alone: bool  # true where no other promise matters: not even an idle service keeps it


@dataclass(frozen=True)
class Change:
    """One setting and the smallest change of it; values as in the file, ``None`` for a key to leave out."""

    key: str
    line: int | None  # None for a default: the key has to be added
    before: object
    after: object


@dataclass(frozen=True)
class Fix:
    """Changes that together make an impossible request possible, found by solving again, and what it then costs."""

    changes: tuple[Change, ...]
    usd_per_hour: float


@dataclass(frozen=True)
class PlanSet:
    """Everything that one solve found; what every renderer reads."""

    scenario_name: str
    scenario_file: str
    scenario_sha256: str
    headline: str  # "Qwen3-235B-A22B FP8 on H200 SXM · 40 req/s, 10,000 in / 395 out · TTFT p95 <= 1500 ms"
    planner_version: str
    status: Status
    certificate: Certificate | None
    plans: tuple[Plan, ...]
    cells: tuple[Cell, ...]
    verdict: Verdict | None
    defaults: tuple[tuple[str, str], ...] = ()  # (scenario key, value) that the catalog filled in
    sources: tuple[tuple[str, str], ...] = ()  # (catalog value, its source, date and confidence)
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # infeasible: why, and the nearest possible
    conflicts: tuple[Conflict, ...] = ()  # the same as data
    fixes: tuple[Fix, ...] = ()
    seconds: float = 0.0
    versions: tuple[tuple[str, str], ...] = field(default=())
