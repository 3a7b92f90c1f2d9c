"""Searches that were cut short: what was not reached is not called impossible, and no saving is computed on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.plan import Cell, PlanSet
from planner.report import combining, table, together
from planner.report.change import changes
from planner.report.headline import simplest, unreached
from planner.report.html import report_html
from planner.report.html.chart_cost import Bar, cost_chart, stack
from planner.report.html.parts import Chart
from planner.report.html.studies import reconciled
from planner.report.markdown import several, to_markdown
from planner.report.reread import StoredSet, stored_set
from planner.report.services import headings
from planner.report.side_by_side import overview, simplest_note
from planner.report.tabular import Table
from tests.report import sample
from tests.report_html import made

WHY = "stopped early (time limit)"


def cut_short(gap: float = 0.307) -> PlanSet:
    """A plan with an open gap, from a search that never came to colocated without tiers."""
    found = sample.plan_set()
    cells = tuple(
        Cell(c.architecture, c.tiered, None, None, WHY) if (c.architecture, c.tiered) == ("colocated", False) else c
        for c in found.cells
    )
    return replace(
        found, status="feasible", cells=cells, verdict=None, warnings=(f"{WHY}: plans may be improved on",),
        certificate=sample.certificate(found.plans[0].evaluation.usd_per_hour, gap),
    )  # fmt: skip


def test_the_gap_is_how_much_cheaper_a_design_could_be() -> None:
    proof = replace(sample.certificate(517.16), usd_per_hour_lower_bound=358.40, relative_gap=1 - 358.40 / 517.16)
    assert table.certificate_line(proof).startswith("not proven optimal: a design up to 30.70 % cheaper may exist (")
    asked = replace(proof, relative_gap=0.01, target_gap=0.01)
    assert table.certificate_line(asked).startswith("proven: no design is more than 1.00 % cheaper, as asked for (")


def test_what_was_not_reached_is_not_called_impossible() -> None:
    found = cut_short()
    stored = StoredSet(found, None, "")
    assert simplest(found) is None
    assert unreached(found) == f"colocated without tiers was not reached: {WHY}"
    terminal = table.to_table(found)
    page, text = made.page_of_set(found), to_markdown(found)
    for shown in (terminal, page, text, several([stored, stored])):
        assert "not possible" not in shown
        assert "impossible" not in shown
    assert "not reached" in "\n".join(combining.cells(found))
    priced = together.cells(found)
    assert priced is not None
    assert priced.rows[0][1] == "not reached"
    assert f"Not reached: {WHY}" in page
    assert "<strong>not known</strong>" in page
    assert unreached(found) in text
    assert "% below" not in text


def test_what_is_impossible_is_still_called_so() -> None:
    cells = (Cell("colocated", False, None, None, "TTFT 612 ms against 350 ms"), *sample.plan_set().cells[1:])
    found = sample.plan_set(cells=cells)
    base = simplest(found)
    assert base is not None
    assert base.name == "disaggregated without tiers"
    assert unreached(found) == ""
    assert "not possible" in "\n".join(combining.cells(found))
    assert "*: that is impossible there" in simplest_note([StoredSet(found, None, "")])


def test_side_by_side_says_what_stopped_early() -> None:
    files = [made.named(StoredSet(found, None, ""), name)
             for found, name in ((cut_short(), "cut"), (sample.plan_set(), "done"))]  # fmt: skip
    shown = overview(files)
    proof, saves = shown.titles.index("proof"), shown.titles.index("saves against the simplest")
    assert [row[proof] for row in shown.rows[:2]] == [f"{WHY}: a design up to 30.70 % cheaper may exist", "optimal"]
    assert shown.rows[0][saves] == "not known"
    assert shown.rows[1][saves].endswith(" %")
    assert shown.rows[2][saves] == "–"  # no sum of savings, one of which is not known
    assert f"Not proven: cut {WHY}" in headings(files)[1]
    assert "not known: the search stopped early" in simplest_note(files)


def test_a_saving_against_a_cost_that_is_not_proven_is_an_upper_limit() -> None:
    found = sample.plan_set()
    base = found.cells[0]
    assert base.evaluation is not None
    poor = replace(base, certificate=sample.certificate(base.evaluation.usd_per_hour, 0.2))
    found = replace(found, cells=(poor, *found.cells[1:]))
    assert "colocated without tiers ($156.80/h, not proven)" in table.saving(found)
    shown = overview([StoredSet(found, None, "")])
    assert shown.rows[0][shown.titles.index("saves against the simplest")].startswith("at most ")


@pytest.mark.parametrize("less", [0.0, 9.0])
def test_a_proof_that_came_since_takes_the_place_of_an_open_gap(less: float) -> None:
    stored = StoredSet(cut_short(), None, "")
    mine = stored.plan_set.plans[0].evaluation.usd_per_hour
    drawn = Chart("frontier", "Cost against TTFT", "Today's plan keeps its promises down to 9 ms.", (), {}, 9, (),
                  Table("c", ("x",), ()), proven_usd_per_hour=mine - less)  # fmt: skip
    chart = reconciled(drawn, mine - less, stored)
    page = report_html(stored, [chart])
    assert "cheaper may exist" not in page
    if less:
        assert chart.says.startswith("The cheapest plan at today's promises keeps")
        assert f"this page's plan costs ${mine * 730:,.0f}" in chart.notes[0]
        assert f"${less * 730:,.0f} less than this one" in page
    else:
        assert chart is drawn
        assert "The study below found nothing cheaper at today" in page
    said = dict(changes(stored))
    assert said["Not proven:"] == "a design up to 30.70 % cheaper may exist."


def test_a_loss_is_told_as_a_cost_and_nothing_as_nothing() -> None:
    found = stored_set(made.plan_data("steady")).plan_set
    assert found.verdict is not None
    assert "\N{MINUS SIGN}$" not in found.verdict.explanation
    assert "$0.00" not in found.verdict.explanation
    assert "/h more than colocated without tiers" in found.verdict.explanation


def test_an_item_has_one_colour_on_every_page() -> None:
    found = sample.plan_set()
    one = cost_chart(found)
    few = stack("cost", "t", "s", [Bar("b", "b", sample.colocated(6, 1400.0))])
    colours = {series.name: series.colour for series in one.legend}
    assert {series.name: series.colour for series in few.legend}.items() <= colours.items()
    assert len(set(colours.values())) == len(colours)
