"""The budget's choice against trying everything, its monotony, and what it degenerates to."""

from __future__ import annotations

import itertools
import math
import random
import time

import pytest

from planner.cells import SolveSettings
from planner.physics.system import System
from planner.scenario import replace
from planner.study.bench import random_services
from planner.study.budget import budget
from planner.study.budget_model import choose
from planner.study.columns import EMPTY, service_of
from planner.study.points import cheapest


def exhaustive(services, limits, serve_all=False):
    best = None
    for picks in itertools.product(*(s.columns for s in services)):
        if serve_all and any(c.level < 1 for c in picks):
            continue
        if all(sum(c.uses(r) for c in picks) <= limit * (1 + 1e-9) for r, limit in limits.items()):
            key = (-round(sum(c.value for c in picks), 6), sum(c.usd_per_hour for c in picks))
            best = min(best, key) if best else key
    return best


@pytest.mark.parametrize("seed", range(12))
def test_equals_trying_everything(seed):
    services = random_services(4, 5, seed)
    full = sum(max(c.usd_per_hour for c in s.columns) for s in services)
    source = random.Random(seed + 100)
    for limits in (
        {"usd": full * source.uniform(0.1, 0.9)},
        {"usd": full * 0.5, "gpus": source.randint(10, 80), "dram": source.uniform(1e3, 1e4)},
        {"nvme": source.uniform(1e3, 1e5)},
        {},
    ):
        true, found = exhaustive(services, limits), choose(services, limits)
        assert found is not None
        assert found.value == pytest.approx(-true[0], rel=2e-6, abs=1e-6)
        assert found.usd_per_hour == pytest.approx(true[1], rel=2e-6, abs=1e-6)
        assert all(found.uses(r) <= limit * (1 + 1e-8) for r, limit in limits.items())


@pytest.mark.parametrize("seed", range(4))
def test_serving_all_at_least_cost(seed):
    services = random_services(4, 6, seed)
    limits = {"gpus": 120.0}
    true, found = exhaustive(services, limits, serve_all=True), choose(services, limits, serve_all=True)
    if true is None:
        assert found is None
    else:
        assert found.usd_per_hour == pytest.approx(true[1], rel=1e-6)


@pytest.mark.parametrize("resource", ["usd", "gpus", "dram", "nvme"])
def test_more_of_any_limit_is_never_worse(resource):
    services = random_services(8, 8, 7)
    top = sum(max(c.uses(resource) for c in s.columns) for s in services)
    before = -1.0
    for share in (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.8, 1.0):
        found = choose(services, {resource: top * share})
        assert found is not None
        assert found.value >= before * (1 - 2e-6)
        before = found.value


def test_a_hundred_services_in_ten_seconds():
    services = random_services(100, 20, 3)
    full = sum(max(c.usd_per_hour for c in s.columns) for s in services)
    started = time.perf_counter()
    found = choose(services, {"usd": 0.4 * full, "gpus": 0.18 * full, "dram": 1.2e5, "nvme": 1e6}, gap=1e-4)
    assert time.perf_counter() - started < 10
    assert found is not None
    assert found.relative_gap <= 1e-4


def test_one_service_without_limits_is_its_solve(scenario):
    for name in ("rag", "agent"):
        loaded = scenario(name)
        found = budget([service_of(loaded, name, levels=(1.0, 0.5), structures=3)], {})
        best = cheapest(System(loaded), SolveSettings(loaded.solve.gap))
        assert found is not None
        assert found.choice.usd_per_hour == pytest.approx(best.usd_per_hour, rel=1e-4)
        assert found.choice.columns[0].level == 1.0


def test_columns_are_feasible_plans_cheapest_first(scenario):
    service = service_of(scenario("rag"), "rag", levels=(1.0, 0.5), structures=4)
    assert service.columns[0] is EMPTY
    for level in (1.0, 0.5):
        costs = [c.usd_per_hour for c in service.columns if c.level == level]
        assert 1 <= len(costs) <= 4
        assert costs == sorted(costs)
    assert all(c.plan.feasible for c in service.columns[1:] if c.plan)


def test_the_cut_is_named(invoke, path):
    done = invoke("budget", path("rag"), path("agent"), "--usd-per-month", 120000, "--format", "json", "-q")
    assert done.code == 0
    data = done.data
    assert data["usd_per_month"] <= 120000 * (1 + 1e-6)
    assert data["value"] <= data["value_bound"] * (1 + 1e-9)
    assert data["cuts"]
    assert data["more"][0]["resource"] == "usd"
    assert data["relative_gap"] <= 1e-4


def test_command(invoke, path):
    text = invoke("budget", path("rag"), path("agent"), "--max-gpus", 40, "--weights", "agent=3").out
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "40 GPUs" in text
    assert invoke("budget", path("rag"), "--max-gpus", 4, "--serve-all").code == 1
    assert invoke("budget", path("rag"), "--weights", "nobody=3").code == 2
    assert invoke("budget", path("rag"), "--levels", "2").code == 2
    assert invoke("budget", path("rag"), "-f", "csv").out.startswith("service,level")


def test_a_service_that_cannot_be_served_gets_nothing(scenario):
    slow = replace(scenario("rag"), {"slo.ttft_ms": 1.0})
    found = budget([service_of(slow, "rag", levels=(1.0,))], {"usd": 1e6})
    assert found is not None
    assert found.choice.value == 0
    assert math.isclose(found.choice.usd_per_hour, 0.0)


def test_the_least_raise_that_buys_more_is_the_least():
    services = random_services(4, 5, 21)
    limits = {"usd": 0.4 * sum(max(c.usd_per_hour for c in s.columns) for s in services), "gpus": 90.0}
    found = budget(services, limits)
    assert found is not None
    more = next(m for m in found.more if m.resource == "usd")
    better = [
        sum(c.usd_per_hour for c in picks)
        for picks in itertools.product(*(s.columns for s in services))
        if sum(c.value for c in picks) > found.choice.value * (1 + 1e-4) and sum(c.gpus for c in picks) <= 90
    ]
    assert (more.raise_by is None) == (not better)
    if better:
        assert more.raise_by == pytest.approx(min(better) - limits["usd"], rel=1e-4, abs=1e-4 * limits["usd"])
