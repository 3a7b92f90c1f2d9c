"""A frontier that was stopped says so in every format; nothing is impossible or cheapest that it has not seen."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

import pytest

from planner.cells import SolveSettings, solve_cell
from planner.physics.system import System
from planner.report.html.chart_frontier import frontier_chart
from planner.report.study_frontier import MARKS, main_marks, to_table
from planner.report.study_frontier_data import to_csv, to_data
from planner.report.study_frontier_markdown import to_markdown
from planner.scenario import replace
from planner.study.frontier import frontier


def _stopped_in(scenario, cell, after, **options):
    """Stopped when ``cell`` has been looked at at ``after`` values."""
    seen = []
    return frontier(
        scenario,
        progress=lambda text: seen.append(text) if text.startswith(f"{cell}:") else None,
        stop=lambda: len(seen) > after,
        **options,
    )


@pytest.fixture(scope="module")
def partial(scenario):
    return _stopped_in(scenario("chat"), "colocated, with tiers", 150, low=1100, high=1800)


def _cell(found, architecture, tiered):
    return next(c for c in found.cells if (c.architecture, c.tiered) == (architecture, tiered))


def test_what_was_reached_is_as_exact_as_ever(scenario, partial):
    cell = _cell(partial, "colocated", True)
    assert cell.interrupted
    far = cell.hardest_reached
    assert 1100 < far < 1700
    system = System(scenario("chat"))
    for share in (0.0, 0.31, 0.64, 1.0):
        x = partial.easiest + (far - partial.easiest) * share
        true = solve_cell(partial.axis.at(system, x), "colocated", True, SolveSettings(1e-6)).proof.cost
        assert cell.at(partial.axis, x).usd_per_hour == pytest.approx(true, rel=1e-4)


def test_a_cell_with_tiers_is_not_filled_with_the_one_without(partial):
    plain, tiered = _cell(partial, "colocated", False), _cell(partial, "colocated", True)
    beyond = tiered.hardest_reached - 50
    assert plain.at(partial.axis, beyond) is not None
    assert tiered.at(partial.axis, beyond) is None
    assert not tiered.reached(partial.axis, beyond)


def test_no_plan_is_called_the_cheapest_where_a_cell_is_missing(partial):
    assert partial.best_at(1700) is None
    assert not [m for m in partial.marks if m.kind == "disaggregation"]
    assert not to_data(partial)["cheapest"]
    for text in (to_table(partial), to_markdown(partial)):
        assert "Not complete: stopped early (interrupted)" in " ".join(text.split())
        assert "not reached" in text
        assert "Cheapest plan" not in text
        assert "cheapest:" not in text


def test_where_every_cell_was_reached_the_cheapest_is_told_and_labelled(scenario):
    found = _stopped_in(scenario("chat"), "disaggregated, with tiers", 40, low=900, high=1800)
    far = _cell(found, "disaggregated", True).hardest_reached
    assert far is not None
    data = to_data(found)
    assert data["cheapest"]
    assert min(row["x"] for row in data["cheapest"]) == pytest.approx(far)
    assert "easiest first, as far as every cell was looked at" in " ".join(to_table(found).split())
    assert found.best_at(far - 1) is None


def test_data_and_csv_say_what_is_missing(partial):
    data = to_data(partial)
    assert data["interrupted"] is True
    assert "interrupted" in data["cause"]
    cells = {(c["architecture"], c["tiered"]): c for c in data["cells"]}
    assert cells["disaggregated", True]["proven_gap"] is None
    assert cells["disaggregated", True]["reached"] is None
    assert cells["colocated", True]["reached"] == _cell(partial, "colocated", True).hardest_reached
    rows = list(csv.DictReader(io.StringIO(to_csv(partial))))
    missing = {row["cell"] for row in rows if row["kind"] == "not reached"}
    assert missing == {"colocated.tiered", "disaggregated.hbm_only", "disaggregated.tiered"}
    assert {row["status"] for row in rows if row["cell"] == "colocated.hbm_only"} == {"complete"}
    assert all(row["status"].startswith("stopped early") for row in rows if row["cell"] in missing)


def test_the_chart_says_so(partial):
    chart = frontier_chart(partial)
    assert "not complete" in chart.title
    assert "disaggregated with tiers not at all" in chart.says
    line = next(t for t in chart.traces if t["name"] == "colocated with tiers")
    assert min(line["x"]) >= _cell(partial, "colocated", True).hardest_reached * (1 - 1e-5)


def test_exit_codes_are_those_of_a_solve(invoke, path):
    some = invoke("frontier", path("cloud"), "--x", "requests", "--time-limit", 1, "--no-report", "-f", "json")
    assert some.data["interrupted"] is True
    assert some.code == (0 if any(c["vertices"] for c in some.data["cells"]) else 3)
    none = invoke("frontier", path("chat"), "--time-limit", 0.001, "--no-report")
    assert none.code == 3
    assert "impossible" not in none.out
    whole = invoke("frontier", path("rag"), "--from", 1800, "--to", 2000, "--no-report", "-f", "json")
    assert (whole.code, whole.data["interrupted"], whole.data["cause"]) == (0, False, "")


def test_markdown_has_what_the_table_has(invoke, path):
    done = invoke("frontier", path("rag"), "--from", 1800, "--to", 2200, "--no-report", "-f", "md")
    assert done.code == 0
    assert done.out.startswith("# rag")
    for heading in ("## Cheapest plan by TTFT", "## Four cells, $/h", "## Turns"):
        assert heading in done.out
    assert "| --: |" in done.out


def test_stretches_of_the_data_leave_no_gap_and_the_cost_never_falls(scenario):
    found = frontier(scenario("chat"), "ttft", low=1150, high=1500)
    for cell in to_data(found)["cells"]:
        for a, b in pairwise(cell["stretches"]):
            assert a["to"] == b["from"] == b["points"][0]["x"]
        costs = [p["usd_per_hour"] for s in cell["stretches"] for p in s["points"]]
        assert costs == sorted(costs)


def test_the_limit_that_makes_a_value_impossible_is_named(scenario):
    found = frontier(replace(scenario("chat"), {"deployment.max_gpus": 128}), "requests", low=30, high=120)
    texts = [m.text for m in found.marks if m.kind == "impossible"]
    assert len(texts) == 4
    assert all(text.endswith("needs more than deployment.max_gpus 128") for text in texts)


def test_few_turns_are_shown_and_the_rest_counted(scenario):
    found = frontier(scenario("cloud"), "requests", low=16, high=28)
    shown = main_marks(found)
    assert len(found.marks) > MARKS
    assert len(shown) == MARKS
    assert f"and {len(found.marks) - MARKS} more changes of a tier's role: --format json" in to_table(found)


def test_gpus_of_today_are_told(scenario):
    found = frontier(scenario("chat"), "gpus", low=60, high=600)
    assert f"Today {found.today.reach:g} GPUs, at most 512 (deployment.max_gpus)" in to_table(found)
