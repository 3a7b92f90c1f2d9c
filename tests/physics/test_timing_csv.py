from itertools import product
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.physics.timing import EngineConfig, engine_configs
from planner.units import GB

from .timing_scenarios import scenario

HEADER = "phase,model,gpus,tp,dp,new_tokens,prefix_tokens,latency_ms,batch,context,step_ms"


def rows(gpus: int = 4, model: str = "") -> list[str]:
    prefill = [
        f"prefill,{model},{gpus},{gpus},1,{u},{p},{u / 10 + p / 100 + 1},,," for u, p in product((512, 1024), (0, 2048))
    ]
    decode = [f"decode,{model},{gpus},{gpus},1,,,,{b},{x},{b + x / 1000}" for b, x in product((1, 8), (1024, 4096))]
    return prefill + decode


def configs(folder: Path, lines: list[str], engine: str = "{timing: mine.csv}") -> tuple[EngineConfig, ...]:
    (folder / "mine.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return engine_configs(scenario(engine, file=str(folder / "s.yaml")))


def messages(folder: Path, lines: list[str]) -> list[tuple[int, str]]:
    with pytest.raises(InputError) as caught:
        configs(folder, lines)
    found = caught.value.diagnostics
    assert all(d.span is not None and d.path == "engine.timing" for d in found)
    return [(d.span.line, d.message) for d in found if d.span]


def test_a_table_beside_the_scenario_is_read(tmp_path: Path) -> None:
    (config,) = configs(tmp_path, ["# measured on our node", HEADER, *rows()])
    assert (config.name, config.gpus, config.ways) == ("tp4", 4, 1)
    assert config.timing.prefill_s(1024, 2048) == pytest.approx((102.4 + 20.48 + 1) / 1e3)
    assert config.timing.decode_s(8, 4096) == pytest.approx(12.096e-3)
    assert config.timing.notes[0] == "times from mine.csv, as the user measured them"
    assert config.weight_bytes == pytest.approx(235e9, rel=0.02)
    assert config.reserve_bytes == pytest.approx(4 * 3.9 * GB)


def test_the_extracts_column_names_and_memory_are_understood(tmp_path: Path) -> None:
    header = HEADER.replace("batch", "batch_instance").replace("context", "ctx")
    lines = [f"{header},seqs_per_pass,weights_gb_per_gpu,reserve_gb_per_gpu", *(f"{row},2,60,5" for row in rows())]
    (config,) = configs(tmp_path, lines)
    assert (config.ways, config.weight_bytes, config.reserve_bytes) == (2, pytest.approx(240e9), pytest.approx(20e9))


def test_other_models_rows_are_skipped(tmp_path: Path) -> None:
    mine, other = rows(4, "qwen3-235b-a22b-fp8"), rows(8, "another")
    assert [c.gpus for c in configs(tmp_path, [HEADER, *mine, *other])] == [4]
    assert messages(tmp_path, [HEADER, *other]) == [(1, "no row for model qwen3-235b-a22b-fp8")]


def test_configs_restrict_a_users_table(tmp_path: Path) -> None:
    lines = [HEADER, *rows(4), *rows(8)]
    assert [c.gpus for c in configs(tmp_path, lines)] == [4, 8]
    assert [c.gpus for c in configs(tmp_path, lines, "{timing: mine.csv, configs: [{gpus: 8}]}")] == [8]


def test_every_bad_row_is_reported_with_its_line(tmp_path: Path) -> None:
    lines = ["# comment", "", HEADER, *rows()]
    lines[3] = lines[3].replace("prefill", "warmup")
    lines[4] = lines[4].replace("2048", "many")
    lines[5] = lines[5].replace("prefill,,4", "prefill,,four")
    lines[6] = lines[6].rsplit(",", 4)[0] + ",,,,"
    lines[7] = lines[7].rsplit(",", 1)[0] + ",-3"
    found = messages(tmp_path, lines)
    assert found == [
        (4, "phase is 'warmup', not prefill or decode"),
        (5, "prefix_tokens is 'many', not a number"),
        (6, "gpus is 'four', not a number"),
        (7, "latency_ms is missing"),
        (8, "step_ms is -3, but must be above 0"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nan", "step_ms is nan, but must be above 0"),
        ("inf", "step_ms is inf, but must be above 0"),
        ("0", "step_ms is 0, but must be above 0"),
    ],
)
def test_numbers_are_finite_and_positive(tmp_path: Path, text: str, message: str) -> None:
    lines = [HEADER, *rows()]
    lines[8] = lines[8].rsplit(",", 1)[0] + f",{text}"
    assert (9, message) in messages(tmp_path, lines)


def test_half_a_gpu_is_refused(tmp_path: Path) -> None:
    lines = [HEADER, *rows()]
    lines[1] = lines[1].replace("prefill,,4", "prefill,,2.5")
    assert (2, "gpus is '2.5', not a whole number") in messages(tmp_path, lines)


def test_a_point_given_twice_is_refused(tmp_path: Path) -> None:
    lines = [HEADER, *rows()]
    assert messages(tmp_path, [*lines, lines[1]]) == [(10, "new_tokens 512, prefix_tokens 0 is there twice")]


def test_gaps_in_a_grid_are_named(tmp_path: Path) -> None:
    lines = [HEADER, *rows()]
    missing = messages(tmp_path, lines[:2] + lines[3:])
    assert missing == [(2, "4 GPUs, tp4: prefill has no row for new_tokens 512, prefix_tokens 2048")]
    only_prefill = messages(tmp_path, lines[:5])
    assert only_prefill == [(2, "4 GPUs, tp4: decode needs two or more values of batch and of context")]


def test_a_header_without_its_columns_is_refused(tmp_path: Path) -> None:
    assert messages(tmp_path, ["model,tp", "a,4"]) == [(1, "the header lacks phase and gpus")]
    assert messages(tmp_path, []) == [(1, "the header lacks phase and gpus")]


def test_a_file_that_is_not_there_or_not_text_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file: absent\.csv"):
        engine_configs(scenario("{timing: absent.csv}", file=str(tmp_path / "s.yaml")))
    (tmp_path / "mine.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        engine_configs(scenario("{timing: mine.csv}", file=str(tmp_path / "s.yaml")))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("phase,gpus\nprefill,1\n" * 500_000, "larger than 8 MiB"),
        ('phase,gpus\n"' + "a" * 200_000 + '"', "no CSV: field larger than field limit"),
        ("gpus,phase\n1\n", "phase is '', not prefill or decode"),
        ("phase,gpus\nprefill," + "9" * 5000 + "x\n", "gpus is '9999"),
    ],
    ids=["huge", "huge-field", "short-row", "long-number"],
)
def test_hostile_files_are_refused_in_bounds(tmp_path: Path, text: str, told: str) -> None:
    ((_, message),) = messages(tmp_path, [text])
    assert told in message
    assert len(message) < 500


def test_only_the_first_mistakes_of_a_file_are_told(tmp_path: Path) -> None:
    assert len(messages(tmp_path, ["phase,gpus", *["x,1"] * 10_000])) == 50
