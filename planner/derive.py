"""Scenario to candidates: the only place that samples physics for the optimisation model (MODEL.md section 11).

Designs come cheapest GPUs first. Those that cannot reach the hits they need, that a better one dominates, or whose
cost floor exceeds a known plan are left out, each by an inequality of :mod:`planner.bounds`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.bounds import hbm_suffices, reachable, rent_floor, undominated
from planner.designs import (
    Candidates,
    DecodeOption,
    Design,
    HitsNeeded,
    LoadLine,
    PrefillOption,
    RoleSet,
    load_line,
    role_sets,
)
from planner.physics import cost, decode, queueing
from planner.physics.system import Service, System
from planner.physics.timing import EngineConfig
from planner.plan import Architecture

Judge = Callable[[Design, DecodeOption | None], float]


def candidates(
    system: System,
    architecture: Architecture,
    tiered: bool,
    *,
    keep: int = 1,
    judge: Judge | None = None,
    halted: Callable[[], str] = str,
    at_most: float = math.inf,
) -> Candidates:
    """Designs of one cell, until their GPUs alone cost more than the best known plans.

    Args:
        system: the scenario's numbers.
        architecture: colocated or disaggregated.
        tiered: whether tiers may be used.
        keep: how many plans of different structure must stay possible (ranked plans).
        judge: exact cost of a design's simplest plan (infinite if it has none); its results tighten the limit.
        halted: polled; a reason ends the enumeration with what was found, and with a bound on the rest.
        at_most: cost in dollars per hour above which no design is of interest.
    """
    decodes = decode_options(system) if architecture == "disaggregated" else ()
    if architecture == "disaggregated" and not decodes:
        return Candidates(system, architecture, (), ())
    limit = _Limit(keep, judge, at_most)
    found: list[Design] = []
    streams = list(streams_of(system, architecture, role_sets(system.tiers, tiered), decodes))
    heap = [(s.usd(s.first), i, s.first) for i, s in enumerate(streams)]
    heapq.heapify(heap)
    untried = set(range(len(streams)))
    unexplored, reason = math.inf, ""
    while heap:
        usd, i, count = heapq.heappop(heap)
        if usd > limit.usd * (1 + 1e-9):
            break
        if reason := halted():
            unexplored = usd
            break
        before = len(found)
        enough = streams[i].extend(found, count, usd, limit)
        count += 1
        if len(found) == before and i in untried:
            count = streams[i].first_reachable(count)
        untried.discard(i)
        if not enough and count <= streams[i].last:
            heapq.heappush(heap, (streams[i].usd(count), i, count))
    kept = [d for d in found if d.usd_floor <= limit.usd * (1 + 1e-9)]
    coupled = bool(decodes) and system.scenario.deployment.transfer.prefill_tp_at_most_decode_tp
    kept = undominated(kept, coupled)
    designs = tuple(sorted(kept, key=lambda d: d.usd_floor))
    return Candidates(system, architecture, designs, decodes, unexplored, reason)


class _Limit:
    """The cost that a design must be able to undercut: the ``keep``-th best known plan."""

    def __init__(self, keep: int, judge: Judge | None, at_most: float) -> None:
        self.keep, self.judge = keep, judge
        self.costs = [at_most] * keep
        self.usd = at_most

    def see(self, design: Design, pool: DecodeOption | None) -> None:
        if self.judge is None or design.usd_floor > self.usd * (1 + 1e-9):
            return
        found = self.judge(design, pool)
        if found < self.usd:
            self.costs = sorted([*self.costs, found])[: self.keep]
            self.usd = self.costs[-1]


@dataclass(frozen=True)
class Stream:
    """Designs of one configuration (and batch), by instance count."""

    system: System
    config: EngineConfig
    batch: int | None
    sets: tuple[RoleSet, ...]
    budgets: dict[RoleSet, float]  # seconds that a design's longest path leaves for the queue
    service: Service
    lines: tuple[LoadLine, ...]
    hbm: float  # per instance, bytes of KV
    pool: DecodeOption | None
    first: int
    last: int
    concurrency: float  # mean sequences in decode; 0 where the pool does not decode

    @property
    def architecture(self) -> Architecture:
        """Disaggregated where the pool only prefills."""
        return "disaggregated" if self.batch is None else "colocated"

    def usd(self, count: int) -> float:
        """GPU cost at ``count`` instances, decode pool included."""
        billed = _billed(self.system, count * self.config.gpus)[0]
        return (billed + (self.pool.billed_gpus if self.pool else 0.0)) * self.system.gpu_usd_per_hour

    def option(self, count: int) -> PrefillOption:
        """The pool with ``count`` instances."""
        system, gpus = self.system, count * self.config.gpus
        billed, nodes = _billed(system, gpus)
        laws = tuple(system.partition_law(j, self.architecture, count) for j in range(len(system.laws)))
        return PrefillOption(self.config, count, self.batch, gpus, billed, nodes, count * self.hbm, self.service, laws)

    def rows(self, count: float, admitted: float) -> tuple[HitsNeeded, ...]:
        """``load(e) <= admitted`` (queue, TTFT) and, where the pool also decodes, ``pure load(e) <= pure limit``."""
        first = self.lines[0].row(admitted)
        if self.batch is None:
            return (first,)
        return first, self.lines[1].row(self.pure_admissible(count))

    def most(self, count: int) -> float:
        """Offered load that utilisation allows: no queue admits more."""
        imbalance = 1.0 if self.batch is None else self.system.load_imbalance
        return self.system.max_utilization * count * self.config.ways / imbalance

    def admissible(self, count: float, budget_s: float) -> float:
        """Largest offered load of the pool whose queue wait leaves ``budget_s`` for the path (MODEL.md section 9)."""
        system, ways = self.system, self.config.ways
        shared = (self.service.variability, system.percentile, system.max_utilization, budget_s)
        if self.batch is None:
            return queueing.admissible_load(int(count) * ways, system.rate, *shared)
        one = queueing.admissible_load(ways, system.load_imbalance * system.rate / count, *shared)
        return count * one / system.load_imbalance

    def wait_s(self, count: int, load: float) -> float:
        """The queue wait at the percentile under an offered load; infinite beyond the utilisation limit."""
        system, ways = self.system, self.config.ways
        if load > self.most(count):
            return math.inf
        if self.batch is None:
            return queueing.wait_s(count * ways, load, system.rate, self.service.variability, system.percentile)
        share = system.load_imbalance / count
        return queueing.wait_s(ways, load * share, system.rate * share, self.service.variability, system.percentile)

    def pure_admissible(self, count: float) -> float:
        """Largest pure prefill load that leaves decode its TPOT and slots."""
        if self.batch is None:
            return math.inf
        system = self.system
        step_s = self.service.step_s
        share = decode.max_prefill_share(self.concurrency, count * self.batch, system.z, step_s, system.tpot_s)
        return share * count * self.config.ways if share >= 0 else -1.0

    def first_reachable(self, count: int) -> int:
        """The least count from ``count`` on whose pools could reach the hits they need; ``last + 1`` where none could.

        More instances never need more hits: at an unchanged total load each gets less of it, so that its queue waits
        less and its decoding leaves more to prefill. Hence bisection.
        """
        tops = [law.top for law in self.system.laws]
        least, pure = (line.least(tops) * (1 - 1e-9) for line in (self.lines[0], self.lines[-1]))
        longest = max(self.budgets[s] for s in self.sets)

        def possible(n: int) -> bool:
            return self.wait_s(n, least) <= longest and (self.batch is None or pure <= self.pure_admissible(n))

        low, high = count, self.last + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if possible(middle) else (middle + 1, high)
        return low

    def extend(self, found: list[Design], count: int, gpu_usd: float, limit: _Limit) -> bool:
        """Add the designs at ``count``; True where HBM alone suffices (tiers and more instances only cost more)."""
        system = self.system
        option = self.option(count)
        if self.batch is None and option.nodes < transfer_nodes(system) * (1 - 1e-9):
            return False
        easiest = self.rows(count, self.most(count))
        if not reachable(option, easiest):
            return False
        admitted: dict[float, float] = {}
        for roles in self.sets:
            if not roles.used and len(option.laws) == 1 and not hbm_suffices(option, easiest):
                continue
            if roles.used and gpu_usd + rent_floor(system, option, roles, easiest) > limit.usd * (1 + 1e-9):
                continue
            budget = self.budgets[roles]
            if budget not in admitted:
                admitted[budget] = self.admissible(count, budget)
            rows = self.rows(count, admitted[budget])
            design = self._design(option, roles, rows, gpu_usd)
            if design is None or design.usd_floor > limit.usd * (1 + 1e-9):
                continue
            found.append(design)
            limit.see(design, self.pool)
            if not roles.used and hbm_suffices(option, rows):
                return True
        return False

    def _design(
        self, option: PrefillOption, roles: RoleSet, rows: tuple[HitsNeeded, ...], gpu_usd: float
    ) -> Design | None:
        if not reachable(option, rows):
            return None
        if not roles.used:
            keep = len(option.laws) > 1 or hbm_suffices(option, rows)
            return Design(option, roles, rows, gpu_usd) if keep else None
        floor = gpu_usd + rent_floor(self.system, option, roles, rows)
        return Design(option, roles, rows, floor) if math.isfinite(floor) else None


def streams_of(
    system: System, architecture: Architecture, sets: Sequence[RoleSet], decodes: Sequence[DecodeOption]
) -> list[Stream]:
    """One stream per configuration (and batch) that can serve at some count."""
    out = []
    for config in system.configs:
        for batch in (None,) if architecture == "disaggregated" else system.scenario.engine.batches:
            stream = stream_of(system, config, batch, sets, decodes)
            if stream is not None:
                out.append(stream)
    return out


def stream_of(
    system: System,
    config: EngineConfig,
    batch: int | None,
    sets: Sequence[RoleSet],
    decodes: Sequence[DecodeOption],
) -> Stream | None:
    """The designs of one configuration (and batch), None where it can serve at no count."""
    hbm = _hbm_per_instance(system, config, batch)
    if hbm < 0:
        return None
    concurrency = 0.0
    if batch is not None:
        steps = system.steps_s(config, batch)
        concurrency = system.concurrency(steps)
        if max(steps) >= system.tpot_s:
            return None
    pool = cheapest_decode(decodes, config, system) if decodes else None
    if decodes and pool is None:
        return None
    service = system.service(config, batch)
    budgets = {s: system.ttft_s - service.longest_path_s(s.sync) for s in sets}
    open_sets = tuple(s for s in sets if budgets[s] >= 0)
    lines = [load_line(system, service.miss, service.hit)]
    if batch is not None:
        lines.append(load_line(system, service.pure_miss, service.pure_hit))
    first = _fewest(system, config, batch, lines[0], concurrency)
    spare = system.scenario.deployment.max_gpus - (pool.gpus if pool else 0)
    last = math.floor(spare / config.gpus + 1e-9)
    if not open_sets or first > last:
        return None
    return Stream(system, config, batch, open_sets, budgets, service, tuple(lines), hbm, pool, first, last, concurrency)


def _billed(system: System, gpus: int) -> tuple[float, float]:
    """Billed GPUs and nodes of a pool."""
    nodes = cost.pool_nodes(1, gpus, system.gpus_per_node, system.whole_nodes)
    return (nodes * system.gpus_per_node if system.whole_nodes else gpus), nodes


def _hbm_per_instance(system: System, config: EngineConfig, batch: int | None) -> float:
    """HBM tier of one instance in bytes of KV; negative where its working space does not fit."""
    free = system.kv_memory(config) - system.prefill_memory(config)
    if batch is not None:
        free -= system.decode_memory(config, batch)
    return free / system.replication(config)


def _fewest(system: System, config: EngineConfig, batch: int | None, line: LoadLine, concurrency: float) -> int:
    """Fewest instances worth trying: below it the utilisation limit fails even if every reusable prefix hits."""
    least = line.least([law.top for law in system.laws])
    limit = system.max_utilization * config.ways / (1.0 if batch is None else system.load_imbalance)
    fewest = max(1, math.ceil(least / limit - 1e-9))
    if batch is not None:
        fewest = max(fewest, math.ceil(decode.slots_needed(concurrency, system.z) / batch - 1e-9))
    return fewest


def transfer_nodes(system: System) -> float:
    """Nodes that each pool needs so that the KV of all prompts crosses between them."""
    per_node = system.scenario.deployment.transfer.gb_per_s_per_node
    if per_node is None:
        return 0.0
    return system.prompt_bytes_per_s / (system.read_utilization * per_node * 1e9)


def decode_options(system: System) -> tuple[DecodeOption, ...]:
    """Decode pools that keep TPOT and fit their memory; per tensor parallelism, only those that no other beats.

    Each has the fewest instances that hold its sequences and, where KV must cross between nodes, receive it.
    """
    found = []
    nodes_needed = transfer_nodes(system) * (1 - 1e-9)
    for config in system.configs:
        memory = system.kv_memory(config)
        for batch in system.scenario.engine.batches:
            steps = system.steps_s(config, batch)
            if max(steps) > system.tpot_s * (1 + 1e-12) or system.decode_memory(config, batch) > memory:
                continue
            count = decode.instances_needed(system.concurrency(steps), system.z, batch)
            gpus = count * config.gpus
            billed, nodes = _billed(system, gpus)
            while nodes < nodes_needed and gpus < system.scenario.deployment.max_gpus:
                count, gpus = count + 1, gpus + config.gpus
                billed, nodes = _billed(system, gpus)
            if gpus < system.scenario.deployment.max_gpus:
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
