"""Does combining pay? Four cells, their interaction, how robust its sign is, what limits it (MODEL.md section 13).

Everything here is decided by solving again: at 0.95 and 1.05 of the load, with fractional instance counts, with free
transfer, a tenth more TTFT, and a tenth more hits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace as with_fields
from typing import Literal

from planner.cells import CellResult, SolveSettings, solve_cell
from planner.fractional import fractional_cost
from planner.physics.reuse import HillLaw, Law, MeasuredLaw, PowerLaw
from planner.physics.system import System
from planner.plan import Architecture, Evaluation, Limit, LoadPoint, Verdict
from planner.scenario import replace
from planner.verdict_text import explanation

LOAD_FACTORS = (0.95, 1.05)
ARCHITECTURES: tuple[Architecture, ...] = ("colocated", "disaggregated")
TIE = 2e-4  # relative: a smaller difference of cost is within what is proven of both
RELAX = 1.1  # a tenth more TTFT or hits
Costs = Mapping[tuple[Architecture, bool], float]
KEYS: tuple[tuple[Architecture, bool], ...] = (
    ("colocated", False),
    ("colocated", True),
    ("disaggregated", False),
    ("disaggregated", True),
)


def interaction(costs: Costs) -> float | None:
    """``saving(both) - saving(disaggregation alone) - saving(tiers alone)`` in dollars per hour.

    Savings count against colocated without tiers, so this is ``C_tiered + D_hbm - C_hbm - D_tiered``; positive is
    synergy. None where a cell has no plan.
    """
    if any(not math.isfinite(costs[key]) for key in KEYS):
        return None
    return costs[KEYS[1]] + costs[KEYS[2]] - costs[KEYS[0]] - costs[KEYS[3]]


def at_load(system: System, factor: float) -> System:
    """The same service at ``factor`` times its load; the reuse curve stays where it was observed."""
    rate = system.scenario.workload.requests_per_second * factor
    return System(replace(system.scenario, {"workload.requests_per_second": rate}), like=system)


def verdict(system: System, cells: Mapping[tuple[Architecture, bool], CellResult], settings: SolveSettings) -> Verdict:
    """The verdict on the four solved ``cells``."""
    costs = {key: cell.proof.cost for key, cell in cells.items()}
    amount = interaction(costs)
    if amount is None:
        missing = [f"{a}{' with tiers' if t else ' without tiers'}" for a, t in KEYS if not math.isfinite(costs[a, t])]
        text = "not comparable: no plan exists for " + " and for ".join(missing)
        return Verdict("inconclusive", None, None, None, None, (), (), (), text)
    points = _load_points(system, cells, settings, amount)
    limits = _limits(system, cells, settings)
    instance_usd = _instance_usd(system, cells)
    word = _word(points, amount, instance_usd)
    base = costs[KEYS[0]]
    savings = base - costs[KEYS[3]], base - costs[KEYS[2]], base - costs[KEYS[1]]
    limited = tuple(dict.fromkeys(limit.kind for limit in limits if limit.structure_changed))
    text = explanation(word, points, limits, cells, instance_usd)
    return Verdict(word, amount, *savings, limited, points, limits, text)


def _load_points(
    system: System, cells: Mapping[tuple[Architecture, bool], CellResult], settings: SolveSettings, amount: float
) -> tuple[LoadPoint, ...]:
    points = [LoadPoint(1.0, amount)]
    for factor in LOAD_FACTORS:
        there = at_load(system, factor)
        found = {key: solve_cell(there, *key, settings).proof.cost for key in KEYS}
        points.append(LoadPoint(factor, interaction(found)))
    fractions = {key: fractional_cost(cell.candidates, cell.proof.cost, key[1]) for key, cell in cells.items()}
    points.append(LoadPoint(1.0, interaction(fractions), fractional=True))
    return tuple(sorted(points, key=lambda p: (p.fractional, p.load_factor)))


def _instance_usd(system: System, cells: Mapping[tuple[Architecture, bool], CellResult]) -> float:
    """Price of one prefill instance of the combined plan."""
    both = cells[KEYS[3]].best
    return system.gpu_usd_per_hour * (both.prefill.gpus_per_instance if both else 1)


def _word(
    points: tuple[LoadPoint, ...], amount: float, instance_usd: float
) -> Literal["synergy", "offset", "inconclusive"]:
    values = [p.interaction_usd_per_hour for p in points if not p.fractional]
    if any(v is None for v in values) or abs(amount) < instance_usd:
        return "inconclusive"
    if any((v or 0.0) * amount <= 0 for v in values):
        return "inconclusive"
    return "synergy" if amount > 0 else "offset"


def _limits(
    system: System, cells: Mapping[tuple[Architecture, bool], CellResult], settings: SolveSettings
) -> tuple[Limit, ...]:
    """Re-solve the cheapest plan and the combination under each relaxation."""
    scenario = system.scenario
    transfer = {
        "deployment.transfer.gb_per_s_per_gpu": 1e6,
        "deployment.transfer.latency_ms": 0.0,
    }
    free = System(replace(scenario, transfer), like=system)  # the colocated cell has no transfer
    cases: tuple[tuple[Literal["slack", "hits"], str, System, tuple[Architecture, ...]], ...] = (
        ("slack", "transfer made free", free, ("disaggregated",)),
        ("slack", "TTFT a tenth longer", _with_ttft(system, RELAX), ARCHITECTURES),
        ("hits", "every hit rate a tenth higher", _with_hits(system, RELAX), ARCHITECTURES),
    )
    out = []
    for kind, label, relaxed, architectures in cases:
        found = {a: solve_cell(relaxed, a, True, settings).best for a in architectures}
        out.append(_limit(kind, label, cells, found))
    return tuple(out)


def _limit(
    kind: Literal["slack", "hits"],
    label: str,
    cells: Mapping[tuple[Architecture, bool], CellResult],
    found: Mapping[Architecture, Evaluation | None],
) -> Limit:
    """Compare the cheapest plan, and the combination, before and after a relaxation."""
    before: dict[Architecture, Evaluation | None] = {a: cells[a, True].best for a in ARCHITECTURES}
    after: dict[Architecture, Evaluation | None] = {**before, **found}
    cheapest_before, cheapest_after = _cheapest(before), _cheapest(after)
    changed = _moved(cheapest_before, cheapest_after)
    combination = _moved(before["disaggregated"], after["disaggregated"])
    shown = after["disaggregated"] if combination or cheapest_after is None else cheapest_after
    becomes = _describe(shown) if (changed or combination) and shown is not None else "the same structure"
    usd = shown.usd_per_hour if shown is not None else None
    return Limit(kind, label, usd, changed or combination, becomes)


def _moved(before: Evaluation | None, after: Evaluation | None) -> bool:
    """Whether a relaxation led to another structure that is really cheaper: among ties nothing decides."""
    if before is None or after is None:
        return before is not after
    cheaper = after.usd_per_hour < before.usd_per_hour * (1 - TIE)
    return cheaper and before.decision.structure() != after.decision.structure()


def _cheapest(plans: Mapping[Architecture, Evaluation | None]) -> Evaluation | None:
    have = [p for p in plans.values() if p is not None]
    return min(have, key=lambda p: p.usd_per_hour, default=None)


def _describe(plan: Evaluation) -> str:
    roles = ", ".join(f"{t.name} {t.role}" for t in plan.tiers[1:] if t.role != "unused") or "no tier"
    pool = f"{plan.prefill.instances} x {plan.prefill.parallelism}"
    return f"{plan.decision.architecture}, {pool}, {roles}"


def _with_ttft(system: System, factor: float) -> System:
    return System(replace(system.scenario, {"slo.ttft_ms": system.scenario.slo.ttft_ms * factor}), like=system)


def _with_hits(system: System, factor: float) -> System:
    """The same service with every law ``factor`` times higher, ceilings below 1."""
    raised = System(system.scenario, like=system)
    raised.laws = tuple(_raised(law, factor) for law in system.laws)
    return raised


def _raised(law: Law, factor: float) -> Law:
    def up(h: float) -> float:
        return max(h, min(h * factor, 0.999))

    if isinstance(law, PowerLaw):
        return with_fields(law, hit_rate_at=law.hit_rate_at * factor, ceiling=up(law.ceiling))
    if isinstance(law, HillLaw):
        return with_fields(law, floor=law.floor * factor, ceiling=up(law.ceiling))
    if isinstance(law, MeasuredLaw):
        return MeasuredLaw(tuple((k, up(h)) for k, h in law.points))
    raise TypeError(f"no relaxation is known for {type(law).__name__}")
