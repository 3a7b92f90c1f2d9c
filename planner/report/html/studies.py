"""The pictures that need more solves than a plan file holds; each study is loaded only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from planner.errors import Diagnostic, InputError
from planner.report.html.parts import Chart
from planner.report.reread import StoredSet
from planner.report.tabular import per_month
from planner.report.whole import SAME
from planner.scenario import Scenario

Progress = Callable[[str], None] | None
Stop = Callable[[], bool] | None


def study_charts(stored: StoredSet, names: Sequence[str], progress: Progress = None, stop: Stop = None) -> list[Chart]:
    """One chart per study, in the order asked for.

    Raises:
        InputError: The plan file does not carry its scenario's values.
    """
    if stored.scenario is None:
        raise InputError(Diagnostic("no-scenario", "the plan file does not carry its scenario's values"))
    return [STUDIES[name](stored, stored.scenario, progress, stop) for name in dict.fromkeys(names)]


def _frontier(stored: StoredSet, scenario: Scenario, progress: Progress, stop: Stop) -> Chart:
    from planner.report.html.chart_frontier import frontier_chart
    from planner.study.frontier import frontier

    found = frontier(scenario, "ttft", progress=progress, stop=stop)
    if found.today is None:
        return frontier_chart(found)
    cost = found.today.plan.usd_per_hour
    complete = not any(cell.interrupted for cell in found.cells)
    return reconciled(replace(frontier_chart(found), proven_usd_per_hour=cost if complete else None), cost, stored)


def _tornado(stored: StoredSet, scenario: Scenario, progress: Progress, stop: Stop) -> Chart:
    from planner.report.html.chart_tornado import tornado_chart
    from planner.study.sensitivity import sensitivity

    found = sensitivity(scenario, progress=progress, stop=stop)
    return reconciled(tornado_chart(found), found.plan.usd_per_hour, stored)


def reconciled(chart: Chart, usd_per_hour: float, stored: StoredSet) -> Chart:
    """The chart, told apart from the page where the study starts from another plan: one cut short is not today's."""
    page = stored.plan_set.plans[0].evaluation.usd_per_hour
    if abs(usd_per_hour - page) <= SAME * page:
        return chart
    note = (
        f"Solved again, the cheapest plan at today's promises costs {per_month(usd_per_hour)} a month; this page's "
        f"plan costs {per_month(page)}."
    )
    says = chart.says.replace("Today's plan", "The cheapest plan at today's promises")
    return replace(chart, says=says, notes=(note, *chart.notes))


Study = Callable[[StoredSet, Scenario, Progress, Stop], Chart]
STUDIES: dict[str, Study] = {
    "frontier": _frontier,
    "tornado": _tornado,
}
