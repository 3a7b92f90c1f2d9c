"""The backtest: its numbers on the packaged rows, a user's own rows, and rows that cannot be predicted."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planner.cli.app import app
from planner.errors import InputError
from planner.fidelity.backtest import Backtest, backtest, spearman
from planner.fidelity.closed_loop import Load, Pool, colocated, disaggregated
from planner.fidelity.instance import instance
from planner.fidelity.picture import to_svg
from planner.fidelity.rows import Split, read_rows, row_of
from planner.fidelity.text import to_data, to_text
from planner.fidelity.workers import workers
from planner.scenario.catalog.corrections import MEASURED

HEADER = (
    "id,backend,backend_version,model_path,precision,mode,isl,osl,concurrency,tp_size,attention_dp_size,moe_tp_size,"
    "moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n"
)
OWN = HEADER + "a,vllm,0.18.0,openai/gpt-oss-120b,fp4,agg,1024,1024,16,2,1,2,1,95,8\n"


@pytest.fixture(scope="module")
def found() -> Backtest:
    return backtest(read_rows(MEASURED))


def test_targets_on_rows_not_fitted(found: Backtest) -> None:
    total = found.total
    assert total is not None
    assert total.rows == 477
    assert not found.skipped
    assert total.tpot.mape <= 0.15
    assert total.ttft.mape <= 0.25
    assert abs(total.tpot.bias) <= 0.05
    assert abs(total.ttft.bias) <= 0.05


def test_no_group_is_worse_than_uncorrected(found: Backtest) -> None:
    assert [(g.engine, g.model, g.mode, g.worse) for g in found.groups if g.worse] == []


def test_ranks_follow_concurrency(found: Backtest) -> None:
    assert found.total is not None
    assert (found.total.tpot.rank or 0) >= 0.95
    assert (found.total.ttft.rank or 0) >= 0.95


def test_text_stays_on_the_page_and_names_every_group(found: Backtest) -> None:
    text = to_text(found)
    assert max(map(len, text.splitlines())) <= 100
    for group in found.groups:
        assert group.model in text
    assert to_data(found)["total"]["rows"] == 477


def test_picture_is_well_formed(found: Backtest) -> None:
    root = ET.fromstring(to_svg(found))
    assert sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}circle")) >= 2 * 477


def test_a_users_rows_work(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("# mine\n" + OWN, encoding="utf-8")
    result = CliRunner().invoke(app, ["backtest", str(path)])
    assert result.exit_code == 0
    assert "as plans apply it" in result.stdout
    own = backtest(read_rows(path))
    assert own.outcomes[0].best.tpot == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("backend,mode\nvllm,agg\n", "no column"),
        (OWN.replace(",95,", ",-3,"), "own.csv:2"),
        (OWN.replace("vllm", "other"), "unknown backend"),
    ],
)
def test_bad_files_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_rows(path)


def test_unknown_models_are_left_out_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(OWN.replace("gpt-oss-120b", "gpt-9"), encoding="utf-8")
    own = backtest(read_rows(path))
    assert not own.outcomes
    assert "no model" in own.skipped[0].reason
    assert "1 row left out" in to_text(own)


def test_products_of_tp_and_ep_are_read_as_the_instance_they_are() -> None:
    fields = {
        "backend": "trtllm", "model_path": "deepseek-ai/DeepSeek-R1", "mode": "agg", "isl": "1", "osl": "1",
        "concurrency": "1", "tp_size": "64", "attention_dp_size": "1", "moe_tp_size": "8", "moe_ep_size": "8",
        "silicon_ttft_ms": "1", "silicon_tpot_ms": "1",
    }  # fmt: skip
    assert row_of(fields).prefill == Split(8, 1, 1, 8)
    assert row_of({**fields, "tp_size": "1", "attention_dp_size": "64"}).prefill == Split(1, 8, 1, 8)
    assert row_of(
        {**fields, "tp_size": "2", "attention_dp_size": "", "moe_tp_size": "4", "moe_ep_size": "1"}
    ).prefill == (Split(2, 2, 4, 1))


def test_every_disaggregated_row_has_its_workers() -> None:
    rows = [row for row in read_rows(MEASURED) if row.mode == "disagg"]
    assert rows
    assert all(workers(row) for row in rows)


@pytest.mark.parametrize("isl", [1024, 8192])
def test_closed_loop_rises_with_concurrency(isl: int) -> None:
    made = instance("vllm", "gpt-oss-120b", Split(2, 1, 2, 1))
    pool = Pool(made.timing, made.ways, 1)
    together = [colocated(pool, Load(n, isl, 512)) for n in (1, 4, 16, 64, 256)]
    apart = [disaggregated(pool, pool, Load(n, isl, 512)) for n in (1, 4, 16, 64, 256)]
    for series in (together, apart):
        assert [p.tpot_s for p in series] == sorted(p.tpot_s for p in series)
        assert [p.ttft_s for p in series] == sorted(p.ttft_s for p in series)
    assert together[0].tpot_s == pytest.approx(made.timing.decode_s(1, isl + 256), rel=1e-3)


def test_sequences_beyond_the_memory_wait() -> None:
    made = instance("vllm", "gpt-oss-120b", Split(2, 1, 2, 1))
    load = Load(64, 1024, 512)
    assert (
        colocated(Pool(made.timing, 1, 1, slots=32), load).ttft_s > 10 * colocated(Pool(made.timing, 1, 1), load).ttft_s
    )


def test_spearman_shares_ties() -> None:
    assert spearman([1, 1, 2], [1, 1, 2]) == pytest.approx(1)
    assert spearman([1, 2, 3], [1, 1, 1]) == 0
