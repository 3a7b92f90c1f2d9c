"""What must always hold, on random small scenarios."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from planner.physics.reuse import HillLaw, Law, MeasuredLaw, PowerLaw
from planner.scenario import Scenario, replace
from tests.core.instances import GAP, cell, cheapest, from_dict, no_dearer, small
from tests.oracle.generate import scenario as random_scenario

SEEDS = st.integers(0, 3000)
quick = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


def drawn(seed: int) -> Scenario:
    scenario = small(seed)
    assume(scenario is not None)
    assert scenario is not None
    return scenario


@quick
@given(SEEDS, st.floats(1.05, 3.0), st.sampled_from(["slo.ttft_ms", "slo.tpot_ms"]))
def test_looser_promises_never_cost_more(seed: int, factor: float, key: str) -> None:
    scenario = drawn(seed)
    now = scenario.slo.ttft_ms if key == "slo.ttft_ms" else scenario.slo.tpot_ms
    assert no_dearer(cheapest(replace(scenario, {key: now * factor})), cheapest(scenario))


@quick
@given(SEEDS, st.integers(1, 64))
def test_more_gpus_allowed_never_cost_more(seed: int, more: int) -> None:
    scenario = drawn(seed)
    changed = replace(scenario, {"deployment.max_gpus": scenario.deployment.max_gpus + more})
    assert no_dearer(cheapest(changed), cheapest(scenario))


@quick
@given(SEEDS)
def test_more_roles_never_cost_more(seed: int) -> None:
    scenario = drawn(seed)
    assume(len(scenario.tiers) > 0)
    fewer = replace(scenario, {"tiers[0].roles": [scenario.tiers[0].roles[0]] if scenario.tiers[0].roles else []})
    assert no_dearer(cheapest(scenario), cheapest(fewer))


@quick
@given(SEEDS, st.floats(0.1, 0.95), st.sampled_from(["gpu", "tier0", "tier1"]))
def test_cheaper_anything_never_costs_more(seed: int, factor: float, what: str) -> None:
    scenario = drawn(seed)
    if what == "gpu":
        changed = replace(scenario, {"prices.gpu_usd_per_hour": scenario.prices.gpu_usd_per_hour * factor})
    else:
        index = int(what[-1])
        assume(len(scenario.tiers) > index)
        key = f"tiers[{index}].usd_per_gb_hour"
        changed = replace(scenario, {key: scenario.tiers[index].usd_per_gb_hour * factor})
    assert no_dearer(cheapest(changed), cheapest(scenario))


@quick
@given(SEEDS)
def test_a_higher_ceiling_never_costs_more(seed: int) -> None:
    """For the power law; an S-shaped curve split by random routing may lose more copies than it gains hits."""
    doc = random_scenario(seed)
    assume(doc["workload"]["reuse"]["law"] == "power" and doc["workload"]["reuse"]["ceiling"] < 0.9)
    assume(not any("reuse" in k for k in doc["workload"]["classes"]))
    scenario = drawn(seed)
    doc["workload"]["reuse"]["ceiling"] += 0.05
    assert no_dearer(cheapest(from_dict(doc)), cheapest(scenario))


@quick
@given(SEEDS, st.sampled_from([0.5, 2.0, 100.0]))
def test_scaling_every_price_scales_the_cost_and_keeps_the_plan(seed: int, factor: float) -> None:
    scenario = drawn(seed)
    changes: dict[str, object] = {"prices.gpu_usd_per_hour": scenario.prices.gpu_usd_per_hour * factor}
    for t, tier in enumerate(scenario.tiers):
        changes[f"tiers[{t}].usd_per_gb_hour"] = tier.usd_per_gb_hour * factor
    before, after = cell(scenario, "disaggregated", True), cell(replace(scenario, changes), "disaggregated", True)
    if before.best is None:
        assert after.best is None
        return
    assert after.best is not None
    assert after.proof.cost == pytest.approx(before.proof.cost * factor, rel=2 * GAP)
    assert after.best.decision.structure() == before.best.decision.structure()


@quick
@given(SEEDS)
def test_units_in_the_file_do_not_matter(seed: int) -> None:
    doc = random_scenario(seed)
    reuse = doc["workload"]["reuse"]
    assume("at_gb" in reuse)
    scenario = drawn(seed)
    from planner.physics.system import System

    tokens = dict(doc, workload=dict(doc["workload"], reuse=dict(reuse)))
    per_token = System(scenario).kv_per_token
    tokens["workload"]["reuse"]["at_tokens"] = tokens["workload"]["reuse"].pop("at_gb") * 1e9 / per_token
    a, b = cheapest(scenario), cheapest(from_dict(tokens))
    assert a == pytest.approx(b, rel=2 * GAP) or (math.isinf(a) and math.isinf(b))


LAWS = st.one_of(
    st.builds(
        PowerLaw,
        st.floats(0.05, 0.95),
        st.floats(0.05, 0.5),
        st.floats(1e10, 1e14),
        st.floats(0.5, 0.99),
    ),
    st.builds(HillLaw, st.floats(0, 0.2), st.floats(0.3, 0.99), st.floats(1e10, 1e14), st.floats(0.4, 4.0)),
    st.lists(st.tuples(st.floats(1e9, 1e13), st.floats(0.001, 0.2)), min_size=1, max_size=8).map(
        lambda steps: MeasuredLaw(
            tuple(
                (sum(k for k, _ in steps[: i + 1]), min(1.0, sum(h for _, h in steps[: i + 1])) * 0.6)
                for i in range(len(steps))
            )
        )
    ),
)


@settings(max_examples=200, deadline=None)
@given(LAWS, st.floats(1e6, 1e15), st.floats(1.0, 10.0))
def test_more_capacity_never_lowers_the_hit_rate(law: Law, capacity: float, factor: float) -> None:
    assert law.hit_rate(capacity * factor) >= law.hit_rate(capacity) - 1e-12
    assert 0.0 <= law.hit_rate(capacity) <= law.top + 1e-12


@settings(max_examples=200, deadline=None)
@given(LAWS, st.floats(0.01, 0.99))
def test_capacity_for_is_the_inverse(law: Law, share: float) -> None:
    target = law.base + (law.top - law.base) * share
    capacity = law.capacity_for(target)
    assert math.isfinite(capacity)
    assert law.hit_rate(capacity) >= target - 1e-9


@settings(max_examples=200, deadline=None)
@given(LAWS, st.integers(2, 40), st.floats(1e9, 1e15))
def test_splitting_never_helps(law: Law, instances: int, capacity: float) -> None:
    """Random routing makes copies. A convex stretch (an S-shaped start) is the one place where it may not hurt."""
    assume(all(r.concave for r in law.regions(1e16)) and len(law.regions(1e16)) == 1)
    assert law.split(instances).hit_rate(capacity) <= law.hit_rate(capacity) + 1e-9


@settings(max_examples=100, deadline=None)
@given(LAWS, st.floats(0.2, 5.0), st.floats(1e9, 1e15))
def test_load_moves_the_curve(law: Law, factor: float, capacity: float) -> None:
    assert law.at_load(factor).hit_rate(capacity * factor) == pytest.approx(law.hit_rate(capacity), rel=1e-9, abs=1e-12)
