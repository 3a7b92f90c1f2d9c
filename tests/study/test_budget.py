"""The budget's choice against trying everything, its monotony, and what it degenerates to."""

from __future__ import annotations

import itertools
import math
import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.benchmark.studies import random_services
from planner.cells import SolveSettings
from planner.errors import StoppedError
from planner.physics.system import System
from planner.report import study_budget as render
from planner.scenario import replace
from planner.study import budget as budgeting
from planner.study.budget import budget, shortages
from planner.study.budget_model import choose
from planner.study.columns import EMPTY, Column, Service, Wanted, service_of, services_of
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


def test_what_is_short_is_exactly_what_is_missing(invoke, path):
    """The amounts that a refusal names suffice when they are typed in, and a little less does not."""
    files = (path("rag"), path("agent"))
    done = invoke("budget", *files, "--serve-all", "--usd-per-month", 1000, "--max-gpus", 3, "--format", "json")
    assert done.code == 1
    found = {e["path"]: e for e in done.data["errors"] if e["code"] == "limit-short"}
    assert set(found) == {"--usd-per-month", "--max-gpus"}
    for flag, error in found.items():
        assert "short" in error["message"]
        enough = float(error["hint"].split()[1])
        assert invoke("budget", *files, "--serve-all", flag, enough).code == 0
        assert invoke("budget", *files, "--serve-all", flag, enough * 0.999 - 1).code == 1


def test_limits_that_are_short_only_together():
    def service(name, *columns):
        return Service(name, 1.0, 10.0, (EMPTY, *(Column(1.0, usd, gpus, (), 10.0) for usd, gpus in columns)))

    services = [service("a", (10, 8), (20, 4)), service("b", (10, 8), (30, 4))]
    limits = {"usd": 25.0, "gpus": 10.0}
    assert choose(services, limits, serve_all=True) is None
    found = {s.resource: s for s in shortages(services, limits)}
    assert not any(s.alone for s in found.values())
    assert found["usd"].least == pytest.approx(50)  # with at most 10 GPUs only the dear ones fit
    assert found["gpus"].least == pytest.approx(16)
    error = render.cannot_serve_all(services, limits)
    assert error.exit_code == 1
    assert "within the other limits" in str(error)


def test_a_service_without_a_plan_is_named(invoke, path, tmp_path):
    slow = tmp_path / "slow.yaml"
    text = path("rag").read_text().replace("name: rag", "name: slow")
    slow.write_text(re.sub(r"ttft_ms: *[0-9.]+", "ttft_ms: 1", text))
    done = invoke("budget", slow, path("rag"), "--serve-all", "--usd-per-month", 1e9)
    assert done.code == 1
    assert "slow: no plan serves all of it" in done.err
    text = invoke("budget", slow, path("rag"), "--usd-per-month", 1e9, "--format", "md").out
    assert text.startswith("# 2 services")
    assert "- slow: no plan serves all of it" in text


@pytest.mark.parametrize("arguments", [
    ("--usd-per-month", "nan"), ("--usd-per-month", "-5"), ("--max-gpus", "inf"), ("--usd-per-month", "2M"),
    ("--weights", "rag=1,rag=2"), ("--weights", "rag=0"), ("--levels", ","), ("--load", "rag=-1"), ("--jobs", "0"),
])  # fmt: skip
def test_wrong_options(arguments, invoke, path):
    assert invoke("budget", path("rag"), *arguments).code == 2


def test_a_limit_on_a_tier_that_nobody_has_is_told(invoke, path, tmp_path):
    bare = tmp_path / "bare.yaml"
    bare.write_text(path("rag").read_text() + "\ntiers: [{name: dram}]\n")
    assert "limits nothing" in invoke("budget", bare, "--max-nvme-gb", 5).err


def test_processes_give_the_same_services(scenario):
    wanted = [
        Wanted(replace(scenario("rag"), {"workload.requests_per_second": rate}).model_dump_json(), f"rag-{rate}")
        for rate in (10.0, 15.0)
    ]
    assert services_of(wanted, jobs=2) == services_of(wanted, jobs=1)
    with pytest.raises(StoppedError):
        services_of(wanted, stop=lambda: True)


amounts = st.floats(0, 50, allow_subnormal=False).map(lambda x: round(x, 2))
columns = st.builds(
    lambda level, usd, gpus, dram: Column(level, usd, gpus, (("dram", dram),), 10 * level),
    st.sampled_from([1.0, 0.5, 0.25]), amounts, amounts, amounts,
)  # fmt: skip
fleets = st.lists(
    st.lists(columns, max_size=3).map(lambda found: Service("s", 1.0, 10.0, (EMPTY, *found))), min_size=1, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(fleets, amounts, amounts, amounts, st.sampled_from(["usd", "gpus", "dram"]))
def test_optimal_and_monotone_on_any_fleet(services, usd, gpus, dram, resource):
    limits = {"usd": usd, "gpus": gpus, "dram": dram}
    found, true = choose(services, limits), exhaustive(services, limits)
    assert found is not None  # serving nothing fits
    assert found.value == pytest.approx(-true[0], rel=2e-6, abs=1e-6)
    assert found.usd_per_hour == pytest.approx(true[1], rel=2e-6, abs=2e-4)
    wider = choose(services, {**limits, resource: limits[resource] * 1.5 + 1})
    assert wider.value >= found.value - 1e-6


def test_every_service_has_a_name_of_its_own(invoke, path, tmp_path):
    text = path("rag").read_text()
    for i, name in enumerate(("rag", "rag", "rag-2")):
        (tmp_path / f"{i}.yaml").write_text(text.replace("name: rag", f"name: {name}"))
    files = [tmp_path / f"{i}.yaml" for i in range(3)]
    data = invoke("budget", *files, "--format", "json").data
    assert [s["service"] for s in data["services"]] == ["rag", "rag-3", "rag-2"]


def test_a_choice_that_is_interrupted_keeps_what_it_has():
    services = random_services(100, 20, 3)
    full = sum(max(c.usd_per_hour for c in s.columns) for s in services)
    limits = {"usd": 0.4 * full, "gpus": 0.18 * full, "dram": 1.2e5, "nvme": 1e6}
    started = time.perf_counter()

    def stop():
        return time.perf_counter() > started + 0.6

    try:
        found = budget(services, limits, stop=stop)
    except StoppedError:
        found = None  # there was no choice yet
    assert time.perf_counter() - started < 5  # half a second more on a quiet machine
    if found is not None:
        assert found.interrupted
        assert all(found.choice.uses(r) <= x * (1 + 1e-6) for r, x in limits.items())
        assert found.choice.value <= found.choice.bound
        assert "interrupted" in render.to_table(found).splitlines()[0]


def priced(name, *columns):
    """A service with columns of (level, dollars an hour, value)."""
    return Service(name, 1.0, 10.0, (EMPTY, *(Column(lv, usd, 1.0, (), value) for lv, usd, value in columns)))


SWAPS = [priced("a", (1.0, 10, 20), (0.5, 4, 11)), priced("b", (1.0, 6, 9), (0.5, 3, 4))]


def test_every_step_down_is_told_whole_and_goes_on_from_the_plan():
    found = budget(SWAPS, {"usd": 13.0}, cuts=9)
    assert [c.level for c in found.choice.columns] == [1.0, 0.5]
    level = {s.name: c.level for s, c in zip(SWAPS, found.choice.columns, strict=True)}
    value, usd = found.choice.value, found.choice.usd_per_hour
    for cut in found.cuts:
        for move in (*cut.falls, *cut.rises):
            assert move.level_from == level[move.service]
            level[move.service] = move.level_to
        value, usd = value - cut.value_lost, usd - cut.freed
        assert cut.value_lost == pytest.approx(-sum(m.value for m in (*cut.falls, *cut.rises)))
        assert cut.freed == cut.usd_per_hour_freed > 0
        assert value == pytest.approx(choose(SWAPS, {"usd": cut.limit * (1 - 1e-6)}).value)
        assert cut.limit <= usd + cut.freed  # what is spent before it, or less: a cheaper plan at the same levels
    assert any(cut.rises for cut in found.cuts)  # a falls to a half, and what that frees raises b
    assert (value, usd) == pytest.approx((0, 0))
    text = render.to_table(found)
    assert "a 100% → 50%" in text
    assert "b 50% → 100%" in text
    first = render.to_data(found)["cuts"][0]
    assert {m["service"] for m in first["changes"]} == {m.service for m in (*found.cuts[0].falls, *found.cuts[0].rises)}


def test_steps_that_were_not_found_in_time_are_told(monkeypatch):
    monkeypatch.setattr(budgeting, "NEIGHBOURHOOD_S", -1.0)
    found = budget(SWAPS, {"usd": 13.0})
    assert not found.cuts
    for text in (render.to_table(found), render.to_markdown(found)):
        assert "Who is cut next" in text
        assert "This was not found in time" in text
    assert render.to_data(found)["cuts_not_found"]


def test_the_choice_can_be_made_again_from_the_columns_in_the_json(invoke, path):
    data = invoke("budget", path("rag"), path("agent"), "--usd-per-month", 120000, "--format", "json", "-q").data
    rows = [s["all_columns"] for s in data["services"]]
    assert [len(r) for r in rows] == [s["columns"] for s in data["services"]]
    fits = [p for p in itertools.product(*rows) if sum(c["usd_per_month"] for c in p) <= 120000]
    assert max(sum(c["value"] for c in p) for p in fits) == pytest.approx(data["value"], rel=1e-5)
    for service, columns in zip(data["services"], rows, strict=True):
        own = [c for c in columns if c["level"] == service["level"] and c["usd_per_hour"] == service["usd_per_hour"]]
        assert own[0]["gpus"] == service["gpus"]
        assert {k.removesuffix("_gb") for k in own[0] if k.endswith("_gb")} == set(service["capacity_gb"])
