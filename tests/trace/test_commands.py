"""The commands, end to end: the answer, the files, the exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from planner.cli import run
from planner.report.grid import PAGE_COLUMNS
from planner.scenario import load
from planner.trace.bench import time_curve, write_synthetic

from .reference import chat, simulated_hits, write

ROWS = chat(400, seed=12)
MODEL = "qwen3-30b-a3b-fp8"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "chat.jsonl", ROWS)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["fit", *arguments, "--block-size", "16"]) == 0
    return capsys.readouterr().out


def test_json_has_exact_hits_at_the_capacities_asked_for(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys, str(trace), "--format", "json", "--at-blocks", "9,90,900", "--split", "3")
    data = json.loads(out)
    assert {"curve", "ceiling", "laws", "windows", "classes", "reuse_gaps", "split"} <= data.keys()
    assert [point["capacity_blocks"] for point in data["curve"]] == [9, 90, 900]
    assert [point["hit_tokens"] for point in data["curve"]] == [simulated_hits(ROWS, c, 16) for c in (9, 90, 900)]
    assert data["curve"][1]["capacity_tokens"] == 1440
    total = sum(row["input_length"] for row in ROWS)
    assert data["curve"][1]["hit_rate"] == pytest.approx(data["curve"][1]["hit_tokens"] / total)
    assert len(data["laws"]["measured"]["points_tokens"]) >= 12
    robin = [sum(simulated_hits(ROWS[s::3], c // 3, 16) for s in range(3)) for c in (9, 90, 900)]
    assert [point["hit_tokens"] for point in data["split"]["round_robin"]["curve"]] == robin
    mean = sum(kind["share"] * kind["prompt_tokens"] for kind in data["classes"])
    assert mean * len(ROWS) == pytest.approx(total)


def test_table_fits_the_page_and_says_what_to_use(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys, str(trace), "--split", "2", "--model", MODEL)
    assert max(map(len, out.splitlines())) <= PAGE_COLUMNS
    for part in ("Hit curve", "Use the measured table", "Windows", "Classes", "Arrivals", "Reuse gap", "formula"):
        assert part in out


def test_fragment_becomes_a_scenario_that_loads(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fragment, scenario = tmp_path / "fragment.yaml", tmp_path / "mine.yaml"
    picture = tmp_path / "curve.svg"
    answer(capsys, str(trace), "-o", str(fragment), "--picture", str(picture))
    assert picture.read_text().startswith("<svg")
    measured = yaml.safe_load(fragment.read_text())["workload"]
    arguments = ["init", "--from", str(fragment), "--model", MODEL, "-o", str(scenario)]
    assert run([*arguments, "--requests-per-second", "40"]) == 0
    made = load(scenario)
    assert made.name == "mine"
    assert made.workload.requests_per_second == 40
    assert made.workload.reuse.at_requests_per_second == pytest.approx(measured["requests_per_second"])
    assert [kind.prompt_tokens for kind in made.workload.classes] == [
        kind["prompt_tokens"] for kind in measured["classes"]
    ]
    assert run(arguments) == 2, "an existing scenario is not replaced unasked"
    assert "--force" in capsys.readouterr().err


def test_fragment_gives_the_hit_tokens_of_the_trace(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys, str(trace), "--format", "yaml")
    workload = yaml.safe_load(out)["workload"]
    reusable = sum(kind["share"] * kind["reusable_tokens"] for kind in workload["classes"])
    capacity, rate = workload["reuse"]["points_tokens"][-1]
    hits = simulated_hits(ROWS, int(capacity / 16), 16)
    assert rate * reusable * len(ROWS) == pytest.approx(hits, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at-blocks", "1,x"], "whole numbers"),
        (["--at-blocks=-1"], "negative"),
        (["--sample", "2"], "--sample"),
        (["--model", "gpt-5"], "no model"),
    ],
)
def test_wrong_options(trace: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", str(trace), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_fragment_must_be_a_mapping_with_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, message in (("a: 1", "no workload"), ("a: [", "not YAML"), ("workload: {}\nname: x", "sets name")):
        (tmp_path / "f.yaml").write_text(text)
        assert run(["init", "--from", str(tmp_path / "f.yaml"), "--model", MODEL]) == 2
        assert message in capsys.readouterr().err


def test_benchmark_on_a_made_up_trace(tmp_path: Path) -> None:
    path = tmp_path / "made-up.jsonl"
    write_synthetic(path, 20_000, seed=1)
    first = path.read_bytes()
    write_synthetic(path, 20_000, seed=1)
    assert path.read_bytes() == first
    timing = time_curve(path, compare=False)
    assert timing.block_references >= 20_000
    assert timing.references_per_s > 0


def test_a_sample_says_so_in_its_fragment(tmp_path):
    """No exact curve is claimed and no prefetch coverage is made up."""
    from planner.trace.bench import write_synthetic

    trace, fragment = tmp_path / "t.jsonl", tmp_path / "f.yaml"
    write_synthetic(trace, 20_000)
    runner = [sys.executable, "-m", "planner", "fit", str(trace), "--sample", "0.5", "-o", str(fragment)]
    assert subprocess.run(runner, capture_output=True, check=False).returncode == 0
    text = fragment.read_text(encoding="utf-8")
    assert "estimated from a sample" in text
    assert "exact curve" not in text
    assert "\n  prefetch:" not in text
