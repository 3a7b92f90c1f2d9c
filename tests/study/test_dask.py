"""A cluster that fails midway: what it answered is kept, and what happened is said."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from planner.errors import PlannerError
from planner.report import study_sweep as render
from planner.study import sweep as sweeping
from planner.study.cache import Cache, package_digest
from planner.study.sweep import solved, sweep
from planner.study.workers import dask_cluster

distributed = pytest.importorskip("distributed")
ADDRESS = "tcp://somewhere:8786"
WANTED = [{"slo.ttft_ms": 2000.0 + k} for k in range(30)]  # three units of work


class Cluster:
    """Answers one unit of work, then fails; ``planners`` is what its workers say when they are asked."""

    def __init__(self, failure=None, planners=None):
        self.failure, self.planners = failure, planners if planners is not None else {"tcp://w:1": package_digest()}
        self.loop, self.closed = None, False

    def __call__(self, *_, **__):
        return self

    def run(self, function, on_error):
        assert (function, on_error) == (package_digest, "return")
        return self.planners

    def map(self, function, work, **_):
        return [SimpleNamespace(result=lambda u=u, i=i: self.result(function, u, i), release=lambda: None)
                for i, u in enumerate(work)]  # fmt: skip

    def result(self, function, unit, i):
        if i and self.failure:
            raise self.failure
        return function(unit)

    def close(self):
        self.closed = True


class Answers:
    def __init__(self, futures, loop):
        self.futures = list(futures)

    def is_empty(self):
        return not self.futures

    def next_batch(self, block):
        return [self.futures.pop(0)]


@pytest.fixture
def cluster(monkeypatch):
    def make(**how):
        made = Cluster(**how)
        monkeypatch.setattr(distributed, "Client", made)
        monkeypatch.setattr(distributed, "as_completed", Answers)
        return made

    return make


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (distributed.client.FutureCancelledError("solved-1", "scheduler-connection-lost"), "scheduler at"),
        (distributed.comm.CommClosedError("in <TCP>: gone"), "scheduler at"),
        (distributed.scheduler.KilledWorker("solved-1", None, 3), "died again and again"),
    ],
)
def test_what_was_answered_before_the_cluster_was_lost_is_kept(failure, told, cluster, scenario, tmp_path):
    made, rag = cluster(failure=failure), scenario("rag")
    found = sweep(rag, WANTED, cache=Cache(tmp_path), runner=dask_cluster(ADDRESS))
    assert (found.interrupted, len(found.rows), made.closed) == (True, sweeping.CHUNK, True)
    assert told in found.cause
    line = render.interrupted_line(found, kept=True)
    assert told in line
    assert "run it again" in line
    assert render.to_data(found)["cause"] == found.cause
    cluster()
    rest = sweep(rag, WANTED, cache=Cache(tmp_path), runner=dask_cluster(ADDRESS))
    assert (rest.complete, rest.cached) == (True, sweeping.CHUNK)


def test_the_command_ends_as_interrupted(cluster, invoke, path):
    cluster(failure=distributed.client.FutureCancelledError("solved-1", "scheduler-connection-lost"))
    done = invoke("sweep", path("rag"), "--set", "slo.ttft_ms=2000:2030:1", "--dask", ADDRESS, "-f", "json")
    assert done.code == 130
    assert done.data["missing"] == 31 - sweeping.CHUNK
    assert "was lost: 12 of 31 rows" in done.err


@pytest.mark.parametrize("said", ["another", AttributeError("no package_digest"), ModuleNotFoundError("planner")])
def test_a_worker_with_another_planner_is_refused(said, cluster):
    made = cluster(planners={"tcp://w:1": package_digest(), "tcp://w:2": said})
    with pytest.raises(PlannerError, match=r"worker tcp://w:2 (runs another planner|cannot run the planner)"):
        dask_cluster(ADDRESS)
    assert made.closed


def test_a_worker_that_joins_later_with_another_planner_is_told(cluster, scenario, monkeypatch):
    cluster(planners={})
    runner = dask_cluster(ADDRESS)
    digests = iter(["here", "there"])
    monkeypatch.setattr(sweeping, "package_digest", lambda: next(digests, "there"))
    with pytest.raises(PlannerError, match="another planner"):
        sweep(scenario("rag"), WANTED[:1], runner=runner)
    with pytest.raises(RuntimeError, match="another planner"):
        solved(sweeping.Work("", (), 1e-4, "older"))
