"""Worked equations about use and money: what tiers hold, read and write, and what everything costs. Numbers in GB."""

from __future__ import annotations

from collections.abc import Iterator

from planner.evaluate import read_flow
from planner.physics import cost
from planner.physics.system import System, Tier
from planner.plan import Evaluation
from planner.report.derivation import Step, plain, total
from planner.report.derivation_cache import staging
from planner.units import GB, SECONDS_PER_DAY


def tier_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """Capacity, staging, reads and writes of every tier in use, each against its supply."""
    decision = found.decision
    nodes = found.prefill.nodes
    for t, tier in enumerate(system.tiers):
        if decision.roles[t] == "unused":
            continue
        capacity, key = sum(decision.capacity_bytes[t]), f"tiers[{t}]"
        numbers = f"{plain(tier.max_per_node / GB)} · {plain(nodes)}"
        yield Step(
            f"{tier.name} on {plain(nodes)} nodes", "C against max_gb_per_node · nodes", "", capacity, "bytes",
            tier.max_per_node * nodes, f"{numbers} GB",
        )  # fmt: skip
        staged = sum(staging(system, decision, t, j) for j in range(len(system.laws)))
        if staged > 0:
            formula = "Σ λ·P·κ · coverage / precision · x · lead of the tiers staged here"
            yield Step(f"{tier.name} staging", formula, "", staged, "bytes", capacity, "its capacity")
        yield _reads(system, found, t, key)
        yield from _writes(system, found, tier, capacity, key)


def _reads(system: System, found: Evaluation, t: int, key: str) -> Step:
    decision, tier = found.decision, system.tiers[t]
    parts = range(len(system.laws))
    marginal = tuple(
        tuple(decision.hits[s + 1][j] - decision.hits[s][j] for j in parts) for s in range(len(system.tiers))
    )
    flow = read_flow(system, decision, marginal, t)
    supply = system.read_utilization * tier.read_per_node * found.prefill.nodes
    formula, numbers = "its hits, what is pulled up from it and read again from its staging", ""
    if all(role != "prefetch" for role in decision.roles):
        formula = "Σ λ·P·κ · x"
        pairs = zip(system.reuse_bytes_per_s, marginal[t], strict=True)
        numbers = total([f"{plain(rate / GB)} · {plain(x)}" for rate, x in pairs])
    return Step(f"{tier.name} reads", formula, numbers, flow, "bytes/s", supply, f"read_utilization · {key} · nodes")


def _writes(system: System, found: Evaluation, tier: Tier, capacity: float, key: str) -> Iterator[Step]:
    if tier.write_per_node is None and tier.dwpd is None:
        return
    reused = sum(system.reuse_bytes_per_s) * found.effective_hit_rate
    written = system.prompt_bytes_per_s - reused
    numbers = f"{plain(system.prompt_bytes_per_s / GB)} - {plain(reused / GB)}"
    if tier.write_per_node is not None:
        supply = tier.write_per_node * found.prefill.nodes
        yield Step(
            f"{tier.name} writes", "Σ λ·(L - e·P)·κ", numbers, written, "bytes/s", supply, f"{key}.write · nodes"
        )
    if tier.dwpd is not None:
        daily = tier.dwpd * capacity
        numbers = f"({numbers}) · {SECONDS_PER_DAY:g}"
        day = written * SECONDS_PER_DAY
        yield Step(f"{tier.name} writes per day", "writes · 86400", numbers, day, "bytes/day", daily, f"{key}.dwpd · C")


def cost_steps(system: System, found: Evaluation) -> Iterator[Step]:
    """Each line of the bill, their sum, and the price of a million tokens."""
    for line in found.costs:
        numbers = f"{plain(line.quantity)} · {plain(line.unit_usd_per_hour)}"
        yield Step(line.item, f"{line.unit} · {line.source_key}", numbers, line.usd_per_hour, "$/h")
    terms = [plain(line.usd_per_hour) for line in found.costs]
    yield Step("total", "Σ", total(terms), found.usd_per_hour, "$/h")
    per_hour = system.tokens_per_s * 3600 / 1e6
    numbers = f"{plain(found.usd_per_hour)} / ({plain(system.tokens_per_s)} · 3600 / 1000000)"
    value = cost.usd_per_million_tokens(found.usd_per_hour, system.tokens_per_s)
    yield Step("price", "$/h / million tokens per hour", numbers if per_hour else "", value, "$/Mtok")
