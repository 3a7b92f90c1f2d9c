from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.physics.fit_roofline import errors_of, simplex, targets_by_fit
from planner.physics.roofline import RooflineTiming, attention_flops, weight_bytes
from planner.physics.timing import engine_configs
from planner.scenario import loads
from planner.scenario.catalog.timing import engine_titles, roofline_fit, roofline_fits

from .timing_scenarios import scenario

EXAMPLE = """
model:
  name: seed-example
  layers: 32
  attention: {kind: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}
  experts: {count: 128, top_k: 8}
  params_b: {total: 235, active: 22, routed_experts: 211.5}
  weight_bytes_per_param: 1
  kv_bytes_per_element: 2
  HIDDEN
hardware: {name: h200-sxm, hbm_gb: 141, hbm_gb_per_s: 4800, peak_tflops: 1979, runtime_reserve_gb: 4 NVLINK}
workload:
  requests_per_second: 20
  classes: [{prompt_tokens: 8000, reusable_tokens: 7000, output_tokens: 300}]
  reuse: {law: power, beta: 0.4, hit_rate: 0.35, at_gb: 2000, ceiling: 0.8}
slo: {ttft_ms: 700, tpot_ms: 50}
engine:
  timing: roofline
  configs: CONFIGS
  roofline: {mfu: 0.45, mbu: 0.65, prefill_overhead_ms: 6, step_overhead_ms: 4}
"""


def timing_of(configs: str = "[{gpus: 4}]", hidden: str = "", nvlink: str = "") -> RooflineTiming:
    text = EXAMPLE.replace("CONFIGS", configs).replace("HIDDEN", hidden).replace("NVLINK", nvlink)
    timing = engine_configs(loads(text))[0].timing
    assert isinstance(timing, RooflineTiming)
    return timing


def test_prefill_is_compute_bound_for_long_prompts() -> None:
    flops = 2 * 22e9 * 8000 + 4 * 32 * 32 * 128 * 8000 * (7000 + 4000)
    assert timing_of().prefill_s(8000, 7000) == pytest.approx(flops / (4 * 1979e12 * 0.45) + 0.006)


def test_prefill_is_weight_bound_for_short_prompts() -> None:
    assert timing_of().prefill_s(10, 0) == pytest.approx(235e9 / (4 * 4800e9 * 0.65) + 0.006)


def test_decode_reads_dense_weights_touched_experts_and_kv() -> None:
    touched = 1 - (1 - 8 / 128) ** 16
    read = (235e9 - 211.5e9) + 211.5e9 * touched + 16 * 8150 * 131_072
    expected = read / (4 * 4800e9 * 0.65) + 2 * 22e9 * 16 / (4 * 1979e12 * 0.45) + 0.004
    assert timing_of().decode_s(16, 8150) == pytest.approx(expected)


def test_kv_replicates_beyond_the_kv_heads() -> None:
    def per_token(gpus: int) -> float:
        timing = timing_of(f"[{{gpus: {gpus}}}]")
        return (timing.decode_s(1, 1e6) - timing.decode_s(1, 0)) / 1e6 * (gpus * 4800e9 * 0.65)

    assert per_token(8) == pytest.approx(131_072)
    assert per_token(16) == pytest.approx(2 * 131_072)


def test_communication_needs_hidden_and_nvlink() -> None:
    bare = timing_of()
    assert timing_of(hidden="hidden: 4096").prefill_s(8000, 0) == bare.prefill_s(8000, 0)
    assert timing_of(nvlink=", nvlink_gb_per_s: 450").prefill_s(8000, 0) == bare.prefill_s(8000, 0)
    both = timing_of(hidden="hidden: 4096", nvlink=", nvlink_gb_per_s: 450")
    per_token = 2 * 32 * 4096 * 2 * 2 * 3 / 4 / 450e9
    assert both.prefill_s(8000, 0) - bare.prefill_s(8000, 0) == pytest.approx(8000 * per_token)
    assert both.decode_s(64, 1000) - bare.decode_s(64, 1000) == pytest.approx(64 * per_token)


def test_ways_multiply_compute_and_not_weights() -> None:
    one, four = timing_of("[{gpus: 4, tp: 1, dp: 4, ways: 1}]"), timing_of("[{gpus: 4, tp: 1, dp: 4}]")
    assert four.prefill_s(8000, 0) - 0.006 == pytest.approx(4 * (one.prefill_s(8000, 0) - 0.006))
    assert four.prefill_s(1, 0) == one.prefill_s(1, 0)


def test_configurations_follow_the_scenario() -> None:
    configs = engine_configs(
        loads(EXAMPLE.replace("HIDDEN", "").replace("NVLINK", "").replace("CONFIGS", "[{gpus: 2}, {gpus: 8, dp: 2}]"))
    )
    assert [(c.name, c.gpus, c.tp, c.dp, c.ways) for c in configs] == [("tp2", 2, 2, 1, 1), ("tp4·dp2", 8, 4, 2, 2)]
    assert [(c.weight_bytes, c.reserve_bytes) for c in configs] == [(235e9, 8e9), (235e9, 32e9)]


def test_a_narrower_tp_alone_does_not_make_more_ways() -> None:
    timing = timing_of("[{gpus: 8, tp: 4}]")
    assert timing.ways == 1
    assert timing.prefill_s(8000, 0) == timing_of("[{gpus: 8}]").prefill_s(8000, 0)


def test_a_fully_cached_prompt_still_takes_a_pass_over_the_weights() -> None:
    timing = timing_of()
    assert timing.prefill_overhead_s < timing.prefill_s(0, 8000) <= timing.prefill_s(1, 8000)


def test_a_formula_has_no_grid() -> None:
    assert timing_of().prefill_in_grid(1e9, 1e9)
    assert timing_of().decode_in_grid(1e9, 1e9)


@given(st.floats(1, 1e6), st.floats(0, 1e6), st.floats(1, 4096), st.floats(0, 1e5))
def test_times_never_fall(new: float, prefix: float, batch: float, more: float) -> None:
    timing = timing_of()
    slack = 1 + 1e-12
    assert timing.prefill_s(new, prefix) <= timing.prefill_s(new + more, prefix) * slack
    assert timing.prefill_s(new, prefix) <= timing.prefill_s(new, prefix + more) * slack
    assert timing.decode_s(batch, prefix) <= timing.decode_s(batch + more, prefix) * slack
    assert timing.decode_s(batch, prefix) <= timing.decode_s(batch, prefix + more) * slack


def test_a_dense_model_reads_every_weight_at_every_batch() -> None:
    model = scenario("{timing: roofline}", "llama-3.1-70b").model
    total, experts = weight_bytes(model)
    assert experts == 0.0
    assert total == pytest.approx(141e9, rel=0.01)


def test_stated_weights_win_over_bytes_per_parameter() -> None:
    total, experts = weight_bytes(scenario("{timing: roofline}", "gpt-oss-120b").model)
    assert total == pytest.approx(65.2e9, rel=0.01)
    assert 0.8 * total < experts < total


def test_mla_attention_takes_the_mean_of_key_and_value_dimensions() -> None:
    model = scenario("{timing: roofline}", "deepseek-v3").model
    assert attention_flops(model) == 4 * 61 * 128 * (192 + 128) / 2


def test_default_configurations_hold_the_weights_and_keep_tp_within_nvlink() -> None:
    def shapes(model: str, hardware: str) -> list[tuple[int, int, int]]:
        configs = engine_configs(scenario("{timing: roofline}", model, hardware))
        return [(c.gpus, c.tp, c.dp) for c in configs]

    assert shapes("llama-3.1-8b", "h200-sxm") == [(1, 1, 1), (2, 2, 1), (4, 4, 1), (8, 8, 1)]
    assert shapes("llama-3.1-70b", "h200-nvl") == [(2, 2, 1), (4, 4, 1), (8, 4, 2)]
    assert shapes("deepseek-v3", "h200-sxm") == [(8, 8, 1), (8, 1, 8), (16, 8, 2), (16, 1, 16)]


def test_a_model_that_fits_nowhere_is_an_input_error() -> None:
    tiny = "{name: small, hbm_gb: 16, hbm_gb_per_s: 300, peak_tflops: 60}"
    with pytest.raises(InputError, match="do not fit in 16 GPUs"):
        engine_configs(scenario("{timing: roofline}", "deepseek-v3", tiny))


def test_an_explicit_tp_across_islands_is_kept_and_noted() -> None:
    (config,) = engine_configs(scenario("{timing: roofline, configs: [{gpus: 8}]}", "llama-3.1-70b", "h200-nvl"))
    assert config.tp == 8
    assert any("tp 8 spans more than the 4 GPUs" in note for note in config.timing.notes)


def test_every_roofline_says_what_it_was_fitted_to_or_that_it_was_not() -> None:
    fit = roofline_fit("trtllm-1.3", "fp8")
    names = ("mfu", "mbu", "prefill_overhead_ms", "step_overhead_ms")
    numbers = ", ".join(f"{name}: {getattr(fit, name)}" for name in names)
    asked = f"{{timing: roofline, correction: none, configs: [{{gpus: 4}}], roofline: {{{numbers}}}}}"
    (config,) = engine_configs(scenario(asked))
    (note,) = config.timing.notes
    assert note == (
        "roofline; fitted to TensorRT-LLM 1.3 tables on H200 SXM (fp8 models): median error "
        f"{fit.prefill.median_pct:.0f} %, p90 {fit.prefill.p90_pct:.0f} % (prefill); median "
        f"{fit.decode.median_pct:.0f} %, p90 {fit.decode.p90_pct:.0f} % (decode)"
    )
    assert "as the scenario gives them: the error against measurements is not known" in timing_of().notes[0]


def test_there_is_a_fit_per_engine_and_precision_and_it_is_a_usable_one() -> None:
    fits = roofline_fits()
    assert {(f.engine, f.compute_dtype) for f in fits} == {(e, d) for e in engine_titles() for d in ("bf16", "fp8")}
    for fit in fits:
        assert 0.1 < fit.mfu < 0.6
        assert 0.3 < fit.mbu < 0.9
        assert fit.prefill.median_pct < 30
        assert fit.decode.median_pct < 20
    assert roofline_fit("roofline").engine == "vllm-0.31"


def test_the_stated_errors_are_those_of_the_shipped_parameters() -> None:
    for engine, dtype, targets in targets_by_fit():
        fit = roofline_fit(engine, dtype)
        prefill, decode = errors_of(targets, fit.mfu, fit.mbu, fit.prefill_overhead_ms, fit.step_overhead_ms)
        assert (prefill, decode) == (asdict(fit.prefill), asdict(fit.decode))


def test_the_simplex_finds_a_known_minimum() -> None:
    def bowl(x: list[float]) -> float:
        return (x[0] - 1) ** 2 + 10 * (x[1] + 2 - x[0]) ** 2 + (x[2] - 3) ** 2 + (x[3] + x[0]) ** 2

    assert simplex(bowl, [0.0, 0.0, 0.0, 0.0]) == pytest.approx([1, -1, 3, -1], abs=1e-6)
