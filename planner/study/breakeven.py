"""Break-even capacity per tier (MODEL.md section 12), valued at a scenario's cheapest plan.

The closed form holds for a power law alone. It explodes as ``beta`` nears 1, and a law that fits badly makes it
meaningless; both are said, and the optimum on the actual curve is given in any case, as is what the plan's nodes hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.cells import SolveSettings
from planner.describe import headline
from planner.judge.state import State, judged_state
from planner.physics.reuse import Law
from planner.physics.system import System, Tier
from planner.plan import Evaluation
from planner.scenario import Scenario
from planner.study.baseline import todays_plan
from planner.study.closed_form import (
    HOUR_S,
    Picture,
    PowerFit,
    Trade,
    closed_form,
    elasticity,
    explosion,
    optimum,
    power_fit,
)
from planner.study.keep import kept
from planner.study.next_tb import NextTB, next_tb

STEEP = 0.9  # beta from which the closed form is refused
POOR_FIT = 0.03  # largest error of the fitted power law, as a hit rate


@dataclass(frozen=True)
class Best:
    """A capacity and what it saves in dollars per hour beyond what free HBM saves; negative: HBM alone is better."""

    size_bytes: float
    usd_per_hour: float
    minutes: float | None  # how long a byte stays there

    @property
    def pays(self) -> bool:
        """Whether there is a capacity that saves more than it costs."""
        return self.usd_per_hour > 0


@dataclass(frozen=True)
class BreakEven:
    """One tier for one cache partition. Capacities in bytes, money in dollars per hour."""

    tier: str
    partition: str
    usd_per_byte_hour: float
    usd_per_hit: float
    beta: float
    fit_error: float
    closed_form_bytes: float
    capped: bool  # the law meets its ceiling first
    ceiling_bytes: float  # where it does
    formula_bytes: float  # the closed form without that
    trusted: bool
    why: str
    elasticity: float  # d ln K* / d beta: percent of K* per 0.01 of beta
    optimum: Best  # on the actual curve, this tier alone, no other limit
    within: Best  # the same, up to what the plan's nodes hold
    limit_bytes: float
    plan_bytes: float
    plan_minutes: float | None
    next_tb: NextTB
    explosion: Picture  # beta and closed form through the same point

    @property
    def pictured(self) -> bool:
        """Whether the closed form's explosion says anything about this curve: a power law describes it."""
        return self.fit_error <= POOR_FIT


@dataclass(frozen=True)
class BreakEvens:
    """All tiers of a scenario, valued at its cheapest plan."""

    scenario_name: str
    headline: str
    plan: Evaluation
    utilization: float
    rows: tuple[BreakEven, ...]
    free: tuple[str, ...]  # tiers without rent: there is nothing to break even
    worthless: tuple[str, ...] = ()  # partitions whose hits save no GPU time


def breakeven(scenario: Scenario) -> BreakEvens:
    """Value hits at the scenario's cheapest plan and find each tier's break-even capacity.

    Raises:
        InfeasibleError: No plan fits, so a hit has no value yet.
    """
    system = System(scenario)
    return at_plan(system, todays_plan(system, SolveSettings(scenario.solve.gap), "so a hit saves nothing yet"))


def at_plan(system: System, plan: Evaluation) -> BreakEvens:
    """The same, valued at a plan that is known already; nothing is solved."""
    scenario, plan = system.scenario, kept(system, plan.decision)
    state = judged_state(system, plan.decision)
    used = (plan.prefill.offered_load or 0.0) / (plan.prefill.servers or 1.0)
    values = [usd_per_hit(system, plan, j, used) for j in range(len(system.laws))]
    paid = [t for t, tier in enumerate(system.tiers) if _paid(tier)]
    return BreakEvens(
        scenario.name,
        headline(system),
        plan,
        used,
        tuple(_row(system, plan, state, t, j, values[j]) for t in paid for j, v in enumerate(values) if v > 0),
        tuple(tier.name for t, tier in enumerate(system.tiers) if t not in paid),
        tuple(partition_name(system, j) or "all classes" for j, v in enumerate(values) if v <= 0),
    )


def _paid(tier: Tier) -> bool:
    """Whether any of it is paid for: it has a rent, and a node holds more than it comes with."""
    return tier.usd_per_byte_hour > 0 and tier.included_per_node < tier.max_per_node


def usd_per_hit(system: System, plan: Evaluation, partition: int, utilization: float) -> float:
    """``v = delta g price / (3600 utilisation ways)``: GPU time that a hit saves, in dollars.

    ``delta`` is the mean over the partition's requests; a pass prefills ``ways`` sequences at once.
    """
    config = system.config_by_name[plan.decision.prefill_config]
    service = system.service(config, plan.decision.batch)
    members = system.partitions[partition]
    rate = sum(system.classes[i].rate for i in members)
    delta = sum(system.classes[i].rate * (service.miss[i] - service.hit[i]) for i in members) / rate
    return delta * config.gpus / config.ways * system.gpu_usd_per_hour / HOUR_S / max(utilization, 1e-9)


def _row(system: System, plan: Evaluation, state: State, t: int, j: int, value: float) -> BreakEven:
    tier, law = system.tiers[t], state.laws[j]
    hbm = plan.decision.hbm_bytes[j]
    rate = sum(system.classes[i].rate for i in system.partitions[j])
    trade = Trade(
        rate,
        value,
        tier.usd_per_byte_hour,
        tier.included_per_node * state.nodes,
        0.0 if system.inclusive else hbm,
    )
    limit, own = tier.max_per_node * state.nodes, plan.decision.capacity_bytes[t][j]
    fit = power_fit(law)
    terms = (fit.law, rate, value, tier.usd_per_byte_hour)
    uncapped, ceiling = closed_form(*terms), fit.law.capacity_for(fit.law.ceiling)
    trusted, why = _verdict(fit)
    return BreakEven(
        tier=tier.name,
        partition=partition_name(system, j),
        usd_per_byte_hour=tier.usd_per_byte_hour,
        usd_per_hit=value,
        beta=fit.law.beta,
        fit_error=fit.worst_error,
        closed_form_bytes=max(trade.included, min(uncapped, ceiling) - trade.beside),
        capped=uncapped > ceiling,
        ceiling_bytes=max(0.0, ceiling - trade.beside),
        formula_bytes=max(trade.included, uncapped - trade.beside),
        trusted=trusted,
        why=why,
        elasticity=elasticity(*terms),
        optimum=_best(system, law, trade, j, hbm, math.inf),
        within=_best(system, law, trade, j, hbm, limit),
        limit_bytes=limit,
        plan_bytes=own,
        plan_minutes=_minutes(system, j, own, state.hits[j]),
        next_tb=next_tb(system, plan, state, law, t, j, value),
        explosion=explosion(*terms),
    )


def _best(system: System, law: Law, trade: Trade, j: int, hbm: float, limit: float) -> Best:
    size = optimum(law, trade, limit)
    in_hbm = trade.usd_per_hour_of_hits * law.hit_rate(hbm)
    hits = law.hit_rate(size + trade.beside)
    return Best(size, -trade.net_usd_per_hour(law, size) - in_hbm, _minutes(system, j, size, hits))


def partition_name(system: System, j: int) -> str:
    """A cache partition by the classes that share it; empty where all do."""
    return ", ".join(system.classes[i].name for i in system.partitions[j]) if len(system.laws) > 1 else ""


def _minutes(system: System, j: int, capacity: float, hits: float) -> float | None:
    """How long fresh KV stays before it is overwritten: ``K / sum lambda (L - e P) kappa`` of a partition."""
    if capacity <= 0:
        return None
    prompts = sum(system.classes[i].rate * system.classes[i].prompt for i in system.partitions[j])
    fresh = prompts * system.kv_per_token - system.reuse_bytes_per_s[j] * hits
    return capacity / fresh / 60.0 if fresh > 0 else math.inf


def _verdict(fit: PowerFit) -> tuple[bool, str]:
    """Whether the closed form means anything, and why."""
    if fit.law.beta >= STEEP:
        return False, f"refused: beta {fit.law.beta:.2f} is at least {STEEP:g}, where the closed form explodes"
    if fit.worst_error > POOR_FIT:
        return False, (
            f"refused: the best power law (beta {fit.law.beta:.2f}) is off by up to "
            f"{100 * fit.worst_error:.1f} points on this curve"
        )
    return True, "holds: one tier, no other limit, GPUs in fractions"
