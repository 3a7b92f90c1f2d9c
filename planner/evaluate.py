"""The judge: the exact physics of one decision (MODEL.md sections 4 to 11). It knows nothing of the optimisation model.

Every number that a plan shows comes from here, and a decision that breaks any promise is reported with what it
needs and what it has.
"""

from __future__ import annotations

from planner.judge import accounts, checks, pools
from planner.judge.state import judged_state, read_flow, staged_in
from planner.physics import cost
from planner.physics.corrected import beyond_measured, expected_errors, uncertainty
from planner.physics.system import System
from planner.plan import Decision, Evaluation, Violation

__all__ = ["evaluate", "read_flow", "staged_in"]


def evaluate(system: System, decision: Decision) -> Evaluation:
    """Judge ``decision``: its cost, its times, and every promise it breaks."""
    judged = judged_state(system, decision)
    violations = [*checks.check_law(judged), *checks.check_pools(judged), *checks.check_tiers(judged)]
    paths = pools.paths(judged)
    worst = max((p for p in paths if p.in_use), key=lambda p: p.total_s)
    if not worst.total_s <= system.ttft_s * (1 + checks.REL):
        violations.append(Violation("ttft_budget", worst.total_s, system.ttft_s, "s"))
    prefill, decode_pool, tpot = pools.pools(judged, violations)
    costs = accounts.costs(judged, prefill, decode_pool)
    usd = sum(line.usd_per_hour for line in costs)
    decoder = system.config_by_name[decision.decode_config or decision.prefill_config]
    batch = float(decision.decode_batch or decision.batch or 1)
    errors = expected_errors(judged.config.timing, decoder.timing, batch)
    confidence = system.scenario.slo.confidence
    told = uncertainty(errors, tpot, worst.total_s, confidence)
    around = errors if confidence is None else None  # times at the upper end are not what is expected
    return Evaluation(
        decision=decision,
        usd_per_hour=usd,
        usd_per_million_tokens=cost.usd_per_million_tokens(usd, system.tokens_per_s),
        costs=costs,
        prefill=prefill,
        decode=decode_pool,
        tiers=accounts.tiers(judged),
        effective_hit_rate=accounts.mean_hits(judged),
        paths=paths,
        tpot_s=tpot,
        binding=accounts.binding(judged, prefill, decode_pool, tpot, worst.total_s),
        violations=tuple(violations),
        notes=told + accounts.notes(judged) + beyond_measured(decoder.timing, batch),
        tpot_error=None if around is None else (around.tpot.low, around.tpot.high),
        ttft_error=None if around is None else (around.ttft.low, around.ttft.high),
    )
