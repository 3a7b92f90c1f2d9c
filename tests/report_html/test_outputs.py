"""Where pages and answers go: never over what was read, never under a name that says something else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from planner.cli import run
from planner.report import data as plan_json
from tests.report import sample
from tests.report_html import made

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>{}</title></svg>'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two scenarios and two plan files, and links to one of each."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        text = (made.SCENARIOS / "steady.yaml").read_text(encoding="utf-8")
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        (tmp_path / f"{name}.json").write_text(made.plan_text("steady"), encoding="utf-8")
    (tmp_path / "soft.html").symlink_to(tmp_path / "a.json")
    os.link(tmp_path / "a.json", tmp_path / "hard.html")
    (tmp_path / "soft.csv").symlink_to(tmp_path / "a.yaml")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "compare b.yaml a.yaml --html soft.html a.json",
        "compare a.yaml b.yaml -o a.yaml",
        "report a.json -o a.json -f html",
        "report a.json -o soft.html",
        "report a.json -o hard.html",
        "report a.json b.json -o ./b.json -f html",
        "report a.json -f md -o a.json",
        "solve a.yaml -o a.yaml",
        "solve a.yaml -o soft.csv",
        "solve a.yaml --write-lp a.yaml",
        "frontier a.yaml -o a.yaml",
        "sweep a.yaml --set slo.ttft_ms=700,800 -o a.yaml",
        "sensitivity a.yaml -o soft.csv",
        "breakeven a.yaml -o a.yaml",
        "budget b.yaml a.yaml -o a.yaml",
        "fit a.json -o a.json",
        "init --from a.yaml --model qwen3-235b-a22b-fp8 -o a.yaml --force",
        "backtest a.yaml -o a.yaml",
    ],
)
def test_no_command_writes_over_its_input(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = _contents(folder)
    assert run(command.split()) == 2
    said = capsys.readouterr().err
    assert "is an input of this command" in said
    assert "would be overwritten" in said
    assert "give the output another name" in said
    assert _contents(folder) == before


@pytest.mark.parametrize(
    "command", ["solve", "frontier", "sensitivity", "breakeven", "budget", "sweep --set slo.tpot_ms=60"]
)
def test_a_scenarios_own_timing_table_is_an_input_too(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = "phase,gpus,tp,new_tokens,prefix_tokens,batch,context,latency_ms,step_ms\n" + "".join(
        [f"prefill,1,1,{n},{p},,,{n / 100},\n" for n in (256, 32768) for p in (0, 32768)]
        + [f"decode,1,1,,,{b},{c},,{5 + b / 100}\n" for b in (1, 512) for c in (1024, 32768)]
    )
    (folder / "mine.csv").write_text(table, encoding="utf-8")
    text = (folder / "a.yaml").read_text(encoding="utf-8")
    assert "engine:" not in text
    (folder / "a.yaml").write_text(f"{text}\nengine: {{timing: mine.csv}}\n", encoding="utf-8")
    assert run([*command.split(), "a.yaml", "-o", "mine.csv"]) == 2
    assert "mine.csv is an input of this command" in capsys.readouterr().err
    assert (folder / "mine.csv").read_text(encoding="utf-8") == table


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_link_to_the_input_is_said_to_be_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "a.json", "-o", "soft.html"]) == 2
    assert "soft.html is an input of this command, the same file as a.json" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare --html a.yaml b.yaml a.yaml", "compare a.yaml b.yaml --html a.json"])
def test_a_page_is_not_named_like_an_input(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = _contents(folder)
    assert run(command.split()) == 2
    assert "--html takes the page to write: a." in capsys.readouterr().err
    assert _contents(folder) == before


@pytest.mark.parametrize("name", ["x.pdf", "x.txt", "x.json"])
def test_a_report_is_not_written_under_a_misleading_name(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "a.json", "-o", name]) == 2
    assert "a report is a page (.html) or Markdown (.md)" in capsys.readouterr().err
    assert not (folder / name).exists()
    assert run(["report", "a.json", "-o", name, "-f", "md", "-q"]) == 0
    assert (folder / name).read_text(encoding="utf-8").startswith("# steady")


def test_a_folder_that_is_not_there_is_the_inputs_fault(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "reprots/chat/plans.json"]) == 2
    said = capsys.readouterr().err
    assert "cannot read reprots/chat/plans.json: No such file" in said
    assert "report.html" not in said


def test_the_page_of_a_named_plan_file_lies_beside_it(folder: Path) -> None:
    (folder / "q").mkdir()
    assert run(["solve", "a.yaml", "--html", "-q", "-o", "q/z.json"]) == 0
    assert (folder / "q" / "report.html").exists()
    assert not (folder / "reports" / "steady" / "report.html").exists()


def test_pictures_that_cannot_be_shown_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b1.svg").write_text("<svg")
    (folder / "b2.svg").write_text("<!doctype html><p>not a picture</p>")
    (folder / "b3.svg").write_text(SVG.format("x" * 2_000_001))
    for n in range(6):
        (folder / f"c{n}.svg").write_text(SVG.format(f"picture {n}"))
    assert run(["report", "a.json"]) == 0
    said = capsys.readouterr().err
    assert "b1.svg: not an SVG that can be shown; it is not shown" in said
    assert "b2.svg: not an SVG" in said
    assert "b3.svg: larger than 2 MB; it is not shown" in said
    assert [f"c{n}.svg is not shown: a page takes the first 4" in said for n in range(6)] == [False] * 4 + [True] * 2
    assert (folder / "report.html").read_text(encoding="utf-8").count("class=picture") == 4
    assert run(["report", "a.json", "--picture", "b1.svg"]) == 2
    assert "b1.svg: not an SVG" in capsys.readouterr().err


def test_studies_of_an_impossible_scenario_leave_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "no.json").write_text(json.dumps(plan_json.plan_file(sample.infeasible())), encoding="utf-8")
    assert run(["report", "no.json", "--with", "frontier,tornado"]) == 0
    assert "has no plan, so the page is without frontier and tornado" in capsys.readouterr().err
    assert "No design keeps every promise" in (folder / "report.html").read_text(encoding="utf-8")


def test_an_emoji_of_several_may_stand_in_a_description(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "a.yaml").read_text(encoding="utf-8")
    own = text.replace("description:", "x-old:") if "\ndescription:" in text else text
    emoji = "\U0001f469\u200d\U0001f4bb \U0001f469\U0001f3fd\u200d\U0001f52c"
    (folder / "a.yaml").write_text(f"description: {emoji}\n" + own.replace("x-old:", "# "), encoding="utf-8")
    assert run(["solve", "a.yaml", "-q", "-o", "z.json"]) == 0
    assert run(["report", "z.json", "-q"]) == 0
    assert emoji in (folder / "report.html").read_text(encoding="utf-8")
    (folder / "a.yaml").write_text(f"description: a\u200db\n{text}", encoding="utf-8")
    assert run(["check", "a.yaml"]) == 2
    assert "U+200D" in capsys.readouterr().err
