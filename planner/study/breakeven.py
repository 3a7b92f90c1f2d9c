"""Break-even capacity per tier (MODEL.md section 12): where the next byte's rent equals the GPU time that it saves.

The closed form holds for a power law alone. It explodes as ``beta`` nears 1, and a law that fits badly makes it
meaningless; both are said, and the optimum on the actual curve is given in any case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.cells import SolveSettings
from planner.describe import headline
from planner.errors import InfeasibleError
from planner.physics.reuse import Law, PowerLaw
from planner.physics.system import System, Tier
from planner.plan import Evaluation
from planner.scenario import Scenario
from planner.study.keep import kept
from planner.study.points import cheapest

HOUR_S = 3600.0
STEEP = 0.9  # beta from which the closed form is refused
POOR_FIT = 0.03  # largest error of the fitted power law, as a hit rate
TB = 1e12
BETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
GRID = 600


@dataclass(frozen=True)
class PowerFit:
    """A power law through a curve: itself where the law is one, else least squares on h."""

    law: PowerLaw
    worst_error: float  # largest absolute error in hit rate


@dataclass(frozen=True)
class BreakEven:
    """One tier for one cache partition. Capacities in bytes, money in dollars per hour."""

    tier: str
    partition: str
    usd_per_hit: float
    beta: float
    fit_error: float
    closed_form_bytes: float
    capped: bool  # the law meets its ceiling first
    trusted: bool
    why: str
    elasticity: float  # d ln K* / d beta: percent of K* per 0.01 of beta
    optimum_bytes: float  # on the actual curve
    optimum_usd_per_hour: float  # saved there, beyond what free HBM saves
    limit_bytes: float  # what the plan's nodes can hold
    plan_bytes: float
    next_tb_usd_per_hour: float  # value of one more TB at the plan, less its rent
    plan_minutes: float | None  # how long a byte stays at the plan's capacity
    optimum_minutes: float | None
    explosion: tuple[tuple[float, float], ...]  # beta and closed form through the same point


@dataclass(frozen=True)
class BreakEvens:
    """All tiers of a scenario, valued at its cheapest plan."""

    scenario_name: str
    headline: str
    plan: Evaluation
    utilization: float
    rows: tuple[BreakEven, ...]
    free: tuple[str, ...]  # tiers without rent: there is nothing to break even


def closed_form(law: PowerLaw, rate: float, usd_per_hit: float, usd_per_byte_hour: float) -> float:
    """``K* = (3600 lambda v h beta / (r at^beta))^(1/(1-beta))`` in bytes, uncapped.

    >>> law = PowerLaw(beta=0.5, hit_rate_at=0.4, at=4e12, ceiling=1.0)
    >>> k = closed_form(law, rate=10.0, usd_per_hit=1e-3, usd_per_byte_hour=1e-12)
    >>> round(36 * law.slope(k) / 1e-12, 9)
    1.0
    """
    log_ratio = math.log(HOUR_S * rate * usd_per_hit * law.hit_rate_at * law.beta / usd_per_byte_hour)
    exponent = (log_ratio - law.beta * math.log(law.at)) / (1 - law.beta)
    return math.exp(min(exponent, 700.0))


def elasticity(law: PowerLaw, rate: float, usd_per_hit: float, usd_per_byte_hour: float) -> float:
    """``d ln K* / d beta``; it grows like ``1/(1-beta)^2``."""
    rest = 1 - law.beta
    log_k = math.log(closed_form(law, rate, usd_per_hit, usd_per_byte_hour))
    return (1 / law.beta - math.log(law.at) + log_k) / rest


def optimum(law: Law, rate: float, usd_per_hit: float, usd_per_byte_hour: float) -> float:
    """The capacity that minimises ``r K - 3600 lambda v h(K)`` on the curve as it is, in bytes.

    Beyond ``3600 lambda v top / r`` the rent exceeds what all hits save. A grid in log K and the curve's knots find the
    valley (a curve may have several), then it is narrowed down.
    """
    gain = HOUR_S * rate * usd_per_hit

    def net(k: float) -> float:
        return usd_per_byte_hour * k - gain * law.hit_rate(k)

    most = gain * law.top / usd_per_byte_hour
    if most <= 0:
        return 0.0
    grid = [most * 10 ** (-9 * (1 - i / GRID)) for i in range(GRID + 1)]
    points = sorted({0.0, *grid, *(k for k in law.knots() if 0 < k <= most)})
    best = min(range(len(points)), key=lambda i: net(points[i]))
    low, high = points[max(0, best - 1)], points[min(len(points) - 1, best + 1)]
    inside = _golden(net, low, high)
    return min((points[best], inside), key=net)


def _golden(net: object, low: float, high: float) -> float:
    """Golden-section search of the lowest point between two bounds."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = low, high
    for _ in range(90):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        a, b = (a, d) if net(c) <= net(d) else (c, b)  # type: ignore[operator]
    return (a + b) / 2


def power_fit(law: Law) -> PowerFit:
    """The power law nearest to a curve in hit rate, over the capacities at which the curve still climbs."""
    if isinstance(law, PowerLaw):
        return PowerFit(law, 0.0)
    high = law.capacity_for(0.98 * law.top)
    ks = [high * (i / 120) for i in range(1, 121)]
    hs = [law.hit_rate(k) for k in ks]
    best: tuple[float, float, float] | None = None
    for step in range(2, 99):
        beta = step / 100
        basis = [(k / high) ** beta for k in ks]
        scale = sum(b * h for b, h in zip(basis, hs, strict=True)) / sum(b * b for b in basis)
        error = sum((scale * b - h) ** 2 for b, h in zip(basis, hs, strict=True))
        if best is None or error < best[0]:
            best = (error, beta, scale)
    assert best is not None
    fitted = PowerLaw(best[1], best[2], high, law.top)
    return PowerFit(fitted, max(abs(fitted.hit_rate(k) - h) for k, h in zip(ks, hs, strict=True)))


def breakeven(scenario: Scenario) -> BreakEvens:
    """Value hits at the scenario's cheapest plan and find each tier's break-even capacity.

    Raises:
        InfeasibleError: No plan fits, so a hit has no value yet.
    """
    system = System(scenario)
    plan = cheapest(system, SolveSettings(scenario.solve.gap)).plan
    if plan is None:
        raise InfeasibleError(f"{scenario.name}: no design keeps every promise, so a hit saves nothing yet")
    plan = kept(system, plan.decision)
    used = (plan.prefill.offered_load or 0.0) / (plan.prefill.servers or 1.0)
    rows = [
        _row(system, plan, t, j, used)
        for t, tier in enumerate(system.tiers)
        if tier.usd_per_byte_hour > 0
        for j in range(len(system.laws))
    ]
    free = tuple(t.name for t in system.tiers if t.usd_per_byte_hour <= 0)
    return BreakEvens(scenario.name, headline(system), plan, used, tuple(r for r in rows if r is not None), free)


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


def _row(system: System, plan: Evaluation, t: int, j: int, utilization: float) -> BreakEven | None:
    tier, rent = system.tiers[t], system.tiers[t].usd_per_byte_hour
    decision = plan.decision
    law = system.partition_law(j, decision.architecture, decision.prefill_instances)
    rate = sum(system.classes[i].rate for i in system.partitions[j])
    value = usd_per_hit(system, plan, j, utilization)
    if value <= 0:
        return None
    fit = power_fit(law)
    uncapped = closed_form(fit.law, rate, value, rent)
    ceiling = fit.law.capacity_for(fit.law.ceiling)
    best = optimum(law, rate, value, rent)
    in_hbm = law.hit_rate(decision.hbm_bytes[j])
    gain = HOUR_S * rate * value
    saved = gain * (law.hit_rate(best) - in_hbm) - rent * best
    own = decision.capacity_bytes[t][j]
    trusted, why = _verdict(fit)
    return BreakEven(
        tier=tier.name,
        partition=_partition_name(system, j),
        usd_per_hit=value,
        beta=fit.law.beta,
        fit_error=fit.worst_error,
        closed_form_bytes=min(uncapped, ceiling),
        capped=uncapped > ceiling,
        trusted=trusted,
        why=why,
        elasticity=elasticity(fit.law, rate, value, rent),
        optimum_bytes=best,
        optimum_usd_per_hour=saved,
        limit_bytes=tier.max_per_node * plan.prefill.nodes,
        plan_bytes=own,
        next_tb_usd_per_hour=_next_tb(law, tier, gain, own, in_hbm),
        plan_minutes=_minutes(system, plan, own),
        optimum_minutes=_minutes(system, plan, best),
        explosion=_explosion(fit.law, rate, value, rent),
    )


def _partition_name(system: System, j: int) -> str:
    return ", ".join(system.classes[i].name for i in system.partitions[j]) if len(system.laws) > 1 else ""


def _next_tb(law: Law, tier: Tier, gain: float, own: float, in_hbm: float) -> float:
    """One more TB at the plan: hits that it adds beyond those of HBM, less its rent; GPUs taken as divisible."""
    before, after = max(law.hit_rate(own), in_hbm), max(law.hit_rate(own + TB), in_hbm)
    return gain * (after - before) - tier.usd_per_byte_hour * TB


def _minutes(system: System, plan: Evaluation, capacity: float) -> float | None:
    """How long fresh KV stays before it is overwritten: ``K / sum lambda (L - e P) kappa``."""
    if capacity <= 0:
        return None
    saved = sum(system.reuse_bytes_per_s) * plan.effective_hit_rate
    fresh = system.prompt_bytes_per_s - saved
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


def _explosion(law: PowerLaw, rate: float, value: float, rent: float) -> tuple[tuple[float, float], ...]:
    """The closed form of laws through the same point ``(at, hit_rate)`` as beta nears 1, uncapped."""
    laws = (PowerLaw(beta, law.hit_rate_at, law.at, 1.0) for beta in BETAS)
    return tuple((one.beta, closed_form(one, rate, value, rent)) for one in laws)
