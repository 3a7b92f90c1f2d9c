"""The same hardware under other circumstances: counts, roles and capacities stay, hits are what the law then gives.

A plan's hits are the fewest that its promises need. Hardware that is paid for gives more: every hit that the law
allows at its capacities, as far as the tiers' bandwidth carries them. That is what a plan attains, and what is judged
when an input moves and the plan does not.
"""

from __future__ import annotations

import math
from dataclasses import replace

from planner.evaluate import evaluate, read_flow, staged_in
from planner.physics import cost
from planner.physics.reuse import Law
from planner.physics.system import System
from planner.plan import Decision, Evaluation, Violation
from planner.study.points import attained_ttft_s

ROUNDS = 60  # fixed-point rounds of staging against hits
SHAVE = 1 - 1e-10  # of the law: rounding must not lift hits above it
PROMISES = {"ttft_budget": "TTFT", "tpot": "TPOT"}
SHOWN = {"s": (1e3, "ms"), "bytes": (1e-12, "TB"), "bytes/s": (1e-9, "GB/s"), "bytes/day": (1e-12, "TB/day")}
Rows = list[list[float]]


def kept(system: System, decision: Decision) -> Evaluation:
    """The judge's word on ``decision``'s hardware in ``system``, at the best hits known for it."""
    full = at_full_hits(system, decision)
    if full.feasible:  # more hits mean less load, so nothing is faster
        return full
    lesser = tuple(
        tuple(min(a, b) for a, b in zip(own, most, strict=True))
        for own, most in zip(decision.hits, full.decision.hits, strict=True)
    )
    options = [full, evaluate(system, decision), evaluate(system, replace(decision, hits=lesser))]
    return min(options, key=lambda e: (not e.feasible, _unattained(e), len(e.violations), attained_ttft_s(e), e.tpot_s))


def _unattained(found: Evaluation) -> bool:
    """Whether it counts hits that the hardware does not give."""
    return any(v.rule.startswith(("hit_law_", "inclusion_", "marginal_hits_")) for v in found.violations)


def in_words(broken: Violation) -> str:
    """A broken promise as a user says it: what would be needed, and what there is.

    >>> in_words(Violation("ttft_budget", 1.888, 1.5, "s"))
    'TTFT 1,888 ms, promised 1,500 ms'
    >>> in_words(Violation("nvme_endurance", 3e15, 1e15, "bytes/day"))
    'nvme_endurance: needs 3,000 TB/day, has 1,000 TB/day'
    """
    need, have = _amount(broken.need, broken.unit), _amount(broken.have, broken.unit)
    promise = PROMISES.get(broken.rule)
    return f"{promise} {need}, promised {have}" if promise else f"{broken.rule}: needs {need}, has {have}"


def _amount(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "without bound"
    scale, shown = SHOWN.get(unit, (1.0, unit))
    scaled = scale * value
    return f"{scaled:,.0f} {shown}" if abs(scaled) >= 1000 else f"{scaled:.4g} {shown}"


def at_full_hits(system: System, decision: Decision) -> Evaluation:
    """The judge's word where every hit that the hardware gives is taken."""
    return evaluate(system, replace(decision, hits=full_hits(system, decision)))


def full_hits(system: System, decision: Decision) -> tuple[tuple[float, ...], ...]:
    """Cumulative hits per level and partition that the capacities and the read bandwidth give."""
    laws = [system.partition_law(j, decision.architecture, decision.prefill_instances) for j in range(len(system.laws))]
    base = [law.hit_rate(b) * SHAVE for law, b in zip(laws, decision.hbm_bytes, strict=True)]
    gains: Rows = [[0.0] * len(laws) for _ in system.tiers]
    for _ in range(ROUNDS):
        before, gains = gains, _gains(system, decision, laws, base, gains)
        if all(
            abs(a - b) <= 1e-12 for old, new in zip(before, gains, strict=True) for a, b in zip(old, new, strict=True)
        ):
            break
    levels = [base]
    for row in _within_bandwidth(system, decision, gains):
        levels.append([h + x for h, x in zip(levels[-1], row, strict=True)])
    return tuple(tuple(row) for row in levels)


def _gains(system: System, decision: Decision, laws: list[Law], base: list[float], before: Rows) -> Rows:
    """Marginal hits per tier and partition, with the staging that the ``before`` hits need."""
    staging = _staging(system, decision, before)
    held = [list(decision.hbm_bytes)]
    hits, gains = list(base), []
    for t in range(len(system.tiers)):
        row = []
        net = [c - s for c, s in zip(decision.capacity_bytes[t], staging[t], strict=True)]
        if not system.inclusive:
            net = [n + h for n, h in zip(net, held[-1], strict=True)]
        for j, law in enumerate(laws):
            adds = decision.roles[t] != "unused" and net[j] >= max(level[j] for level in held)
            x = max(0.0, law.hit_rate(net[j]) * SHAVE - hits[j]) if adds else 0.0
            x = min(x, _stageable(system, decision, t, j))
            row.append(x)
            hits[j] += x
        gains.append(row)
        held.append(net)
    return gains


def _stage_bytes(system: System, j: int) -> float:
    """Staging bytes per unit of prefetched hits of partition ``j``."""
    return system.reuse_bytes_per_s[j] * system.coverage / system.precision * system.lead_s


def _staging(system: System, decision: Decision, gains: Rows) -> Rows:
    staging = [[0.0] * len(system.laws) for _ in system.tiers]
    for t, row in enumerate(gains):
        into = staged_in(decision, t)
        if into is not None:
            for j, x in enumerate(row):
                staging[into][j] += x * _stage_bytes(system, j)
    return staging


def _stageable(system: System, decision: Decision, t: int, j: int) -> float:
    """The most prefetched hits whose staging fits in its tier."""
    into, per_hit = staged_in(decision, t), _stage_bytes(system, j)
    if into is None or per_hit <= 0:
        return 1.0
    return decision.capacity_bytes[into][j] / per_hit


def _within_bandwidth(system: System, decision: Decision, gains: Rows) -> Rows:
    """Decline the hits that a tier cannot read in time, slowest tier first: what it pulls up is read again."""
    pool = system.config_by_name[decision.prefill_config]
    nodes = cost.pool_nodes(decision.prefill_instances, pool.gpus, system.gpus_per_node, system.whole_nodes)
    for t in range(len(system.tiers) - 1, -1, -1):
        supply = system.read_utilization * system.tiers[t].read_per_node * nodes * SHAVE
        alone = [row if s == t else [0.0] * len(row) for s, row in enumerate(gains)]
        own = read_flow(system, decision, tuple(map(tuple, alone)), t)
        again = read_flow(system, decision, tuple(map(tuple, gains)), t) - own
        if again > supply:
            for s in range(len(gains)):
                if staged_in(decision, s) == t:
                    gains[s] = [x * supply / again for x in gains[s]]
            again = supply
        if own + again > supply:
            gains[t] = [x * (supply - again) / own for x in gains[t]]
    return gains
