"""The frontier against solving again at every grid point, and how few solves it takes."""

from __future__ import annotations

import csv
import io
import math
from itertools import pairwise

import pytest

from planner.cells import SolveSettings, solve_cell
from planner.evaluate import evaluate
from planner.physics.system import System
from planner.study.axes import AXES, pool_load
from planner.study.frontier import frontier
from planner.study.keep import kept

RANGES = [
    ("paper", "ttft", 480.0, 1000.0, 40.0),
    ("chat", "ttft", 850.0, 1800.0, 95.0),
    ("rag", "ttft", 1400.0, 2600.0, 100.0),
    ("agent", "ttft", 4400.0, 9000.0, 400.0),
    ("paper", "tpot", 28.0, 60.0, 4.0),
    ("paper", "requests", 10.0, 60.0, 5.0),
    ("chat", "requests", 30.0, 70.0, 8.0),
    ("deepseek", "tpot", 30.0, 60.0, 5.0),
    ("chat", "gpus", 66.0, 80.0, 1.0),
]


@pytest.mark.parametrize(("name", "x", "low", "high", "step"), RANGES, ids=lambda v: str(v))
def test_few_solves_give_what_solving_again_gives(scenario, name, x, low, high, step):
    loaded = scenario(name)
    found = frontier(loaded, x, low=low, high=high, step=step)
    system = System(loaded)
    for cell in found.cells:
        assert cell.solves <= len(cell.vertices) + 2
        _equals_solving_again(system, found, cell)
        _is_pareto(system, found, cell)


def _equals_solving_again(system, found, cell):
    for x in found.grid:
        there = found.axis.at(system, x)
        true = solve_cell(there, cell.architecture, cell.tiered, SolveSettings(1e-6)).proof.cost
        vertex = cell.at(found.axis, x)
        assert (vertex.usd_per_hour if vertex else math.inf) == pytest.approx(true, rel=2e-5), (cell, x)


def _is_pareto(system, found, cell):
    for a, b in pairwise(cell.vertices):
        assert found.axis.is_harder(b.x, a.x)
        assert b.usd_per_hour > a.usd_per_hour
    for vertex in cell.vertices:
        kept_promise = evaluate(found.axis.at(system, vertex.x), vertex.plan.decision)
        if found.axis.name != "gpus":
            assert kept(found.axis.at(system, vertex.x), vertex.plan.decision).feasible
        assert kept_promise.usd_per_hour == pytest.approx(vertex.usd_per_hour)


def test_turns_of_the_paper(scenario):
    found = frontier(scenario("paper"), "ttft", low=380, high=1000, step=20)
    texts = [(m.kind, m.cell, m.text) for m in found.marks]
    assert any(k == "role" and c == "disaggregated with tiers" and "nvme sync → prefetch" in t for k, c, t in texts)
    assert any(k == "impossible" and c == "disaggregated with tiers" for k, c, _ in texts)
    roles = [m for m in found.marks if m.kind == "role" and m.cell == "disaggregated with tiers"]
    assert all(m.harder <= m.easier for m in roles)


def test_disaggregation_starts_and_stops_paying_where_the_costs_cross(scenario):
    found = frontier(scenario("paper"), "tpot", low=25, high=60, step=5)
    turns = [m for m in found.marks if m.kind == "disaggregation"]
    assert turns
    assert turns[0].easier is None
    for mark in turns[1:]:
        before, after = found.best_at(mark.easier), found.best_at(mark.harder)
        assert before is not None
        assert after is not None
        assert before[0].architecture != after[0].architecture


def test_growth_says_what_breaks_first(scenario):
    found = frontier(scenario("chat"), "requests", low=40, high=80, step=20)
    now = found.today
    assert now is not None
    assert now.reach == pytest.approx(40, rel=1e-4)
    assert {"ttft_budget", "decode_slots"} <= {b.rule for b in now.breaks}
    assert [b.x for b in now.breaks] == sorted(b.x for b in now.breaks)
    assert all(40 <= b.x <= 80 for b in now.breaks)


def test_a_plan_carries_no_more_than_it_says(scenario):
    system = System(scenario("steady"))
    plan = solve_cell(system, "colocated", True, SolveSettings()).best
    assert plan is not None
    reach = AXES["requests"].reach(system, plan, 200.0)
    assert 20 < reach < 200
    assert kept(AXES["requests"].at(system, reach), plan.decision).feasible
    assert not kept(AXES["requests"].at(system, reach * 1.001), plan.decision).feasible


def test_pool_load_fills_the_slots(scenario):
    system = System(scenario("chat"))
    pool = solve_cell(system, "disaggregated", True, SolveSettings()).candidates.decodes[0]
    there = AXES["requests"].at(system, pool_load(system, pool))
    mean = there.concurrency(there.steps_s(pool.config, pool.batch))
    assert mean + there.z * math.sqrt(mean) == pytest.approx(pool.instances * pool.batch)


def test_impossible_everywhere(scenario, invoke, path):
    done = invoke("frontier", path("chat"), "--from", 100, "--to", 200, "--no-report", "--format", "json")
    assert done.code == 1
    assert all(not cell["vertices"] for cell in done.data["cells"])


def test_command(invoke, path, tmp_path):
    done = invoke("frontier", path("rag"), "--from", 1800, "--to", 2200, "--step", 100, "--format", "json", "-q")
    assert done.code == 0
    data = done.data
    assert data["axis"]["name"] == "ttft"
    assert all(cell["solves"] <= len(cell["vertices"]) + 2 for cell in data["cells"])
    assert (tmp_path / "reports" / "rag" / "frontier.json").is_file()
    text = invoke("frontier", path("rag"), "--from", 1800, "--to", 2200, "--step", 100, "--no-report").out
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "Four cells" in text
    rows = csv.DictReader(io.StringIO(invoke("frontier", path("rag"), "--x", "gpus", "-f", "csv", "--no-report").out))
    assert {row["cell"] for row in rows} >= {"colocated.hbm_only", "disaggregated.tiered"}


def test_bad_range(invoke, path):
    assert invoke("frontier", path("rag"), "--from", 9, "--to", 8).code == 2
