"""Cells with tiers: every value between two turns against solving there, and each design against the model."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from planner.cells import SolveSettings, solve_cell
from planner.physics.system import System
from planner.report.study_frontier import cheapest_vertices, solves_line, to_table
from planner.report.study_frontier_data import to_csv, to_data
from planner.study.axes import AXES
from planner.study.designs_at import CLOSED, DesignsAt, Priced
from planner.study.frontier import frontier
from planner.study.points import cheapest
from tests.core.instances import small

SEEDS = [5, 7, 16, 21, 47]  # inclusive and exclusive tiers, purchase steps, both routings, a class with its own reuse
POINTS = 15


def _costs(found, system, cell, x):
    true = solve_cell(found.axis.at(system, x), cell.architecture, cell.tiered, SolveSettings(1e-6)).proof.cost
    vertex = cell.at(found.axis, x)
    return (vertex.usd_per_hour if vertex else math.inf), true


@pytest.mark.parametrize(
    ("seed", "x", "share"), [*((s, "ttft", 0.6) for s in SEEDS[:-1]), (47, "ttft", 0.95), (5, "requests", 0.7)]
)
def test_random_cells_equal_solving_again(seed, x, share):
    scenario = small(seed)
    assert scenario is not None
    system, axis = System(scenario), AXES[x]
    today = axis.today(system)
    found = frontier(scenario, x, low=today * share, high=today * 1.3)
    for cell in found.cells:
        xs = [found.easiest + (found.hardest - found.easiest) * k / POINTS for k in range(POINTS + 1)]
        turns = [v.x for v in cell.vertices][:4]
        for value in xs + [v * (1 + s * 1e-5) for v in turns for s in (-1, 1)]:
            if found.covers(value):
                shown, true = _costs(found, system, cell, value)
                assert shown == pytest.approx(true, rel=2e-4), (cell.architecture, cell.tiered, value)
        assert cell.solves <= len(cell.vertices) + 2
        assert cell.proven_gap <= 1e-4


def test_a_cell_with_tiers_is_never_dearer_and_never_falls(scenario):
    found = frontier(scenario("chat"), "ttft", low=1100, high=1400)
    cells = {(c.architecture, c.tiered): c for c in found.cells}
    for architecture in ("colocated", "disaggregated"):
        plain, tiered = cells[architecture, False], cells[architecture, True]
        before = 0.0
        turns = [v.x for c in (plain, tiered) for v in c.vertices]
        for x in sorted({*found.grid, *turns, *(found.axis.beyond(t) for t in turns)}, reverse=True):
            one, two = plain.at(found.axis, x), tiered.at(found.axis, x)
            assert one is None or (two is not None and two.usd_per_hour <= one.usd_per_hour)
            cost = two.usd_per_hour if two is not None else math.inf
            assert cost >= before * (1 - tiered.proven_gap)
            before = cost


@pytest.mark.parametrize("seed", [2, 3, 21, 44])
def test_a_designs_price_is_what_the_model_finds(seed):
    scenario = small(seed)
    assert scenario is not None
    seen = 0
    for architecture in scenario.deployment.architectures:
        there = DesignsAt(System(scenario), architecture)
        own = solve_cell(there.system, architecture, True, SolveSettings()).proof.cost
        keys = [k for k in there.keys(min(own * 1.1, 1e9)) if sum(r != "unused" for r in k[3]) == 2]
        for key in keys[:: max(1, len(keys) // 4)][:4]:
            design, stream = there.design(key), there.stream(*key[:2])
            assert design is not None
            assert stream is not None
            price = there.price(key)
            model = there._programme(design, stream.pool, Priced(None, design.usd_floor), None)
            assert price.bound <= model.usd * (1 + CLOSED)
            if model.plan is not None:
                assert price.usd == pytest.approx(model.usd, rel=3 * CLOSED)
            seen += 1
    assert seen


@pytest.mark.parametrize(
    ("name", "x", "low", "high"),
    [("paper", "ttft", 400, 600), ("paper", "ttft", 800, 900), ("chat", "requests", 60, 80), ("chat", "tpot", 30, 50)],
)
def test_today_outside_the_range_is_solved_for(scenario, name, x, low, high):
    loaded = scenario(name)
    found = frontier(loaded, x, low=low, high=high)
    true = cheapest(System(loaded), SolveSettings(1e-6)).usd_per_hour
    assert found.today is not None
    assert found.today.plan.usd_per_hour == pytest.approx(true, rel=1e-4)
    assert f"Today {found.today.x:,.0f} {found.axis.unit}: ${found.today.plan.usd_per_hour:,.2f}/h" in to_table(found)


@pytest.mark.parametrize(
    ("name", "x", "low", "high"), [("paper", "ttft", 400, 700), ("chat", "tpot", 50, 60), ("chat", "gpus", 60, 80)]
)
def test_rows_lie_in_the_range_and_each_costs_more_than_the_easier(scenario, name, x, low, high):
    found = frontier(scenario(name), x, low=low, high=high)
    rows = [v for _, v in cheapest_vertices(found)]
    assert rows
    assert all(low <= v.x <= high for v in rows)
    assert all(low <= v.x <= high for c in found.cells for v in c.vertices)
    for a, b in pairwise(rows):
        assert found.axis.is_harder(b.x, a.x)
        assert b.usd_per_hour > a.usd_per_hour
    lines = to_table(found).split("Cheapest plan")[1].split("\n\n")[0].splitlines()[2:]
    labels = [line.split()[0] for line in lines if line[:12].strip()]
    assert len(labels) == len(set(labels))


def test_data_tells_the_curve_and_what_is_proven(scenario):
    found = frontier(scenario("paper"), "ttft", low=500, high=700)
    tiered = next(c for c in to_data(found)["cells"] if c["tiered"] and c["architecture"] == "disaggregated")
    assert tiered["proven_gap"] <= 1e-4
    curve = next(s for s in tiered["stretches"] if not s["flat"])
    assert curve["points"][0]["x"] == curve["from"]
    assert curve["points"][-1]["x"] == curve["to"]
    assert len(curve["points"]) > 2
    costs = [p["usd_per_hour"] for p in curve["points"]]
    assert costs == sorted(costs)
    assert "between" in to_csv(found)
    assert "proven within" in solves_line(found)


def test_an_interruption_keeps_what_was_found_and_says_so(scenario):
    polls = iter(range(10**9))
    found = frontier(scenario("chat"), "ttft", stop=lambda: next(polls) > 400)
    assert any(cell.interrupted for cell in found.cells)
    assert found.cells[0].vertices
    assert all(cell.impossible_from is None for cell in found.cells if cell.interrupted)
    assert found.today is None
    assert "partial" in solves_line(found)
    assert to_data(found)["cells"]
    assert to_table(found)


def test_a_range_upside_down_is_refused(invoke, path):
    done = invoke("frontier", path("paper"), "--from", 5000, "--no-report")
    assert done.code == 2
    assert "--to" in done.err


def test_more_load_never_costs_less_where_kv_must_cross_between_nodes():
    scenario = small(11)
    assert scenario is not None
    assert scenario.deployment.transfer.gb_per_s_per_node is not None
    system, axis = System(scenario), AXES["requests"]
    loads = [50.0 + 1.5 * k for k in range(20)]
    costs = [
        solve_cell(axis.at(system, load), "disaggregated", False, SolveSettings(1e-6)).proof.cost for load in loads
    ]
    assert costs == sorted(costs)
