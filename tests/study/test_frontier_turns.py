"""Every turn of a cell is told, with the way back, and every jump lies between two stretches; ties fall alike."""

from __future__ import annotations

from itertools import pairwise

import pytest

from planner.optimize import solve_scenario
from planner.physics.system import System
from planner.report.study_frontier_data import to_data
from planner.scenario import replace
from planner.study.frontier import frontier


def _cell(found, architecture, tiered):
    return next(c for c in found.cells if (c.architecture, c.tiered) == (architecture, tiered))


def _roles(vertex):
    return [t.role for t in vertex.plan.tiers[1:]]


def test_a_tier_that_goes_comes_back_before_it_goes_again(scenario):
    found = frontier(scenario("chat"), "ttft", low=1180, high=1192)
    texts = [m.text for m in found.marks if m.kind == "role" and m.cell == "colocated with tiers"]
    assert texts == ["dram sync → unused", "dram unused → sync", "dram sync → unused"]
    at = {m.text: m for m in found.marks if m.text == "dram unused → sync"}["dram unused → sync"]
    cell = _cell(found, "colocated", True)
    before, after = cell.at(found.axis, at.easier), cell.at(found.axis, at.harder)
    assert _roles(before)[0] == "unused"
    assert _roles(after)[0] == "sync"
    assert after.usd_per_hour > before.usd_per_hour * 1.005


@pytest.mark.parametrize(("name", "x", "low", "high"), [("chat", "ttft", 1180, 1200), ("rag", "ttft", 1150, 1500)])
def test_within_a_stretch_nothing_changes_in_kind_and_nothing_jumps(scenario, name, x, low, high):
    found = frontier(scenario(name), x, low=low, high=high)
    for cell in found.cells:
        for stretch in cell.stretches:
            assert _roles(stretch.first) == _roles(stretch.last)
            span = stretch.last.x - stretch.first.x
            inside = cell._own(found.axis, stretch.first.x + span * 1e-3)
            assert inside.usd_per_hour == pytest.approx(stretch.first.usd_per_hour, rel=1e-4)


def test_a_line_through_the_points_of_the_data_is_the_cost(scenario):
    found = frontier(scenario("rag"), "ttft", low=1150, high=1500)
    for cell, data in zip(found.cells, to_data(found)["cells"], strict=True):
        for stretch in data["stretches"]:
            for a, b in pairwise(stretch["points"]):
                middle = (a["x"] + b["x"]) / 2
                told = (a["usd_per_hour"] + b["usd_per_hour"]) / 2
                assert cell._own(found.axis, middle).usd_per_hour == pytest.approx(told, rel=2e-3)


def test_at_equal_cost_the_simpler_plan_is_first_in_a_solve_and_on_the_frontier(scenario):
    tied = replace(scenario("steady"), {"slo.confidence": 0.9})
    ranked = solve_scenario(tied, with_verdict=False).plans
    one, two = ranked[0].evaluation, ranked[1].evaluation
    assert one.usd_per_hour == pytest.approx(two.usd_per_hour, rel=1e-9)
    assert (one.decision.architecture, two.decision.architecture) == ("colocated", "disaggregated")
    found = frontier(tied, "requests", low=19, high=21)
    cell, vertex = found.best_at(20)
    assert (cell.architecture, cell.tiered) == ("colocated", False)
    assert vertex.plan.usd_per_hour == pytest.approx(one.usd_per_hour, rel=1e-9)
    assert found.today.plan.decision.architecture == System(tied).scenario.deployment.architectures[0] == "colocated"
