"""The corrections: monotone whatever they are, absent where the scenario gives its own numbers, visible in plans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.evaluate import evaluate
from planner.optimize import solve_scenario
from planner.physics.correction import CorrectedTiming, Errors, corrected, errors_of, quantile, wider
from planner.physics.system import System
from planner.physics.timing import engine_configs
from planner.report.derivation_time import path_steps
from planner.scenario import Scenario, catalog, loads, replace
from planner.scenario.catalog.corrections import FRONT_END, LEVELS, Correction, corrections, find, spreads
from planner.scenario.catalog.timing import roofline_fit

BASE = """
model: {model}
workload:
  requests_per_second: 4
  classes: [{{prompt_tokens: 2000, reusable_tokens: 0, output_tokens: 300}}]
  reuse: {{law: power, beta: 0.5, hit_rate: 0.5, at_gb: 1000, ceiling: 0.8}}
slo: {{ttft_ms: 2000, tpot_ms: 60}}
engine: {{timing: {timing}{more}}}
"""
ROOFLINE = ", roofline: {mfu: 0.4, mbu: 0.6, prefill_overhead_ms: 10, step_overhead_ms: 4}"


def scenario(model: str = "gpt-oss-120b", timing: str = "vllm-0.31", more: str = ", correction: default") -> Scenario:
    return loads(BASE.format(model=model, timing=timing, more=more))


TIMINGS = [
    c.timing
    for s in (scenario(), scenario("llama-3.1-70b-fp8", "roofline"), scenario("deepseek-v3", "sglang-0.5.14"))
    for c in engine_configs(s)[:2]
]
positive = st.floats(0.05, 20)
fixed = st.floats(0, 1000)
made = st.builds(
    Correction, st.just("vllm"), st.just(""), st.just("agg"), st.just("table"), positive, fixed, positive, fixed,
    st.floats(0, 1e4), fixed, st.floats(0, 1e4),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(TIMINGS), made, st.floats(1, 60000), st.floats(1, 3), st.floats(0, 60000), st.floats(1, 700),
)  # fmt: skip
def test_more_work_is_never_faster(timing, correction, tokens, more, prefix, batch) -> None:  # type: ignore[no-untyped-def]
    base = timing.base if isinstance(timing, CorrectedTiming) else timing
    t = corrected(base, correction)
    least = 1 - 1e-12
    assert t.prefill_s(tokens * more, prefix) >= t.prefill_s(tokens, prefix) * least
    assert t.prefill_s(tokens, prefix * more) >= t.prefill_s(tokens, prefix) * least
    assert t.decode_s(batch * more, tokens) >= t.decode_s(batch, tokens) * least
    assert t.decode_s(batch, tokens * more) >= t.decode_s(batch, tokens) * least
    assert t.first_token_s(tokens * more) >= t.first_token_s(tokens) * least


@pytest.mark.parametrize("entry", corrections(), ids=lambda c: f"{c.engine}-{c.version}-{c.mode}-{c.kind}")
def test_packaged_numbers_keep_monotonicity(entry: Correction) -> None:
    assert entry.prefill_factor > 0
    assert entry.decode_factor > 0
    assert min(entry.prefill_fixed_ms, entry.decode_fixed_ms, entry.decode_us_per_sequence, entry.first_token_ms) >= 0
    assert entry.rows > 0
    assert entry.models


def test_none_changes_nothing() -> None:
    plain = scenario(more=", correction: none")
    assert not any(isinstance(c.timing, CorrectedTiming) for c in engine_configs(plain))


def test_given_roofline_is_taken_as_it_is() -> None:
    given_numbers = scenario("llama-3.1-70b-fp8", "roofline", ", correction: default" + ROOFLINE)
    assert not any(isinstance(c.timing, CorrectedTiming) for c in engine_configs(given_numbers))
    fitted = scenario("llama-3.1-70b-fp8", "roofline")
    assert all(isinstance(c.timing, CorrectedTiming) for c in engine_configs(fitted))


def test_correction_is_visible_in_the_plan() -> None:
    found = solve_scenario(scenario(), with_verdict=False)
    notes = " ".join(found.plans[0].evaluation.notes)
    assert "TPOT" in notes
    assert "what 80 % of comparable measurements" in notes
    assert "corrected by" in notes


def test_far_from_measurements_is_said() -> None:
    notes = " ".join(solve_scenario(scenario("qwen3-30b-a3b-fp8"), with_verdict=False).plans[0].evaluation.notes)
    assert "far from anything measured" in notes
    assert "qwen3-30b-a3b-fp8 has no measurement on vllm that plans use" in notes


def test_confidence_plans_with_the_upper_end() -> None:
    mean, sure = scenario(), replace(scenario(), {"slo.confidence": 0.9})
    a, b = engine_configs(mean)[0].timing, engine_configs(sure)[0].timing
    assert b.decode_s(16, 2000) > a.decode_s(16, 2000)
    assert b.prefill_s(2000, 0) > a.prefill_s(2000, 0)
    assert any("90 % confidence" in note for note in b.notes)
    assert solve_scenario(sure, with_verdict=False).plans[0].evaluation.usd_per_hour >= (
        solve_scenario(mean, with_verdict=False).plans[0].evaluation.usd_per_hour
    )


def test_re_solve_with_confidence_does_not_reuse_times() -> None:
    system = System(scenario())
    assert system.configs
    sure = System(replace(system.scenario, {"slo.confidence": 0.9}), like=system)
    assert sure.configs[0].timing != system.configs[0].timing


def test_first_token_latency_is_in_the_path_and_not_in_the_load() -> None:
    with_it, without = System(scenario()), System(scenario(more=", correction: none"))
    name = with_it.configs[0].name
    outside = with_it.service(with_it.config_by_name[name], 16).transfer[0]
    assert outside > 0
    assert without.service(without.config_by_name[name], 16).transfer[0] == 0


def test_derivation_shows_the_first_tokens_latency() -> None:
    system = System(scenario())
    plan = solve_scenario(system.scenario, with_verdict=False).plans[0].evaluation
    step = next(s for s in path_steps(system, plan) if s.name.startswith("transfer"))
    assert "first token outside the GPU" in step.formula
    assert step.value >= system.configs[0].timing.first_token_s(2000) > 0


def test_sglang_mla_table_gives_way_to_the_roofline() -> None:
    notes = engine_configs(scenario("deepseek-v3", "sglang-0.5.14"))[0].timing.notes
    assert any("the roofline takes the table's place" in note for note in notes)


def test_spreads_are_ordered_and_confidence_follows_them() -> None:
    for s in spreads():
        assert len(s.ratios) == len(LEVELS)
        assert list(s.ratios) == sorted(s.ratios)
        assert quantile(s, 0.95) >= quantile(s, 0.9) >= quantile(s, 0.5) >= quantile(s, 0.1)


def test_margins_are_never_below_1_and_grow_with_confidence() -> None:
    tpot, ttft = (next(s for s in spreads() if s.phase == phase) for phase in ("tpot", "ttft"))
    plain, half, sure = (errors_of(tpot, ttft, c) for c in (None, 0.5, 0.9))
    assert (plain.margin_tpot, plain.margin_ttft) == (1.0, 1.0)
    assert 1.0 <= half.margin_tpot <= sure.margin_tpot
    assert 1.0 <= half.margin_ttft <= sure.margin_ttft
    assert plain.tpot.low < plain.tpot.middle < plain.tpot.high


def test_times_at_the_upper_end_stay_monotone_where_the_measurements_end() -> None:
    timing = engine_configs(replace(scenario(), {"slo.confidence": 0.9}))[0].timing
    assert isinstance(timing, CorrectedTiming)
    edge = timing.most_sequences
    assert timing.decode_s(edge + 1, 1000) >= timing.decode_s(edge, 1000)
    assert timing.far == wider(timing.far, timing.near)  # type: ignore[arg-type]


def test_lookup_takes_the_models_own_measurements() -> None:
    exact = find("vllm", "0.18.0", "agg", "table", "gpt-oss-120b")
    assert exact is not None
    assert exact.version == "0.18.0"
    assert find("vllm", "99", "agg", "table", "gpt-oss-120b") == find("vllm", None, "agg", "table", "gpt-oss-120b")
    assert find("nobody", None, "agg", "table", "gpt-oss-120b") is None


def test_of_an_unmeasured_model_only_the_front_end_carries_over() -> None:
    found = find("vllm", None, "agg", "table", "qwen3-30b-a3b-fp8")
    assert found is not None
    assert found.kind == FRONT_END
    measured = [c.first_token_ms for c in corrections() if (c.engine, c.mode, c.planning) == ("vllm", "agg", True)]
    assert min(measured) < found.first_token_ms < max(measured)
    plain, front = (
        engine_configs(scenario("qwen3-30b-a3b-fp8", more=f", correction: {c}"))[0].timing for c in ("none", "default")
    )
    longer = 32 * found.decode_us_per_sequence / 1e6
    assert 0.0003 < longer < 0.001
    assert front.decode_s(32, 3000) == pytest.approx(plain.decode_s(32, 3000) + longer, rel=1e-12)
    assert front.prefill_s(3000, 100) == pytest.approx(plain.prefill_s(3000, 100), rel=1e-12)
    assert isinstance(front, CorrectedTiming)
    assert front.first_token_s(3000) == pytest.approx(
        (found.first_token_ms + 3 * found.first_token_us_per_token) / 1e3, rel=1e-9
    )


def test_measurements_of_another_build_are_told_and_not_used() -> None:
    entry = next(c for c in corrections() if c.version == "0.12.0" and "qwen3-235b-a22b-fp8" in c.models)
    assert not entry.planning
    assert entry.tpot_ratio > 1.25
    notes = " ".join(engine_configs(scenario("qwen3-235b-a22b-fp8"))[0].timing.notes)
    assert f"in {entry.rows} measurements of this very model on vllm 0.12.0" in notes
    other = " ".join(engine_configs(scenario("qwen3-30b-a3b-fp8"))[0].timing.notes)
    assert "this very model" not in other


def test_the_band_is_wider_far_from_the_measurements() -> None:
    near, far = scenario("minimax-m2", "roofline"), replace(
        scenario("minimax-m2", "roofline"), {"workload.classes[0].prompt_tokens": 120_000}
    )  # fmt: skip
    bands = [next(c.timing for c in engine_configs(s) if c.name == "tp4") for s in (near, far)]
    assert all(isinstance(b, CorrectedTiming) for b in bands)
    near, far = (b.near for b in bands if isinstance(b, CorrectedTiming))
    assert isinstance(near, Errors)
    assert isinstance(far, Errors)
    assert far == wider(far, near)
    assert far.tpot.high - far.tpot.low > near.tpot.high - near.tpot.low
    assert far.ttft.high - far.ttft.low > near.ttft.high - near.ttft.low


def test_evaluation_of_a_corrected_plan_is_its_own() -> None:
    corrected_scenario = scenario()
    plan = solve_scenario(corrected_scenario, with_verdict=False).plans[0].evaluation
    again = evaluate(System(corrected_scenario), plan.decision)
    assert again.feasible
    assert again.tpot_s == pytest.approx(plan.tpot_s)


def test_re_solve_with_longer_prompts_does_not_keep_the_band() -> None:
    near = System(scenario("minimax-m2", "roofline"))
    assert near.configs
    far = System(replace(near.scenario, {"workload.classes[0].prompt_tokens": 120_000}), like=near)
    assert far.configs[0].timing != near.configs[0].timing


MINIMAX = """
model: minimax-m2
workload:
  requests_per_second: 25
  classes: [{prompt_tokens: 3000, reusable_tokens: 0, output_tokens: 400}]
  reuse: {law: power, beta: 0.5, hit_rate: 0.5, at_gb: 1000, ceiling: 0.8}
slo: {ttft_ms: 2000, tpot_ms: 60}
engine: {timing: roofline}
deployment: {architectures: [disaggregated]}
"""


def test_tpots_error_is_that_of_the_pool_that_decodes() -> None:
    system = System(loads(MINIMAX))
    plan = solve_scenario(system.scenario, with_verdict=False).plans[0].evaluation
    decision = plan.decision
    decoder = system.config_by_name[str(decision.decode_config)].timing
    assert isinstance(decoder, CorrectedTiming)
    expected = decoder.errors_at(float(decision.decode_batch or 0))
    assert expected is not None
    assert plan.tpot_error == (expected.tpot.low, expected.tpot.high)
    assert plan.ttft_error is not None
    assert plan.ttft_error[1] >= expected.ttft.high


def test_own_times_have_no_error_and_confidence_says_that_it_does_nothing() -> None:
    own = scenario("llama-3.1-70b-fp8", "roofline", ROOFLINE)
    sure = replace(own, {"slo.confidence": 0.9})
    a, b = engine_configs(own)[0].timing, engine_configs(sure)[0].timing
    assert b.decode_s(16, 2000) == pytest.approx(a.decode_s(16, 2000), rel=1e-12)
    assert any("has no effect" in note for note in b.notes)
    assert not any("has no effect" in note for note in a.notes)


@pytest.mark.parametrize("entry", corrections(), ids=lambda c: f"{c.engine}-{c.version}-{c.mode}-{c.kind}")
def test_no_roofline_goes_beyond_the_hardware(entry: Correction) -> None:
    """Operations and bytes per second that the corrected roofline reaches, against the GPU's peaks."""
    if entry.kind in ("table", "front end"):
        return
    engine = {"vllm": "vllm-0.31", "sglang": "sglang-0.5.14", "trtllm": "trtllm-1.3"}[entry.engine]
    for name in entry.models:
        known = catalog.model(name)
        fit = roofline_fit(engine, known.get("compute_dtype"))
        assert fit.mfu / entry.prefill_factor <= 0.86
        assert fit.mbu / entry.decode_factor <= 0.96
