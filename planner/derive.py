"""Scenario to candidates: the only place that samples physics for the optimisation model (MODEL.md section 11).

A *design* is one prefill option (configuration, count, and batch where it also decodes) with one role per tier. For
each design the TTFT, queue and decode limits become one number per load row: the hits it needs. Designs that cannot
reach them, that a better one dominates, or whose cost alone exceeds a known plan are left out, each by an inequality
that holds for every capacity, so that no optimum is lost.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

from planner.physics import cost, decode, queueing
from planner.physics.reuse import Law
from planner.physics.system import Service, System, Tier
from planner.physics.timing import EngineConfig
from planner.plan import Architecture, Role


@dataclass(frozen=True)
class RoleSet:
    """One role per listed tier; ``staged_in[t]`` is the tier that a prefetch tier is pulled up to."""

    roles: tuple[Role, ...]

    @property
    def sync(self) -> tuple[int, ...]:
        """Tiers on the critical path."""
        return tuple(t for t, r in enumerate(self.roles) if r == "sync")

    @property
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
    choices = [("unused", *t.roles) if allowed else ("unused",) for t in tiers]
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
    instances: float  # whole, except in the relaxation to fractional counts
    gpus: float
    billed_gpus: float
    nodes: float


@dataclass(frozen=True)
class HitsNeeded:
    """One load row: ``sum_j weights[j] * e_j >= need``, from ``load(e) <= admissible`` divided by the load hits save."""

    weights: tuple[float, ...]
    need: float


@dataclass(frozen=True)
class Design:
    """A prefill option with one role per tier; ``rows`` are what its hits must reach."""

    prefill: PrefillOption
    roles: RoleSet
    rows: tuple[HitsNeeded, ...]
    usd_floor: float  # no plan of this design costs less

    @property
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
    near_misses: tuple[str, ...] = field(default=())


def candidates(
    system: System,
    architecture: Architecture,
    tiered: bool,
    *,
    keep: int = 1,
    usd_limit: float = math.inf,
    judge: Callable[[Design, DecodeOption | None], float] | None = None,
    fractional: bool = False,
) -> Candidates:
    """Designs of one cell, cheapest GPUs first, until their GPUs alone cost more than the best known plans.

    Args:
        system: the scenario's numbers.
        architecture: colocated or disaggregated.
        tiered: whether tiers may be used.
        keep: how many plans of different structure must stay possible (ranked plans).
        usd_limit: a known cost in dollars per hour; designs above it are left out.
        judge: exact cost of a design's simplest plan (infinite if it has none); its results tighten the limit.
        fractional: for instance counts in fractions: keep counts that are a little too small.
    """
    decodes = decode_options(system) if architecture == "disaggregated" else ()
    if architecture == "disaggregated" and not decodes:
        return Candidates(system, architecture, (), ())
    if fractional:
        decodes = tuple(_fractional_pool(system, d) for d in decodes)
    limit = _Limit(keep, usd_limit, judge)
    streams = []
    sets = role_sets(system.tiers, tiered)
    for config in system.configs:
        for batch in (None,) if architecture == "disaggregated" else system.scenario.engine.batches:
            stream = _stream(system, config, batch, sets, decodes, fractional)
            if stream is not None:
                streams.append(stream)
    heap = [(s.usd(s.first), i, s.first) for i, s in enumerate(streams)]
    heapq.heapify(heap)
    found: list[Design] = []
    while heap:
        usd, i, count = heapq.heappop(heap)
        if usd > limit.usd * (1 + 1e-9):
            break
        stream = streams[i]
        made, enough = stream.designs(count, usd, limit)
        found.extend(made)
        if not enough and count < stream.last:
            heapq.heappush(heap, (stream.usd(count + 1), i, count + 1))
    kept = [d for d in found if d.usd_floor <= limit.usd * (1 + 1e-9)]
    if not fractional:
        kept = _undominated(kept, system, bool(decodes))
    return Candidates(system, architecture, tuple(sorted(kept, key=lambda d: d.usd_floor)), decodes)


class _Limit:
    """The cost that a design must be able to undercut: the ``keep``-th best known plan."""

    def __init__(
        self, keep: int, usd_limit: float, judge: Callable[[Design, DecodeOption | None], float] | None
    ) -> None:
        self.keep, self.judge = keep, judge
        self.costs = [usd_limit] * keep

    @property
    def usd(self) -> float:
        return self.costs[-1]

    def see(self, design: Design, pool: DecodeOption | None) -> None:
        if self.judge is None or design.usd_floor >= self.usd * (1 - 1e-9):
            return
        cost_found = self.judge(design, pool)
        if cost_found < self.usd:
            self.costs = sorted([*self.costs, cost_found])[: self.keep]


@dataclass(frozen=True)
class _Stream:
    """Designs of one configuration (and batch), by instance count."""

    system: System
    config: EngineConfig
    batch: int | None
    sets: tuple[RoleSet, ...]
    budgets: dict[RoleSet, float]
    service: Service
    hbm: float  # per instance, bytes of KV
    pool: DecodeOption | None
    first: int
    last: int
    fractional: bool

    def usd(self, count: int) -> float:
        """GPU cost at ``count`` instances, decode pool included."""
        nodes = cost.pool_nodes(count, self.config.gpus, self.system.gpus_per_node, self.system.whole_nodes)
        billed = nodes * self.system.gpus_per_node if self.system.whole_nodes else count * self.config.gpus
        return (billed + (self.pool.billed_gpus if self.pool else 0.0)) * self.system.gpu_usd_per_hour

    def designs(self, count: int, gpu_usd: float, limit: _Limit) -> tuple[list[Design], bool]:
        """Designs at ``count``, and whether HBM alone suffices (then tiers and more instances only cost more)."""
        system = self.system
        option = _option(system, self.config, self.batch, count, self.hbm, self.service)
        if self.batch is None and option.nodes < _transfer_nodes(system) * (1 - 1e-9):
            return [], False
        pure = _pure_admissible(system, option)
        easiest = load_rows(system, option, self._most(option), pure)
        if not self.fractional and not reachable(option, easiest):
            return [], False
        admitted: dict[float, float] = {}
        out: list[Design] = []
        for roles in self.sets:
            if not roles.used and len(option.laws) == 1 and not self.fractional and not hbm_suffices(option, easiest):
                continue
            budget = self.budgets[roles]
            if budget not in admitted:
                admitted[budget] = admissible(system, option, budget)
            rows = load_rows(system, option, admitted[budget], pure)
            design = self._design(option, roles, rows, gpu_usd)
            if design is None or design.usd_floor > limit.usd * (1 + 1e-9):
                continue
            out.append(design)
            limit.see(design, self.pool)
            if not roles.used and hbm_suffices(option, rows):
                return [design] if not self.fractional else out, True
        return out, False

    def _most(self, option: PrefillOption) -> float:
        """Offered load that utilisation allows: no queue admits more."""
        servers = option.instances * self.config.ways
        return self.system.max_utilization * servers / (self.system.load_imbalance if self.batch is not None else 1.0)

    def _design(
        self, option: PrefillOption, roles: RoleSet, rows: tuple[HitsNeeded, ...], gpu_usd: float
    ) -> Design | None:
        if self.fractional:  # a count that is too small may be mixed with the next one
            return Design(option, roles, rows, gpu_usd) if max(r.need for r in rows) <= 3.0 else None
        if not reachable(option, rows):
            return None
        if not roles.used:
            keep = len(option.laws) > 1 or hbm_suffices(option, rows)
            return Design(option, roles, rows, gpu_usd) if keep else None
        floor = gpu_usd + rent_floor(self.system, option, roles, rows)
        return Design(option, roles, rows, floor) if math.isfinite(floor) else None


def _stream(
    system: System,
    config: EngineConfig,
    batch: int | None,
    sets: Sequence[RoleSet],
    decodes: Sequence[DecodeOption],
    fractional: bool,
) -> _Stream | None:
    """The stream of one configuration; None where it cannot serve at any count."""
    hbm = _hbm_per_instance(system, config, batch)
    if hbm < 0:
        return None
    if batch is not None and max(system.steps_s(config, batch)) >= system.tpot_s:
        return None
    pool = cheapest_decode(decodes, config, system) if decodes else None
    if decodes and pool is None:
        return None
    service = system.service(config, batch)
    budgets = {s: system.ttft_s - service.longest_path_s(s.sync) for s in sets}
    open_sets = tuple(s for s in sets if budgets[s] >= 0)
    first = _fewest(system, config, batch, service)
    spare = system.scenario.deployment.max_gpus - (pool.gpus if pool else 0)
    last = math.floor(spare / config.gpus + 1e-9)
    if not open_sets or first > last:
        return None
    if fractional:
        first = max(1, first - 1)
    return _Stream(system, config, batch, open_sets, budgets, service, hbm, pool, first, last, fractional)


def _fractional_pool(system: System, pool: DecodeOption) -> DecodeOption:
    """The pool with as many instances as its slots need, not rounded up."""
    slots = decode.slots_needed(system.concurrency(system.steps_s(pool.config, pool.batch)), system.z)
    count = slots / pool.batch
    gpus = count * pool.config.gpus
    return DecodeOption(pool.config, pool.batch, count, gpus, gpus, gpus / system.gpus_per_node)


def hbm_suffices(option: PrefillOption, rows: Sequence[HitsNeeded]) -> bool:
    """Whether the free HBM reaches the hits: exact for one partition, by a proportional split otherwise (sufficient)."""
    count = len(option.laws)
    if count == 1:
        hits = [option.laws[0].hit_rate(option.hbm_bytes)]
    else:
        hits = [law.hit_rate(option.hbm_bytes / count) for law in option.laws]
    return all(sum(w * h for w, h in zip(r.weights, hits, strict=True)) >= r.need - 1e-12 for r in rows)


def reachable(option: PrefillOption, rows: Sequence[HitsNeeded]) -> bool:
    """Whether any capacity reaches the needed hits: no law exceeds its ceiling."""
    return all(sum(w * law.top for w, law in zip(r.weights, option.laws, strict=True)) >= r.need - 1e-12 for r in rows)


def rent_floor(system: System, option: PrefillOption, roles: RoleSet, rows: Sequence[HitsNeeded]) -> float:
    """Rent that no capacities of this role assignment go below, in dollars per hour.

    With one partition, effective hits never exceed ``h`` of the largest cache in use, so that cache must hold
    ``h^-1(need)`` bytes (inclusive), or all caches together must (exclusive).
    """
    if len(option.laws) > 1:
        return 0.0
    need = max(0.0, *(r.need for r in rows))
    capacity = option.laws[0].capacity_for(min(need, option.laws[0].top * (1 - 1e-12)))
    tiers = [system.tiers[t] for t in roles.used]
    if not system.inclusive:
        spare = option.hbm_bytes + sum(t.included_per_node for t in tiers) * option.nodes
        return min(t.usd_per_byte_hour for t in tiers) * max(0.0, capacity - spare)
    options = [
        cost.rent_usd_per_hour(_whole_steps(t, capacity), t.included_per_node * option.nodes, t.usd_per_byte_hour)
        for t in tiers
        if capacity <= t.max_per_node * option.nodes * (1 + 1e-9)
    ]
    return min(options, default=math.inf)


def _whole_steps(tier: Tier, capacity: float) -> float:
    return capacity if tier.step is None else math.ceil(capacity / tier.step - 1e-9) * tier.step


def load_rows(system: System, option: PrefillOption, admitted: float, pure: float) -> tuple[HitsNeeded, ...]:
    """``load(e) <= admitted`` (queue, TTFT) and, where the pool also decodes, ``pure load(e) <= pure`` (TPOT, slots)."""
    service = option.service
    rows = [_row(system, service.miss, service.hit, admitted, len(option.laws))]
    if option.batch is not None:
        rows.append(_row(system, service.pure_miss, service.pure_hit, pure, len(option.laws)))
    return tuple(rows)


def _row(
    system: System, miss: tuple[float, ...], hit: tuple[float, ...], admitted: float, partitions: int
) -> HitsNeeded:
    none = (0.0,) * partitions
    idle = system.load(miss, hit, none)
    saved = [
        idle - system.load(miss, hit, tuple(float(i == j) for i in range(partitions))) for j in range(partitions)
    ]
    total = sum(saved)
    if admitted < 0:
        return HitsNeeded(none, math.inf)
    if total <= 1e-12 * max(idle, 1e-300):  # hits save no prefill
        return HitsNeeded(none, math.inf if idle > admitted * (1 + 1e-12) else 0.0)
    return HitsNeeded(tuple(s / total for s in saved), (idle - admitted) / total)


def admissible(system: System, option: PrefillOption, budget_s: float) -> float:
    """Largest offered load of the pool whose queue wait leaves ``budget_s`` for the path (MODEL.md section 9)."""
    variability, percentile, limit = option.service.variability, system.percentile, system.max_utilization
    if option.batch is None:
        servers = option.instances * option.config.ways
        return queueing.admissible_load(servers, system.rate, variability, percentile, limit, budget_s)
    rate = system.load_imbalance * system.rate / option.instances
    one = queueing.admissible_load(option.config.ways, rate, variability, percentile, limit, budget_s)
    return option.instances * one / system.load_imbalance


def _pure_admissible(system: System, option: PrefillOption) -> float:
    """Largest pure prefill load that leaves decode its TPOT and slots; infinite where the pool does not decode."""
    if option.batch is None:
        return math.inf
    steps = system.steps_s(option.config, option.batch)
    share = decode.max_prefill_share(
        system.concurrency(steps), option.instances * option.batch, system.z, max(steps), system.tpot_s
    )
    return share * option.instances * option.config.ways if share >= 0 else -1.0


def _hbm_per_instance(system: System, config: EngineConfig, batch: int | None) -> float:
    """HBM tier of one instance in bytes of KV; negative where its working space does not fit."""
    free = system.kv_memory(config) - system.prefill_memory(config)
    if batch is not None:
        free -= system.decode_memory(config, batch)
    return free / system.replication(config)


def _option(
    system: System, config: EngineConfig, batch: int | None, count: int, hbm: float, service: Service
) -> PrefillOption:
    nodes = cost.pool_nodes(count, config.gpus, system.gpus_per_node, system.whole_nodes)
    gpus = count * config.gpus
    billed = nodes * system.gpus_per_node if system.whole_nodes else gpus
    architecture: Architecture = "disaggregated" if batch is None else "colocated"
    laws = tuple(system.partition_law(j, architecture, count) for j in range(len(system.laws)))
    return PrefillOption(config, count, batch, gpus, billed, nodes, count * hbm, service, laws)


def _fewest(system: System, config: EngineConfig, batch: int | None, service: Service) -> int:
    """Fewest instances worth trying: below it the utilisation limit fails even if every reusable prefix hits."""
    tops = tuple(law.top for law in system.laws)
    idle, best = (system.load(service.miss, service.hit, e) for e in ((0.0,) * len(tops), tops))
    limit = system.max_utilization * config.ways / system.load_imbalance ** (batch is not None)
    fewest = max(1, math.ceil(min(idle, best) / limit - 1e-9))
    if batch is not None:
        steps = system.steps_s(config, batch)
        fewest = max(fewest, math.ceil(decode.slots_needed(system.concurrency(steps), system.z) / batch - 1e-9))
    return fewest


def _transfer_nodes(system: System) -> float:
    """Nodes that each pool needs so that the KV of all prompts crosses between them."""
    per_node = system.scenario.deployment.transfer.gb_per_s_per_node
    if per_node is None:
        return 0.0
    return system.prompt_bytes_per_s / (system.read_utilization * per_node * 1e9)


def decode_options(system: System) -> tuple[DecodeOption, ...]:
    """Decode pools that keep TPOT and fit their memory; per tensor parallelism, only those that no other beats."""
    found = []
    for config in system.configs:
        memory = system.kv_memory(config)
        for batch in system.scenario.engine.batches:
            steps = system.steps_s(config, batch)
            if max(steps) > system.tpot_s * (1 + 1e-12) or system.decode_memory(config, batch) > memory:
                continue
            count = decode.instances_needed(system.concurrency(steps), system.z, batch)
            nodes = cost.pool_nodes(count, config.gpus, system.gpus_per_node, system.whole_nodes)
            gpus = count * config.gpus
            billed = nodes * system.gpus_per_node if system.whole_nodes else gpus
            if nodes >= _transfer_nodes(system) * (1 - 1e-9) and gpus < system.scenario.deployment.max_gpus:
                found.append(DecodeOption(config, batch, count, gpus, billed, nodes))
    found.sort(key=lambda d: (d.billed_gpus, d.gpus, d.instances, -d.config.tp, d.batch))
    coupled = system.scenario.deployment.transfer.prefill_tp_at_most_decode_tp
    kept: list[DecodeOption] = []
    for d in found:
        if not any(k.gpus <= d.gpus and (k.config.tp >= d.config.tp or not coupled) for k in kept):
            kept.append(d)
    return tuple(kept)


def cheapest_decode(decodes: Sequence[DecodeOption], config: EngineConfig, system: System) -> DecodeOption | None:
    """The cheapest decode pool that can follow ``config``."""
    coupled = system.scenario.deployment.transfer.prefill_tp_at_most_decode_tp
    fits = [d for d in decodes if not coupled or d.config.tp >= config.tp]
    return min(fits, key=lambda d: (d.billed_gpus, d.gpus), default=None)


def _undominated(designs: list[Design], system: System, disaggregated: bool) -> list[Design]:
    """Drop designs that another with the same roles beats in cost, nodes, HBM, laws and hits needed."""
    coupled = disaggregated and system.scenario.deployment.transfer.prefill_tp_at_most_decode_tp
    designs.sort(key=lambda d: (d.prefill.billed_gpus, d.prefill.gpus, d.need, d.prefill.instances))
    kept: dict[RoleSet, list[Design]] = {}
    for design in designs:
        rivals = kept.setdefault(design.roles, [])
        if not any(_dominates(r, design, coupled) for r in rivals):
            rivals.append(design)
    return [d for group in kept.values() for d in group]


def _dominates(a: Design, b: Design, coupled: bool) -> bool:
    p, q = a.prefill, b.prefill
    if len(a.rows[0].weights) > 1:  # rows of different weights cannot be compared by one number
        return False
    return (
        p.billed_gpus <= q.billed_gpus
        and p.gpus <= q.gpus
        and p.nodes >= q.nodes
        and p.hbm_bytes >= q.hbm_bytes
        and a.need <= b.need
        and (p.batch is None or p.laws == q.laws or p.instances <= q.instances)
        and (not coupled or p.config.tp <= q.config.tp)
    )
