"""The pictures that need more solves than a plan file holds; each study is loaded only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.errors import Diagnostic, InputError
from planner.report.html.parts import Chart
from planner.report.reread import StoredSet
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
    return [STUDIES[name](stored.scenario, progress, stop) for name in dict.fromkeys(names)]


def _frontier(scenario: Scenario, progress: Progress, stop: Stop) -> Chart:
    from planner.report.html.chart_frontier import frontier_chart
    from planner.study.frontier import frontier

    return frontier_chart(frontier(scenario, "ttft", progress=progress, stop=stop))


def _tornado(scenario: Scenario, progress: Progress, stop: Stop) -> Chart:
    from planner.report.html.chart_tornado import tornado_chart
    from planner.study.sensitivity import sensitivity

    return tornado_chart(sensitivity(scenario, progress=progress, stop=stop))


STUDIES: dict[str, Callable[[Scenario, Progress, Stop], Chart]] = {"frontier": _frontier, "tornado": _tornado}
