import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.physics.grid import rising
from planner.physics.timing import EngineConfig, engine_configs
from planner.physics.timing_table import TableTiming, table_timing
from planner.scenario import replace
from planner.scenario.catalog.timing import (
    FOLDER,
    MeasuredConfig,
    MeasuredGrid,
    MeasuredTable,
    TableKey,
    available_tables,
    engine_titles,
    load_table,
)
from planner.scenario.catalog.timing.build import ENGINES, HARDWARE, main
from planner.units import GIB

from .timing_scenarios import scenario

EXTRACTS = Path(__file__).parents[3] / "shared" / "data" / "timing"
TABLES = [load_table(*key) for key in available_tables()]
EVERY = [(table, config) for table in TABLES for config in table.configs]
TIMINGS = [table_timing(table, config) for table, config in EVERY]
timings = st.sampled_from(TIMINGS)
tokens = st.floats(0, 200_000)
batches = st.floats(1, 2000)


def named(configs: tuple[EngineConfig, ...], name: str) -> EngineConfig:
    return next(c for c in configs if c.name == name)


def test_every_engine_has_the_four_models() -> None:
    models = {"deepseek-v3-671b-fp8", "qwen3-235b-a22b-fp8", "gpt-oss-120b-mxfp4", "qwen3-30b-a3b-fp8"}
    assert set(available_tables()) == {(e, m, "h200-sxm") for e in engine_titles() for m in models}
    assert set(engine_titles()) == {"vllm-0.31", "sglang-0.5.14", "trtllm-1.3"}
    assert len(EVERY) == 165


def test_the_packaged_tables_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < 400_000


def test_an_unknown_table_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        load_table("vllm-0.31", "no-such-model", "h200-sxm")


@pytest.mark.parametrize("index", range(len(EVERY)))
def test_times_are_the_measured_ones_at_grid_points(index: int) -> None:
    config, timing = EVERY[index][1], TIMINGS[index]
    for grid, time_s in ((config.prefill, timing.prefill_s), (config.decode, timing.decode_s)):
        for row, raised in zip(grid.rows, rising(grid.milliseconds), strict=True):
            for column, expected in zip(grid.columns, raised, strict=True):
                assert time_s(row, column) == pytest.approx(expected / 1e3, rel=1e-12)


@pytest.mark.skipif(not EXTRACTS.is_dir(), reason="the extracts that the tables were built from are not here")
@pytest.mark.parametrize("short", ENGINES)
def test_the_packaged_tables_hold_every_row_of_the_extracts(short: str) -> None:
    phases = {"prefill": ("new_tokens", "prefix_tokens", "latency_ms"), "decode": ("batch_instance", "ctx", "step_ms")}
    for phase, (row_axis, column_axis, value) in phases.items():
        packaged = {
            (table.model, c.gpus, c.tp, c.dp, c.etp, c.ep, row, column): ms
            for table, c in EVERY
            if table.engine == ENGINES[short][0]
            for row, values in zip(getattr(c, phase).rows, getattr(c, phase).milliseconds, strict=True)
            for column, ms in zip(getattr(c, phase).columns, values, strict=True)
        }
        text = (EXTRACTS / f"{HARDWARE[0]}_{short}_{phase}.csv").read_text().splitlines()
        rows = list(csv.DictReader(line for line in text if not line.startswith("#")))
        assert len(rows) == len(packaged)
        for row in rows:
            split = tuple(int(row[n]) for n in ("gpus", "tp", "dp", "etp", "ep"))
            key = (row["model"], *split, float(row[row_axis]), float(row[column_axis]))
            assert packaged[key] == float(row[value])


@pytest.mark.skipif(not EXTRACTS.is_dir(), reason="the extracts that the tables were built from are not here")
def test_building_the_tables_again_gives_the_packaged_files(tmp_path: Path) -> None:
    main(EXTRACTS, tmp_path)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert built == {name: (FOLDER / name).read_bytes() for name in built}
    assert len(built) == len(TABLES) + 1


@given(timings, tokens, tokens, tokens)
def test_prefill_never_falls_with_more_tokens(timing: TableTiming, new: float, prefix: float, more: float) -> None:
    assert timing.prefill_s(new, prefix) <= timing.prefill_s(new + more, prefix) * (1 + 1e-12)
    assert timing.prefill_s(new, prefix) <= timing.prefill_s(new, prefix + more) * (1 + 1e-12)


@given(timings, batches, tokens, st.floats(0, 1000))
def test_decode_never_falls_with_batch_or_context(timing: TableTiming, b: float, context: float, more: float) -> None:
    assert 0 < timing.decode_s(b, context) <= timing.decode_s(b + more, context) * (1 + 1e-12)
    assert timing.decode_s(b, context) <= timing.decode_s(b, context + more) * (1 + 1e-12)


@given(timings, st.floats(32_768, 500_000), tokens)
def test_prefill_beyond_the_grid_is_linear_in_tokens(timing: TableTiming, new: float, prefix: float) -> None:
    edge = timing.prefill_s(32_768, prefix)
    there, twice = timing.prefill_s(new, prefix), timing.prefill_s(2 * new - 32_768, prefix)
    assert twice - edge == pytest.approx(2 * (there - edge), rel=1e-6, abs=1e-9)


@given(timings, st.floats(32_768, 500_000), batches)
def test_decode_beyond_the_grid_is_linear_in_context(timing: TableTiming, context: float, b: float) -> None:
    edge = timing.decode_s(b, 32_768)
    there, twice = timing.decode_s(b, context), timing.decode_s(b, 2 * context - 32_768)
    assert twice - edge == pytest.approx(2 * (there - edge), rel=1e-6, abs=1e-9)


@given(timings, tokens)
def test_a_fully_cached_prompt_computes_its_last_token(timing: TableTiming, prefix: float) -> None:
    assert timing.prefill_s(0, prefix) == timing.prefill_s(1, prefix) > 0
    assert 0 < timing.prefill_s(1, prefix) <= timing.prefill_s(256, prefix)


def test_a_short_prefill_costs_at_least_a_decode_step_where_that_is_below_the_first_point() -> None:
    for (_, config), timing in zip(EVERY, TIMINGS, strict=True):
        for prefix in config.prefill.columns:
            floor = min(timing.decode_s(config.ways, prefix), timing.prefill_s(256, prefix))
            assert timing.prefill_s(1, prefix) >= floor * (1 - 1e-12)


def test_a_batch_below_the_first_is_flat_and_a_short_context_at_least_half() -> None:
    for (_, config), timing in zip(EVERY, TIMINGS, strict=True):
        first = config.decode.rows[0]
        assert timing.decode_s(first / 2, 4096) == timing.decode_s(first, 4096)
        assert timing.decode_s(first, 1) >= 0.5 * timing.decode_s(first, 1024)


def test_in_grid_is_the_measured_rectangle() -> None:
    timing = TIMINGS[0]
    assert timing.prefill_in_grid(256, 0)
    assert timing.prefill_in_grid(32_768, 32_768)
    assert timing.prefill_in_grid(0, 999_999)
    assert not timing.prefill_in_grid(255, 0)
    assert not timing.prefill_in_grid(300, 32_769)
    assert timing.decode_in_grid(1, 1024)
    assert not timing.decode_in_grid(1, 1023)
    assert not timing.decode_in_grid(513, 1024)


def test_interpolation_is_linear_in_log2() -> None:
    grid = MeasuredGrid((256.0, 1024.0), (0.0, 3.0), ((100.0, 200.0), (300.0, 600.0)))
    steps = MeasuredGrid((1.0, 4.0), (1024.0, 4096.0), ((10.0, 20.0), (30.0, 40.0)))
    table = MeasuredTable("x", "X", "m", "h", None, "test", ())
    timing = table_timing(table, MeasuredConfig(1, 1, 1, 1, 1, 1, grid, steps))
    assert timing.prefill_s(512, 1) == pytest.approx(1e-3 * (100 + 200 + 300 + 600) / 4)
    assert timing.decode_s(2, 2048) == pytest.approx(1e-3 * (10 + 20 + 30 + 40) / 4)


def test_a_faulty_decode_is_raised_and_the_note_says_by_how_much() -> None:
    grid = MeasuredGrid((256.0, 512.0), (0.0, 64.0), ((10.0, 9.0), (20.0, 21.0)))
    steps = MeasuredGrid((1.0, 2.0), (64.0, 128.0), ((10.0, 11.0), (8.0, 12.0)))
    table = MeasuredTable("x", "X", "m", "h", None, "test", ())
    timing = table_timing(table, MeasuredConfig(1, 1, 1, 1, 1, 1, grid, steps))
    assert timing.decode_s(2, 64) == 0.010
    assert timing.prefill_s(256, 64) == 0.010
    assert "prefill made monotone in new and cached tokens: the largest value raised by 11.1 %" in timing.notes
    assert "decode made monotone in batch and context: the largest value raised by 25.0 %" in timing.notes


@pytest.mark.parametrize("table", TABLES, ids=lambda t: f"{t.engine}-{t.model}")
def test_memory_of_the_tables_reproduces_their_kv_tokens(table: MeasuredTable) -> None:
    """What weights and reserve leave of HBM, over KV bytes per token, is the tokens that the extract states.

    The extract's tool counts the windowed layers of gpt-oss at their cap, so that half of its bytes grow.
    """
    growing = 0.5 if table.model.startswith("gpt-oss") else 1.0
    assert table.capacity_bytes is not None
    assert table.hbm_fraction is not None
    for config in table.configs:
        assert config.weights_gib is not None
        assert config.reserve_gib is not None
        used = (config.weights_gib + config.reserve_gib) * GIB
        if table.hbm_fraction_of == "total":
            free = table.capacity_bytes * table.hbm_fraction - used
        else:
            free = (table.capacity_bytes - used) * table.hbm_fraction
        per_token = growing * (config.kv_bytes_per_token_per_gpu or 0)
        assert config.dp * free / per_token == pytest.approx(config.instance_kv_tokens, rel=0.01)


def test_configs_carry_the_tables_memory_and_ways() -> None:
    config = named(engine_configs(scenario("{timing: vllm-0.31, correction: none}")), "tp2·dp2·ep4")
    assert (config.gpus, config.tp, config.dp, config.etp, config.ep, config.ways) == (4, 2, 2, 1, 4, 2)
    assert config.weight_bytes == pytest.approx(4 * 56.667 * GIB)
    assert config.reserve_bytes == pytest.approx(4 * (1.625 + 3.5 + 0.334) * GIB)
    assert config.timing.source == (
        "vLLM 0.31 table of qwen3-235b-a22b-fp8 on h200-sxm "
        "(NVIDIA AISimulate 0.13.0.dev202610270000000085, database 0.31.0)"
    )


def test_config_names_are_unique() -> None:
    for table in TABLES:
        configs = engine_configs(scenario(f"{{timing: {table.engine}}}", table.model))
        assert len({c.name for c in configs}) == len(configs) > 0


def test_configs_are_restricted_to_the_scenarios() -> None:
    base = "{timing: vllm-0.31, configs: [%s]}"
    assert [c.name for c in engine_configs(scenario(base % "{gpus: 8, tp: 8}"))] == ["tp8·ep8"]
    assert {c.gpus for c in engine_configs(scenario(base % "{gpus: 2}, {gpus: 4}"))} == {2, 4}
    assert [c.name for c in engine_configs(scenario(base % "{gpus: 4, dp: 2, etp: 4}"))] == ["tp2·dp2·etp4"]


def test_expert_tensor_parallelism_stays_within_nvlink_unless_named() -> None:
    every = engine_configs(scenario("{timing: vllm-0.31}", "deepseek-v3"))
    assert {c.gpus for c in every} == {8, 16}
    assert max(c.etp for c in every) == 8
    asked = engine_configs(scenario("{timing: vllm-0.31, configs: [{gpus: 16, etp: 16}]}", "deepseek-v3"))
    assert {c.etp for c in asked} == {16}


def test_a_configuration_that_no_table_has_is_an_error() -> None:
    with pytest.raises(InputError, match="no such configuration") as caught:
        engine_configs(scenario("{timing: vllm-0.31, configs: [{gpus: 3}]}"))
    assert caught.value.diagnostics[0].span is not None


def test_an_unknown_engine_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"did you mean 'vllm-0\.31'") as caught:
        engine_configs(replace(scenario("{timing: vllm-0.31}"), {"engine.timing": "vllm-0.24"}))
    assert caught.value.diagnostics[0].path == "engine.timing"


def test_known_faults_are_noted() -> None:
    sglang = engine_configs(scenario("{timing: sglang-0.5.14, correction: none}", "deepseek-v3"))[0].timing.notes
    assert any("MLA decode is about 3 times slower" in note for note in sglang)
    vllm = engine_configs(scenario("{timing: vllm-0.31}", "deepseek-v3"))[0].timing.notes
    assert not any("MLA" in note for note in vllm)
    for notes in (sglang, vllm):
        assert any("cached prefix is scaled" in note for note in notes)


def test_kv_precision_other_than_the_tables_is_noted() -> None:
    def about_kv(engine: str, model: str) -> list[str]:
        return [n for n in engine_configs(scenario(engine, model))[0].timing.notes if "fp8 KV" in n or "bf16 KV" in n]

    assert "optimistic" in about_kv("{timing: vllm-0.31, kv_dtype: bf16}", "qwen3-30b-a3b-fp8")[0]
    assert not about_kv("{timing: vllm-0.31, kv_dtype: fp8}", "qwen3-30b-a3b-fp8")
    assert not about_kv("{timing: vllm-0.31, kv_dtype: bf16}", "gpt-oss-120b")
    assert "pessimistic" in about_kv("{timing: vllm-0.31, kv_dtype: fp8}", "gpt-oss-120b")[0]


def test_much_estimated_time_is_noted() -> None:
    deepseek = scenario("{timing: vllm-0.31}", "deepseek-v3")
    notes = named(engine_configs(deepseek), "tp8·ep8").timing.notes
    assert any(note.startswith("decode: 59 % of the time (up to 78 %)") for note in notes)


def test_a_missing_table_falls_back_to_the_roofline_and_says_so() -> None:
    for model, hardware in (("llama-3.1-70b", "h200-sxm"), ("deepseek-v3", "h200-nvl")):
        asked = replace(scenario("{timing: roofline}", model, hardware), {"engine.timing": "sglang-0.5.14"})
        for config in engine_configs(asked):
            assert config.timing.source.startswith("roofline")
            assert "no SGLang 0.5.14 table" in config.timing.notes[0]


def test_times_do_not_depend_on_load() -> None:
    base = scenario("{timing: vllm-0.31}")
    again = engine_configs(replace(base, {"workload.requests_per_second": 50.0}))
    assert [c.timing for c in again] == [c.timing for c in engine_configs(base)]


def test_index_and_files_agree() -> None:
    listed = {TableKey(*key).file_name for key in available_tables()}
    assert {path.name for path in FOLDER.glob("*_*_*.json")} == listed
