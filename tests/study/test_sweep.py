"""Sweeps: what is varied, that nothing is solved twice or lost, and that every row is its own solve."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.cells import SolveSettings
from planner.errors import InputError, PlannerError
from planner.physics.system import System
from planner.report import study_sweep as render
from planner.scenario import replace
from planner.study import sweep as sweeping
from planner.study import workers
from planner.study.cache import Cache, point_key
from planner.study.points import cheapest
from planner.study.processes import spread
from planner.study.sets import grid, latin_hypercube, parse_setting
from planner.study.sweep import here, sweep
from planner.study.workers import processes


def variants(scenario, *texts):
    return list(grid([parse_setting(t, scenario) for t in texts]))


def test_settings(scenario):
    chat = scenario("chat")
    assert parse_setting("slo.ttft_ms=400:1000:200", chat).values == (400, 600, 800, 1000)
    assert parse_setting("workload.reuse.beta=0.2,0.4", chat).values == (0.2, 0.4)
    assert parse_setting("tiers[dram].usd_per_gb_hour=x1,x2", chat).values == (5.2e-4, 1.04e-3)
    assert parse_setting("tiers.nvme.dwpd=2", chat).key == "tiers[1].dwpd"
    assert parse_setting("workload.classes[long].share=0.3", chat).key == "workload.classes[1].share"
    assert parse_setting("deployment.max_gpus=8:24:8", chat).values == (8, 16, 24)
    assert parse_setting("deployment.colocated_routing=random,affinity", chat).values == ("random", "affinity")
    assert parse_setting('deployment.architectures=["colocated"]', chat).values == (["colocated"],)
    assert parse_setting("slo.ttft_ms=x0.5:x2", chat).is_range


@pytest.mark.parametrize(
    "text",
    ["slo.ttft=5", "slo.ttft_ms", "slo.ttft_ms=", "slo.ttft_ms=a", "slo.ttft_ms=9:3:1", "slo.ttft_ms=1:2:0",
     "tiers[disk].dwpd=1", "slo.ttft_ms=1:2:3:4", "slo.ttft_ms=nan",
     "deployment.transfer.prefill_tp_at_most_decode_tp=2"],
)  # fmt: skip
def test_bad_settings(text, scenario):
    with pytest.raises(InputError):
        parse_setting(text, scenario("chat"))


def test_latin_hypercube_uses_every_stratum_once(scenario):
    chat = scenario("chat")
    settings = [parse_setting("slo.ttft_ms=1000:2000", chat), parse_setting("workload.reuse.beta=0.2,0.4", chat)]
    points = list(latin_hypercube(settings, 40, seed=5))
    assert sorted(int((p["slo.ttft_ms"] - 1000) / 25) for p in points) == list(range(40))
    assert sum(p["workload.reuse.beta"] == 0.2 for p in points) == 20
    assert points == list(latin_hypercube(settings, 40, seed=5))


def test_every_row_is_its_own_solve(scenario):
    rag = scenario("rag")
    wanted = variants(rag, "slo.ttft_ms=600:3000:300", "prices.gpu_usd_per_hour=x1,x1.5")
    found = sweep(rag, wanted)
    assert found.complete
    assert found.solved + found.carried == len(wanted)
    for changes, row in zip(wanted, found.rows, strict=True):
        assert {k: row[k] for k in changes} == changes
        alone = cheapest(System(replace(rag, changes)), SolveSettings(rag.solve.gap))
        assert (alone.plan is None) == (row["status"] == "infeasible")
        if alone.plan is not None:
            assert row["usd_per_hour"] == pytest.approx(alone.usd_per_hour, rel=2e-4)


def test_tightening_carries_over_without_solving(scenario):
    steady = scenario("steady")
    found = sweep(steady, variants(steady, "slo.ttft_ms=1:3001:100"))
    assert found.solved <= 4
    assert found.carried >= 25
    assert found.rows[0]["status"] == "infeasible"


def test_a_second_run_costs_nothing_and_an_interrupted_one_continues(scenario, tmp_path):
    rag, cache = scenario("rag"), Cache(tmp_path)
    wanted = variants(rag, "slo.ttft_ms=1500:2400:100")
    done = []
    part = sweep(rag, wanted, cache=cache, progress=done.append, stop=lambda: len(done) >= 4)
    assert not part.complete
    assert part.interrupted
    assert (len(part.rows), part.missing) == (4, 6)
    rest = sweep(rag, wanted, cache=cache)
    assert rest.complete
    assert rest.cached == 4
    again = sweep(rag, wanted, cache=cache)
    assert (again.cached, again.solved, again.carried) == (10, 0, 0)
    assert again.rows == rest.rows


def test_a_torn_file_is_solved_again(scenario, tmp_path):
    rag, cache = scenario("rag"), Cache(tmp_path)
    wanted = variants(rag, "slo.ttft_ms=2000,2100")
    first = sweep(rag, wanted, cache=cache)
    victim = next(tmp_path.rglob("*.json"))
    victim.write_text(victim.read_text()[:20])
    again = sweep(rag, wanted, cache=cache)
    assert again.cached == 1
    assert again.rows == first.rows
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_decides_a_point_is_in_its_key(scenario):
    rag = scenario("rag")
    key = point_key(rag, 1e-4)
    assert key == point_key(replace(rag, {"name": "other"}), 1e-4)
    assert key != point_key(replace(rag, {"slo.ttft_ms": 1999}), 1e-4)
    assert key != point_key(rag, 1e-5)


def test_repeated_points_and_repeated_work_count_once(scenario):
    rag = scenario("rag")
    wanted = [{"slo.ttft_ms": 2000.0}] * 3 + [{"slo.ttft_ms": 1900.0}]
    found = sweep(rag, wanted, runner=lambda work, stop: [*here(work), *here(work)])
    assert found.solved + found.carried == 2
    assert len(found.rows) == 4
    assert found.rows[0] == found.rows[2]


def test_impossible_values_are_rows(scenario):
    rag = scenario("rag")
    found = sweep(rag, [{"slo.ttft_ms": 1.0}])
    assert found.rows[0]["status"] == "infeasible"


def test_two_processes_give_the_same_table(scenario):
    rag = scenario("rag")
    wanted = variants(rag, "slo.ttft_ms=1500:2400:50", "prices.gpu_usd_per_hour=x1,x2,x3")
    assert sweep(rag, wanted, runner=processes(2)).rows == sweep(rag, wanted).rows


def test_command(invoke, path, tmp_path):
    common = ("sweep", path("rag"), "--set", "slo.ttft_ms=1800:2200:100")
    done = invoke(*common, "--format", "json")
    assert done.code == 0
    assert done.data["solved"] + done.data["carried"] == 5
    assert invoke(*common, "--format", "json").data["cached"] == 5
    rows = list(csv.DictReader(io.StringIO(invoke(*common, "-f", "csv").out)))
    assert [float(r["slo.ttft_ms"]) for r in rows] == [1800, 1900, 2000, 2100, 2200]
    text = invoke(*common).out
    assert all(len(line) <= 100 for line in text.splitlines())
    assert invoke("sweep", path("rag"), "--set", "slo.ttft_ms=1800:2200").code == 2
    assert invoke("sweep", path("rag"), "--set", "slo.nothing=3").code == 2


def test_parquet(invoke, path, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    invoke("sweep", path("rag"), "--set", "slo.ttft_ms=1,1800,2200", "-o", tmp_path / "s.parquet")
    table = parquet.read_table(tmp_path / "s.parquet").to_pydict()
    assert table["slo.ttft_ms"] == [1.0, 1800.0, 2200.0]
    assert table["status"] == ["infeasible", "optimal", "optimal"]


CLUSTER = """
import json, os, signal, sys, threading, time
from pathlib import Path
from planner.scenario import load
from planner.study.cache import Cache
from planner.study.processes import spread
from planner.study.sets import grid, parse_setting
from planner.study.sweep import sweep
from planner.study.workers import dask_cluster

def main():
    import dask
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    from distributed import LocalCluster
    scenario, folder = load(sys.argv[1]), Path(sys.argv[2])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster:
        sets = ["slo.ttft_ms=1500:2460:40", "prices.gpu_usd_per_hour=x1,x2"]
        points = list(grid([parse_setting(t, scenario) for t in sets]))
        done, killed = [], []
        def progress(text):
            done.append(text)
            if not killed:  # a worker dies midway, with work in hand
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.process.pid if hasattr(worker, "process") else worker.pid)
                os.kill(killed[0], signal.SIGKILL)
        runner = dask_cluster(cluster.scheduler_address)
        found = sweep(scenario, points, cache=Cache(folder), runner=runner, progress=progress)
        print(json.dumps({"killed": killed, "rows": found.rows, "points": len(points), "complete": found.complete,
                          "solved": found.solved, "carried": found.carried}))

if __name__ == "__main__":
    main()
"""


def test_dask_with_a_worker_killed_midway(scenario, path, tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    paths = os.pathsep.join([str(Path(sweeping.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script), str(path("rag")), str(tmp_path / "points")],
        capture_output=True, text=True, timeout=180, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["killed"]) == 1
    assert found["complete"]
    assert len(found["rows"]) == found["points"] == found["solved"] + found["carried"]  # nothing lost, nothing twice
    assert len(list((tmp_path / "points").rglob("*.json"))) == found["points"]
    rag = scenario("rag")
    sets = ("slo.ttft_ms=1500:2460:40", "prices.gpu_usd_per_hour=x1,x2")
    assert found["rows"] == json.loads(json.dumps(sweep(rag, variants(rag, *sets)).rows))


def test_no_scheduler_there(invoke, path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "ANSWERS_WITHIN_S", 0.5)
    done = invoke("sweep", path("rag"), "--set", "slo.ttft_ms=2000", "--dask", "tcp://127.0.0.1:9", "--no-cache")
    assert done.code == 3


@pytest.mark.parametrize(
    ("kind", "jobs", "form"), [(signal.SIGINT, 1, "json"), (signal.SIGTERM, 2, "csv"), (signal.SIGINT, 2, "json")]
)
def test_an_interrupted_sweep_keeps_what_is_known(kind, jobs, form, path, tmp_path):
    answer = tmp_path / f"answer.{form}"
    answer.write_text("complete")
    command = [sys.executable, "-m", "planner", "sweep", str(path("cloud")), "--set", "slo.ttft_ms=1500:3000:5",
               "--jobs", str(jobs), "-o", str(answer), "--cache", str(tmp_path / "points")]  # fmt: skip
    root = str(Path(sweeping.__file__).parents[2])
    run = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    deadline = time.time() + 60
    while time.time() < deadline and len(list(tmp_path.rglob("points/*/*.json"))) < 3:
        time.sleep(0.02)
    told = time.time()
    os.killpg(run.pid, kind)  # as a terminal does
    _, err = run.communicate(timeout=60)
    assert time.time() - told < 2  # 0.1 s on a quiet machine
    assert run.returncode == 130
    assert "Traceback" not in err
    assert "resource_tracker" not in err
    kept = len(list(tmp_path.rglob("points/*/*.json")))
    assert f"interrupted: {kept} of 301 rows, {301 - kept} missing" in err
    if form == "json":
        data = json.loads(answer.read_text())
        assert (data["interrupted"], data["complete"], data["missing"]) == (True, False, 301 - kept)
        assert len(data["rows"]) == data["solved"] + data["carried"] == kept
    else:
        assert answer.read_text() == "complete"  # CSV cannot say that rows are missing
        assert len((tmp_path / "answer.partial.csv").read_text().splitlines()) == 1 + kept


def test_a_table_says_that_it_is_not_complete(scenario):
    rag = scenario("rag")
    done = []
    wanted = variants(rag, "slo.ttft_ms=1500:2400:100")
    part = sweep(rag, wanted, progress=done.append, stop=lambda: len(done) >= 2)
    for text in (render.to_table(part), render.to_markdown(part)):
        assert "interrupted: 2 of 10 rows" in text.splitlines()[0]
    assert "8 missing" in render.interrupted_line(part, kept=True)


def test_a_second_run_may_do_better_where_the_first_gave_up(scenario, tmp_path):
    rag, cache = scenario("rag"), Cache(tmp_path)

    def short_of_time(work, stop):
        yield [(p.key, {"status": "gave up", "why": "", "carried": False}) for unit in work for p in unit.points]

    wanted = variants(rag, "slo.ttft_ms=2000,2100")
    assert {r["status"] for r in sweep(rag, wanted, cache=cache, runner=short_of_time).rows} == {"gave up"}
    assert {r["status"] for r in sweep(rag, wanted, cache=cache).rows} == {"optimal"}


def test_values_that_are_not_allowed(scenario, invoke, path):
    rag = scenario("rag")
    found = sweep(rag, [{"slo.ttft_ms": -5.0}, {"slo.ttft_ms": 2000.0}])
    assert [r["status"] for r in found.rows] == ["invalid", "optimal"]
    assert found.complete
    assert invoke("sweep", path("rag"), "--set", "slo.ttft_ms=-5,-6").code == 2
    twice = invoke("sweep", path("rag"), "--set", "slo.ttft_ms=2000", "--set", "slo.ttft_ms=2100")
    assert twice.code == 2
    assert "set twice" in twice.err
    assert invoke("sweep", path("rag"), "--set", "slo.ttft_ms=,", "--sample", 3).code == 2
    assert invoke("sweep", path("rag"), "--set", "slo.ttft_ms=1:1e9:1").code == 2
    assert "ttft_ms" in invoke("sweep", path("rag"), "--set", "slo.ttft=1").err
    assert "a section" in invoke("sweep", path("rag"), "--set", "slo=1").err
    assert "whole number" in invoke("sweep", path("rag"), "--set", "deployment.max_gpus=8.5").err


def test_a_cache_that_cannot_be_written_is_told(invoke, path, tmp_path):
    (tmp_path / "file").touch()
    done = invoke("sweep", path("rag"), "--set", "slo.ttft_ms=2000", "--cache", tmp_path / "file")
    assert done.code == 0
    assert "1 row will be solved again" in done.err


def dies_once(item):
    """Answers its items, but dies in the middle of the first time it gets the item that is a file's name."""
    yield "begun", item
    if isinstance(item, str) and not os.path.exists(item):
        Path(item).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    yield "ended", item


def test_a_process_that_dies_loses_nothing(tmp_path):
    name = str(tmp_path / "died")
    found = list(spread(dies_once, [1, name, 2], 2))
    assert {answer for _, answer in found if answer[0] == "ended"} == {("ended", i) for i in (1, name, 2)}


def test_an_error_in_a_process_is_told():
    with pytest.raises(PlannerError, match="FileNotFoundError") as caught:
        list(spread(fails, ["fails"], 2))
    assert str(caught.value).count("error:") == 1


def fails(item):
    yield from ()
    raise FileNotFoundError(item)


def test_no_unit_of_work_begins_after_a_stop(scenario, monkeypatch):
    rag, begun = scenario("rag"), []

    def one(unit, stop):
        begun.append(unit)
        if not stop():  # a solve that is cut short has no answer
            yield unit.points[0].key, {"status": "infeasible", "carried": False}

    monkeypatch.setattr(sweeping, "solve_work", one)
    wanted = variants(rag, "prices.gpu_usd_per_hour=1:500:1")
    found = sweep(rag, wanted, stop=lambda: len(begun) >= 3)
    assert len(begun) == 3
    assert found.interrupted
