"""Times of one's own (``engine.timing: mine.csv``): the same file from any folder, and stored points that know it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from planner.scenario import load
from planner.study import cache as caching
from planner.study.cache import Cache, point_key
from planner.study.sweep import sweep
from planner.study.workers import processes

HEADER = "phase,gpus,tp,new_tokens,prefix_tokens,latency_ms,batch,context,step_ms"


def times(slow: float = 1.0) -> str:
    prefill = [
        f"prefill,8,8,{u},{p},{slow * (u / 100 + p / 1000 + 5)},,,"
        for u, p in product((64, 1024, 16384, 65536), (0, 16384, 65536))
    ]
    decode = [
        f"decode,8,8,,,,{b},{x},{10 + b / 10 + x / 10000}" for b, x in product((1, 64, 512), (1024, 16384, 65536))
    ]
    return "\n".join([HEADER, *prefill, *decode]) + "\n"


@pytest.fixture
def own(path: Callable[[str], Path], tmp_path: Path) -> Path:
    """A scenario with its times beside it, in a folder of their own."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.csv").write_text(times())
    file = folder / "own.yaml"
    file.write_text(path("rag").read_text().replace("timing: vllm-0.31", "timing: mine.csv"))
    return file


SET = "slo.ttft_ms=2500,3000"


def costs(done):
    assert done.code == 0, done.err
    return [row.get("usd_per_hour", row) for row in done.data["rows"]]


def test_a_sweep_reads_the_times_beside_the_scenario(own, invoke, tmp_path, monkeypatch):
    common = ("sweep", own, "--set", SET, "--format", "json", "-q", "--cache", tmp_path / "points")
    (tmp_path / "mine.csv").write_text(times(slow=3.0))  # in the current folder, of the same name
    from_elsewhere = costs(invoke(*common, "--no-cache"))
    again = costs(invoke(*common))
    monkeypatch.chdir(own.parent)
    from_beside = invoke("sweep", own.name, *common[2:])
    assert from_elsewhere == again == costs(from_beside)
    assert from_beside.data["cached"] == 2  # the same points wherever they are asked from
    (own.parent / "mine.csv").write_text(times(slow=3.0))
    slower = invoke(*common)
    assert slower.data["cached"] == 0
    assert costs(slower) > from_elsewhere


def test_other_processes_find_the_times_too(own):
    loaded, wanted = load(own), [{"slo.ttft_ms": x} for x in (2500.0, 3000.0)]
    found = sweep(loaded, wanted, runner=processes(2))
    assert [row["status"] for row in found.rows] == ["optimal", "optimal"]


def test_a_budget_reads_the_times_beside_the_scenario(own, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(own.parent)
    beside = invoke("budget", own.name, "--levels", 1, "--format", "json", "-q").data["usd_per_hour"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text(times(slow=3.0))
    done = invoke("budget", own, "--levels", 1, "--format", "json", "-q")
    assert done.code == 0
    assert done.data["usd_per_hour"] == beside > 0


def test_a_file_that_is_missing_is_one_row_and_not_kept(own, tmp_path):
    loaded, points = load(own), Cache(tmp_path / "points")
    (own.parent / "broken.csv").write_text("phase\n")
    wanted = [{"engine.timing": name} for name in ("mine.csv", "later.csv", "broken.csv")]
    first = sweep(loaded, wanted, cache=points)
    assert [row["status"] for row in first.rows] == ["optimal", "invalid", "invalid"]
    assert [row["engine.timing"] for row in first.rows] == ["mine.csv", "later.csv", "broken.csv"]
    assert "later.csv" in first.rows[1]["why"]
    (own.parent / "later.csv").write_text(times(slow=2.0))
    second = sweep(loaded, wanted, cache=points)
    assert [row["status"] for row in second.rows] == ["optimal", "optimal", "invalid"]
    assert second.rows[1]["usd_per_hour"] > second.rows[0]["usd_per_hour"]


def test_a_fault_of_the_scenarios_own_times_is_told_with_its_place(own, invoke):
    (own.parent / "mine.csv").write_text(HEADER + "\nprefill,8,8,64,0,never,,,\n")
    done = invoke("sweep", own, "--set", SET)
    assert done.code == 2
    assert "mine.csv:2" in done.err


def test_the_planners_own_files_are_in_the_key(scenario, tmp_path, monkeypatch):
    """A package of the same version with other data or code has other points."""
    rag, package = scenario("rag"), tmp_path / "planner"
    package.mkdir()
    monkeypatch.setattr(caching.planner, "__file__", str(package / "__init__.py"))
    keys = []
    for name, text in (("table.json", "1"), ("table.json", "2"), ("rules.py", "x = 1"), ("rules.py", "x = 2")):
        (package / name).write_text(text)
        caching.package_digest.cache_clear()
        keys.append(point_key(rag, 1e-4))
    caching.package_digest.cache_clear()
    assert len(set(keys)) == 4


def test_compare_reads_each_sides_own_times(own, invoke, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "own.yaml").write_text(own.read_text())
    (other / "mine.csv").write_text(times(slow=2.0))
    found = invoke("compare", own, other / "own.yaml", "--format", "json").data
    (moved,) = found["inputs"]
    assert moved["key"] == "engine.timing"
    assert moved["alone_usd_per_hour"] == pytest.approx(found["outcomes"][0]["usd_per_hour"])
    assert moved["alone_usd_per_hour"] > 0
    (other / "mine.csv").write_text(times())
    assert invoke("compare", own, other / "own.yaml", "--format", "json").data["inputs"] == []
