"""From a solver's answer to a decision that meets the law exactly.

The solver's tangents over-estimate ``h`` and its rows carry a tolerance, so its capacities are a hair too small. The
integer choices and the hits are kept; the capacities are recomputed as ``h^-1(hits)`` plus staging, and the hits of
the last tier are raised by what the tolerance left short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.designs import DecodeOption, Design, HitsNeeded
from planner.physics.system import System
from planner.plan import Decision

DAY_S = 86400.0
STEP_TOLERANCE = 1e-7  # of a purchase step: the judge still checks the law at the rounded capacity


@dataclass(frozen=True)
class Answer:
    """What the solver chose, in SI units: hits per level and partition, HBM and capacities per partition."""

    design: Design
    decode: DecodeOption | None
    hits: tuple[tuple[float, ...], ...]
    adds: tuple[tuple[bool, ...], ...]
    hbm_bytes: tuple[float, ...]
    capacity_bytes: tuple[tuple[float, ...], ...]


def repaired(system: System, answer: Answer, keep_capacity: bool = False) -> Decision:
    """The decision of ``answer`` with exact capacities; the judge still has the last word.

    Args:
        system: the scenario's numbers.
        answer: what the solver chose.
        keep_capacity: lower the hits to what the solver's capacities hold (where one of them is at its limit), and let
            the last tier make up for it, instead of raising every capacity to its hits.
    """
    roles = answer.design.roles
    hbm = _hbm(answer)
    if keep_capacity:
        answer = replace(answer, hits=_held_hits(system, answer, hbm))
    hits = _raised(system, answer, hbm)
    capacity = _capacities(system, answer, hbm, hits)
    return Decision(
        architecture="disaggregated" if answer.design.prefill.batch is None else "colocated",
        prefill_config=answer.design.prefill.config.name,
        prefill_instances=answer.design.prefill.instances,
        batch=answer.design.prefill.batch,
        decode_config=answer.decode.config.name if answer.decode else None,
        decode_instances=answer.decode.instances if answer.decode else 0,
        decode_batch=answer.decode.batch if answer.decode else None,
        roles=roles.roles,
        capacity_bytes=capacity,
        hbm_bytes=hbm,
        hits=hits,
    )


def _held_hits(system: System, answer: Answer, hbm: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """The solver's hits, no higher than its capacities allow (a millionth less, so that staging still fits)."""
    staging = _staging(system, answer, answer.hits)
    held = list(hbm)
    levels = [answer.hits[0]]
    for t, capacity in enumerate(answer.capacity_bytes):
        own = [(c - s) * (1 - 1e-6) for c, s in zip(capacity, staging[t], strict=True)]
        held = own if system.inclusive else [o + h for o, h in zip(own, held, strict=True)]
        laws = answer.design.prefill.laws
        levels.append(tuple(min(h, law.hit_rate(k)) for h, law, k in zip(answer.hits[t + 1], laws, held, strict=True)))
    return tuple(levels)


def _hbm(answer: Answer) -> tuple[float, ...]:
    free = answer.design.prefill.hbm_bytes
    if len(answer.hbm_bytes) == 1:
        return (free,)
    parts = [max(b, 1.0) for b in answer.hbm_bytes]  # a byte holds a law's floor, nothing does not
    spare = max(0.0, free - sum(parts)) / len(parts)
    shrink = min(1.0, free / sum(parts))
    return tuple(b * shrink + spare for b in parts)


def _raised(system: System, answer: Answer, hbm: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """Cumulative hits that never fall, obey HBM's law, and reach every load row."""
    laws, roles = answer.design.prefill.laws, answer.design.roles
    levels = [list(row) for row in answer.hits]
    for j, law in enumerate(laws):
        levels[0][j] = law.hit_rate(hbm[j])  # HBM's hits cost nothing: none is declined
        for level in range(1, len(levels)):
            grows = roles.roles[level - 1] != "unused" and answer.adds[level - 1][j]
            reached = min(levels[level][j], law.top * (1 - 1e-12))  # the solver may exceed a ceiling by its tolerance
            levels[level][j] = max(reached, levels[level - 1][j]) if grows else levels[level - 1][j]
    for row in answer.design.rows:
        _raise_for(system, answer, levels, row)
    return tuple(tuple(row) for row in levels)


def _raise_for(system: System, answer: Answer, levels: list[list[float]], row: HitsNeeded) -> None:
    """Raise the last tier that adds hits until ``row`` holds, where the solver's tolerance left it short."""
    roles, parts = answer.design.roles, range(len(row.weights))
    weight = {"sync": 1.0, "prefetch": system.coverage, "unused": 0.0}
    for j in parts:
        short = (
            row.need * (1 + 1e-12)
            + 1e-12
            - sum(row.weights[k] * _effective(system, roles.roles, levels, k) for k in parts)
        )
        adding = [t for t in roles.used if answer.adds[t][j]]
        if short <= 0 or row.weights[j] <= 0 or not adding:
            continue
        last = adding[-1]
        room = answer.design.prefill.laws[j].top * (1 - 1e-12) - levels[-1][j]
        step = min(short / (row.weights[j] * weight[roles.roles[last]]), max(room, 0.0))
        for level in range(last + 1, len(levels)):
            levels[level][j] += step


def _effective(system: System, roles: tuple[str, ...], levels: list[list[float]], j: int) -> float:
    weight = {"sync": 1.0, "prefetch": system.coverage, "unused": 0.0}
    gains = (weight[r] * (levels[t + 1][j] - levels[t][j]) for t, r in enumerate(roles))
    return levels[0][j] + sum(gains)


def _capacities(
    system: System, answer: Answer, hbm: tuple[float, ...], hits: tuple[tuple[float, ...], ...]
) -> tuple[tuple[float, ...], ...]:
    roles, laws = answer.design.roles, answer.design.prefill.laws
    parts = range(len(laws))
    staging = _staging(system, answer, hits)
    held = [list(hbm)]
    out: list[tuple[float, ...]] = []
    for t in range(len(system.tiers)):
        own = []
        for j in parts:
            k = 0.0
            if t in roles.used and answer.adds[t][j] and hits[t + 1][j] > hits[t][j]:
                k = max(laws[j].capacity_for(hits[t + 1][j]), *(row[j] for row in held))
            if not system.inclusive:
                k = max(0.0, k - held[-1][j])
                if any(answer.adds[s][j] for s in roles.used if s > t):  # slower tiers count what this one holds
                    k = max(k, answer.capacity_bytes[t][j] - staging[t][j])
            own.append(k)
        held.append([o if system.inclusive else o + h for o, h in zip(own, held[-1], strict=True)])
        capacity = [o + staging[t][j] for j, o in enumerate(own)]
        if t in roles.used:
            capacity = _at_least(system, answer, hits, t, capacity)
        out.append(tuple(capacity))
    return tuple(out)


def _at_least(
    system: System, answer: Answer, hits: tuple[tuple[float, ...], ...], t: int, capacity: list[float]
) -> list[float]:
    """Raise a tier's total to whole steps and to what its endurance needs; the surplus goes to the largest share."""
    tier, total = system.tiers[t], sum(capacity)
    target = max(total, 1.0)
    if tier.dwpd:
        levels = [list(row) for row in hits]
        rates = system.reuse_bytes_per_s
        saved = sum(r * _effective(system, answer.design.roles.roles, levels, j) for j, r in enumerate(rates))
        target = max(target, (system.prompt_bytes_per_s - saved) * DAY_S / tier.dwpd)
    if tier.step:
        if target <= STEP_TOLERANCE * tier.step:  # nothing is held: the tier is idle, not one whole step
            return [0.0] * len(capacity)
        target = max(1, math.ceil(target / tier.step - STEP_TOLERANCE)) * tier.step
    biggest = max(range(len(capacity)), key=capacity.__getitem__)
    raised = list(capacity)
    raised[biggest] += target - total
    return raised


def _staging(system: System, answer: Answer, hits: tuple[tuple[float, ...], ...]) -> list[list[float]]:
    roles, rates = answer.design.roles, system.reuse_bytes_per_s
    staging = [[0.0] * len(rates) for _ in system.tiers]
    for t in roles.used:
        into = roles.staged_in(t)
        if into is not None:
            for j, rate in enumerate(rates):
                x = hits[t + 1][j] - hits[t][j]
                staging[into][j] += rate * system.coverage / system.precision * x * system.lead_s
    return staging


def without_idle_tiers(decision: Decision) -> Decision:
    """Tiers that hold nothing are unused: the same plan with fewer tiers."""
    roles, capacity = list(decision.roles), list(decision.capacity_bytes)
    for t, held in enumerate(decision.capacity_bytes):
        if sum(held) <= 1.0:
            roles[t], capacity[t] = "unused", (0.0,) * len(held)
    return replace(decision, roles=tuple(roles), capacity_bytes=tuple(capacity))
