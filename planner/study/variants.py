"""Designs that cost the same, and of those the one that keeps the hardest promise.

Where every dollar buys a whole unit (a GPU, a drive, memory that comes with the node), several designs can cost exactly
the same. A frontier wants the one that goes furthest: found here by judging the equals, without solving again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.derive import Stream, decode_options, streams_of
from planner.designs import DecodeOption, role_sets
from planner.physics import cost, decode
from planner.physics.system import System
from planner.plan import Decision, Evaluation, Role
from planner.study.axes import Axis
from planner.study.keep import at_full_hits, kept
from planner.study.points import same_cost

WINDOW = 32  # instance counts below the largest that are tried with a larger decode pool


def whole_units(system: System, plan: Evaluation) -> bool:
    """Whether nothing in the bill is bought by the byte: no small change of a promise then changes the cost."""
    return not any(
        tier.role != "unused" and spec.step is None and _paid(system, plan, t) > 0
        for t, (tier, spec) in enumerate(zip(plan.tiers[1:], system.tiers, strict=True))
    )


def _paid(system: System, plan: Evaluation, t: int) -> float:
    tier = system.tiers[t]
    if tier.usd_per_byte_hour <= 0:
        return 0.0
    return max(0.0, plan.tiers[t + 1].capacity_bytes - tier.included_per_node * plan.prefill.nodes)


def filled(system: System, plan: Evaluation) -> Evaluation:
    """The plan with all the hits that its bill gives: memory that comes with the nodes is used to the full."""
    decision = plan.decision
    capacities = []
    for t, tier in enumerate(system.tiers):
        own = decision.capacity_bytes[t]
        free = min(tier.included_per_node, tier.max_per_node) * plan.prefill.nodes
        spare = free - sum(own) if decision.roles[t] != "unused" and tier.step is None else 0.0
        capacities.append(tuple(c + max(0.0, spare) / len(own) for c in own))
    full = kept(system, replace(decision, capacity_bytes=tuple(capacities)))
    return full if full.feasible and same_cost(full.usd_per_hour, plan.usd_per_hour) else plan


def hardest_equal(
    system: System, axis: Axis, plan: Evaluation, tiered: bool, hardest: float
) -> tuple[float, Evaluation]:
    """Of the designs with the plan's cost and architecture, one that reaches furthest on ``axis``, and how far."""
    best = filled(system, plan)
    reach = axis.reach(system, best, hardest)
    if not whole_units(system, plan):
        return reach, best
    search = _Search(system, axis, plan, tiered)
    for stream in search.streams():
        for count, pool in search.pools(stream):
            if not axis.is_harder(hardest, reach):
                return reach, best
            if pool is not None and not axis.is_harder(axis.pool_reach(system, pool), reach):
                continue
            further = search.furthest(stream, count, pool, reach, hardest)
            if further is not None:
                reach, best = further
            elif pool is not None:
                break  # fewer instances to prefill carry even less
    return reach, best


@dataclass(frozen=True)
class _Search:
    system: System
    axis: Axis
    plan: Evaluation
    tiered: bool

    @property
    def rent(self) -> float:
        return sum(line.usd_per_hour for line in self.plan.costs if line.unit != "GPU")

    @property
    def gpu_usd(self) -> float:
        return self.plan.usd_per_hour - self.rent

    def streams(self) -> list[Stream]:
        architecture = self.plan.decision.architecture
        decodes = decode_options(self.system) if architecture == "disaggregated" else ()
        if architecture == "disaggregated" and not decodes:
            return []
        return streams_of(self.system, architecture, role_sets(self.system.tiers, self.tiered), decodes)

    def pools(self, stream: Stream) -> Iterator[tuple[int, DecodeOption | None]]:
        """Counts of prefill instances (most first) and decode pools that together cost the plan's GPUs."""
        counts = _counts(stream, self.gpu_usd)
        if stream.pool is None:
            yield from ((n, None) for n in counts)
            return
        if counts:
            yield from ((n, stream.pool) for n in counts)
        if self.axis.name == "ttft":
            return  # decode does not touch it
        top = counts[-1] if counts else _most(stream, self.gpu_usd)
        for n in range(top, max(stream.first, top - WINDOW) - 1, -1):
            left = self.gpu_usd / self.system.gpu_usd_per_hour - stream.option(n).billed_gpus
            best = _best_pool(self.system, self.axis, left, stream.config.tp)
            if best is not None:
                yield n, best

    def furthest(
        self, stream: Stream, count: int, pool: DecodeOption | None, reach: float, hardest: float
    ) -> tuple[float, Evaluation] | None:
        """The design of that pool that reaches furthest, where one goes beyond ``reach``."""
        best: tuple[float, Evaluation] | None = None
        while True:
            beyond = self.axis.at(self.system, self.axis.beyond(reach))
            found = self.judged(beyond, stream, count, pool)
            further = reach if found is None else self.axis.reach(beyond, found, hardest)
            if found is None or not self.axis.is_harder(further, reach):
                return best
            reach, best = further, (further, found)
            if not self.axis.is_harder(hardest, reach):
                return best

    def judged(self, there: System, stream: Stream, count: int, pool: DecodeOption | None) -> Evaluation | None:
        """A feasible plan of that pool at the same cost, if there is one."""
        for decision in _decisions(self.system, stream, count, pool, self.plan, self.rent):
            found = at_full_hits(there, decision)
            if found.feasible and same_cost(found.usd_per_hour, self.plan.usd_per_hour):
                return found
        return None


def _most(stream: Stream, gpu_usd: float) -> int:
    """The largest instance count that costs at most ``gpu_usd``; one below the first where none does."""
    low, high = stream.first - 1, stream.last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if stream.usd(middle) <= gpu_usd * (1 + 1e-9) else (low, middle - 1)
    return low


def _counts(stream: Stream, gpu_usd: float) -> list[int]:
    """Instance counts at which the stream's GPUs cost exactly ``gpu_usd``, most first; costs grow with the count."""
    count, out = _most(stream, gpu_usd), []
    while count >= stream.first and same_cost(stream.usd(count), gpu_usd):
        out.append(count)
        count -= 1
    return out


def _best_pool(system: System, axis: Axis, billed: float, tp: int) -> DecodeOption | None:
    """The decode pool of exactly ``billed`` GPUs that reaches furthest on ``axis``."""
    best: DecodeOption | None = None
    coupled = system.scenario.deployment.transfer.prefill_tp_at_most_decode_tp
    for config in system.configs:
        count = int((billed + 1e-9) // config.gpus)
        if count < 1 or (coupled and config.tp < tp):
            continue
        gpus = count * config.gpus
        nodes = cost.pool_nodes(1, gpus, system.gpus_per_node, system.whole_nodes)
        if abs((nodes * system.gpus_per_node if system.whole_nodes else gpus) - billed) > 1e-6:
            continue
        for batch in system.scenario.engine.batches:
            steps = system.steps_s(config, batch)
            if max(steps) > system.tpot_s or system.decode_memory(config, batch) > system.kv_memory(config):
                continue
            if decode.slots_needed(system.concurrency(steps), system.z) > count * batch:
                continue
            pool = DecodeOption(config, batch, count, gpus, billed, nodes)
            if best is None or axis.is_harder(axis.pool_reach(system, pool), axis.pool_reach(system, best)):
                best = pool
    return best


def _decisions(
    system: System, stream: Stream, count: int, pool: DecodeOption | None, plan: Evaluation, rent: float
) -> Iterator[Decision]:
    """The plan's capacities on another pool; with no rent to pay, every role set of what the nodes bring."""
    option, parts = stream.option(count), len(system.laws)
    allowed = {s.roles for s in stream.sets}
    for roles in [plan.decision.roles] if rent > 0 else sorted(allowed, key=lambda r: r != plan.decision.roles):
        capacity = _capacities(system, option.nodes, plan.decision, roles)
        if roles not in allowed or any(r != "unused" and c <= 1 for r, c in zip(roles, capacity, strict=True)):
            continue
        yield Decision(
            plan.decision.architecture, option.config.name, count, option.batch,
            pool.config.name if pool else None, pool.instances if pool else 0, pool.batch if pool else None,
            roles, tuple((c / parts,) * parts for c in capacity), (option.hbm_bytes / parts,) * parts,
            ((0.0,) * parts,) * (len(roles) + 1),
        )  # fmt: skip


def _capacities(system: System, nodes: float, decision: Decision, roles: tuple[Role, ...]) -> list[float]:
    """Per tier in use, what the plan has of it or what comes with the nodes."""
    out = []
    for t, (tier, role) in enumerate(zip(system.tiers, roles, strict=True)):
        own = sum(decision.capacity_bytes[t]) if roles == decision.roles else 0.0
        free = min(tier.included_per_node, tier.max_per_node) * nodes
        out.append(0.0 if role == "unused" else max(own, free))
    return out
