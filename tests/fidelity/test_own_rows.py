"""A user's own measurements: every value counts, every mistake is told by place, nothing of ours is said of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import app
from planner.errors import InputError
from planner.fidelity.backtest import backtest, check_fits
from planner.fidelity.predict import setup
from planner.fidelity.rows import read_rows, row_of
from planner.fidelity.text import WHY, to_data, to_text
from planner.fidelity.workers import workers
from planner.scenario.catalog.corrections import MEASURED, cross_validation

HEADER = (
    "id,backend,backend_version,model_path,precision,mode,isl,osl,concurrency,tp_size,attention_dp_size,moe_tp_size,"
    "moe_ep_size,silicon_ttft_ms,silicon_tpot_ms,system"
)
GOOD = {
    "id": "a", "backend": "vllm", "backend_version": "0.18.0", "model_path": "openai/gpt-oss-120b", "precision": "fp4",
    "mode": "agg", "isl": "1024", "osl": "1024", "concurrency": "16", "tp_size": "2", "attention_dp_size": "1",
    "moe_tp_size": "2", "moe_ep_size": "1", "silicon_ttft_ms": "95", "silicon_tpot_ms": "8", "system": "h200_sxm",
}  # fmt: skip


def line(**changes: str) -> str:
    values = [{**GOOD, **changes}[name] for name in HEADER.split(",")]
    return ",".join(f'"{v}"' if "," in v else v for v in values)


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return path


def packaged_lines() -> list[str]:
    return [text for text in MEASURED.read_text(encoding="utf-8").splitlines() if not text.startswith("#")]


def invoke(*arguments: object) -> tuple[int, str]:
    """Exit code and text, as the command line gives them."""
    from planner.cli.failures import explain

    result = CliRunner().invoke(app, ["backtest", *map(str, arguments)])
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.output
    return explain(result.exception, []), str(result.exception)


def test_a_packaged_id_does_not_hide_own_values(tmp_path: Path) -> None:
    header, row = packaged_lines()[:2]
    cells = row.split(",")
    at = header.split(",").index("silicon_tpot_ms")
    changed = ",".join([*cells[:at], str(10 * float(cells[at])), *cells[at + 1 :]])
    path = tmp_path / "mine.csv"
    path.write_text(f"{header}\n{row}\n{changed}\n", encoding="utf-8")
    same, other = backtest(read_rows(path)).outcomes
    assert same.validated is not None
    assert same.best.tpot == cross_validation()[same.row.id][0]
    assert other.validated is None
    assert other.best.tpot * other.row.tpot_s == pytest.approx(same.corrected.tpot * same.row.tpot_s)


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_comments_blank_lines_and_a_bom_change_nothing(tmp_path: Path, bom: str) -> None:
    lines = packaged_lines()
    path = tmp_path / "mine.csv"
    path.write_text(f"{bom}# mine\n\n" + "\r\n".join(lines[:4]) + "\n", encoding="utf-8")
    rows = read_rows(path)
    assert rows == read_rows(MEASURED)[:3]
    assert all(o.validated for o in backtest(rows).outcomes)


@pytest.mark.parametrize(
    ("changes", "column", "told"),
    [
        ({"isl": "0"}, "isl", "from 1 to"),
        ({"isl": "-5"}, "isl", "from 1 to"),
        ({"isl": "1000000000"}, "isl", "10,000,000"),
        ({"isl": "1024.0"}, "isl", "such as 1024"),
        ({"isl": "1e3"}, "isl", "whole number"),
        ({"osl": "0"}, "osl", "from 1 to"),
        ({"concurrency": "0"}, "concurrency", "from 1 to"),
        ({"concurrency": "-3"}, "concurrency", "from 1 to"),
        ({"tp_size": "0"}, "tp_size", "from 1 to"),
        ({"tp_size": "-2"}, "tp_size", "from 1 to"),
        ({"tp_size": "3", "moe_tp_size": "1"}, "tp_size", "power of two"),
        ({"tp_size": "4"}, "moe_tp_size", "same 4 GPUs"),
        ({"mode": "Agg"}, "mode", "write agg"),
        ({"mode": "both"}, "mode", "agg, disagg"),
        ({"system": "h100_sxm"}, "system", "h200_sxm"),
        ({"silicon_ttft_ms": "12,3"}, "silicon_ttft_ms", "such as 12.3"),
        ({"silicon_tpot_ms": "nan"}, "silicon_tpot_ms", "positive number"),
        ({"silicon_tpot_ms": "-1"}, "silicon_tpot_ms", "positive number"),
        ({"backend": "vlm"}, "backend", "write vllm"),
    ],
)
def test_a_wrong_value_is_told_by_place(tmp_path: Path, changes: dict[str, str], column: str, told: str) -> None:
    path = written(tmp_path, line(), line(**changes))
    with pytest.raises(InputError) as caught:
        read_rows(path)
    (problem,) = caught.value.diagnostics
    assert problem.span is not None
    assert (problem.span.file, problem.span.line) == (str(path), 3)
    assert problem.path == column
    marked = problem.span.text[problem.span.column - 1 :][: problem.span.length].strip('"')
    assert marked == changes.get(column, GOOD[column])
    assert told in f"{problem.message} {problem.hint}"


def test_ten_mistakes_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, *(line(isl="0", osl="x") for _ in range(8)))
    with pytest.raises(InputError) as caught:
        read_rows(path)
    assert len(caught.value.diagnostics) == 10
    assert "6 more" in caught.value.diagnostics[-1].hint
    assert [d.span.line for d in caught.value.diagnostics if d.span] == [2, 2, 3, 3, 4, 4, 5, 5, 6, 6]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{HEADER}\na,vllm,0.18.0\n", "3 values under a header of 16 columns"),
        (f"{HEADER}\n{line()},7\n", "17 values"),
        (f'{HEADER}\na,"vllm,0.18.0\n', "quote"),
        (f"{HEADER}\n", "only a header"),
        ("", "empty"),
        ("# nothing\n\n", "empty"),
        (f"{HEADER}\n{line()}\n".replace(",", ";"), "by commas"),
        (f"{HEADER},isl\n{line()},5\n", "twice"),
        (f"{HEADER}\n{line(model_path='gpt-9')}\n", "none of its rows"),
        (f"{HEADER}\n{line(isl='900000')}\n", "longest context"),
    ],
)
def test_files_that_hold_nothing_usable(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    code, said = invoke(path)
    assert code == 2
    assert told in said


def test_a_file_that_is_not_utf8_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(f"{HEADER}\n{line(id='Zürich')}\n".encode("latin-1"))
    code, said = invoke(path)
    assert code == 2
    assert "not UTF-8: byte 0xFC in line 2" in said
    code, said = invoke(tmp_path / "none.csv")
    assert code == 2
    assert "cannot read" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--published", "--peer"], "one at a time"),
        (["--published", "mine.csv"], "FILE belongs"),
        (["--peer", "--picture", "x.svg"], "--picture belongs"),
        (["--picture", "x.png"], ".svg"),
    ],
)
def test_nothing_asked_for_is_dropped(arguments: list[str], told: str) -> None:
    code, said = invoke(*arguments)
    assert code == 2
    assert told in said


def test_the_planners_own_timing_name_is_the_engine() -> None:
    assert row_of({**GOOD, "backend": "vllm-0.31"}) == row_of(GOOD)


def test_what_is_said_of_packaged_rows_is_not_said_of_own(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        line(model_path="Qwen/Qwen3-235B-A22B-FP8", precision="fp8", tp_size="4", moe_tp_size="4", silicon_tpot_ms="2"),
    )
    found = backtest(read_rows(path))
    text = to_text(found)
    assert not found.packaged
    assert not any(why[:25] in " ".join(text.split()) for why in WHY.values())
    assert "never seen" not in text
    assert "TPOT beyond" in " ".join(text.split())
    assert "as plans apply it" in text
    assert to_data(found)["rows"][0]["planned_tpot_ms"] > 0


def test_packaged_rows_in_part_are_not_the_packaged_rows(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(packaged_lines()[:60]) + "\n", encoding="utf-8")
    found = backtest(read_rows(path))
    assert found.cross_validated
    assert not found.packaged
    assert "never seen" not in to_text(found)


def test_rows_that_no_run_can_have_are_left_out_with_the_reason(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        line(),
        line(id="b", model_path="deepseek-ai/DeepSeek-V3", precision="fp8", tp_size="8", moe_tp_size="8", isl="300000"),
        line(id="c", tp_size="128", moe_tp_size="128"),
    )
    found = backtest(read_rows(path))
    assert [o.row.id for o in found.outcomes] == ["a"]
    assert all(word in s.reason for s, word in zip(found.skipped, ("longest context", "not divide"), strict=True))
    made = setup(found.outcomes[0].row)
    with pytest.raises(ValueError, match="KV memory"):
        check_fits(made.row, replace(made, prefill=replace(made.prefill, kv_tokens=2047)))
    with pytest.raises(ValueError, match="pipeline"):
        check_fits(row_of({**GOOD, "pp_size": "2"}), made)
    assert "left out" in to_text(found)


def test_recipes_do_not_speak_for_own_rows() -> None:
    row = next(r for r in read_rows(MEASURED) if r.mode == "disagg" and not r.prefill_workers)
    assert workers(row)
    own = {name: value for name, value in row.columns if name != "silicon_data_source"}
    with pytest.raises(ValueError, match="prefill_num_workers"):
        workers(row_of({**own, "concurrency": str(row.concurrency)}))
