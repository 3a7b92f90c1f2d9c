"""Puts the report together: sections in the reader's order, each with its pictures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Evaluation
from planner.report.format import joined, safe
from planner.report.html import details
from planner.report.html.answer import answer, headline
from planner.report.html.assumptions import assumptions
from planner.report.html.change import changes
from planner.report.html.chart_cost import cost_chart
from planner.report.html.chart_hits import hits_chart
from planner.report.html.chart_ttft import ttft_chart
from planner.report.html.page import page
from planner.report.html.parts import Chart, Picture, bullets, chart_html, picture_html, table_html
from planner.report.reread import StoredSet


def report_html(stored: StoredSet, studies: Sequence[Chart] = (), pictures: Sequence[Picture] = ()) -> str:
    """The whole page of one plan file.

    ``studies`` are charts that needed more solves than the plan file holds, ``pictures`` what a trace gave.
    """
    found = stored.plan_set
    charts: list[Chart] = []
    sections = [("answer", "Answer", answer(stored)), ("change", "", _changes(stored, studies))]
    if found.plans:
        best = found.plans[0].evaluation
        charts += [cost_chart(found), *_physics_charts(stored, best), *studies]
        drawn = {chart.id: chart_html(chart) for chart in charts}
        sections += [
            ("costs", "Cost", f"<h2>Cost</h2>{drawn.pop('cost')}{table_html(details.ranked(found.plans))}"),
            ("first-token", "First token", f"<h2>Time to first token</h2>{drawn.pop('ttft', '')}{_pools(best)}"),
            ("cache", "Cache", f"<h2>Cache</h2>{drawn.pop('hits', '')}{table_html(details.tiers(best))}"),
            *(("study", "Study", f"<h2>What if</h2>{''.join(drawn.values())}") for _ in (1,) if drawn),
        ]
    if pictures:
        sections.append(("trace", "Trace", f"<h2>Trace</h2>{''.join(map(picture_html, pictures))}"))
    together = details.combining(found)
    if together:
        heading = "<h2>Do tiers and disaggregation add up?</h2>"
        sections.append(("together", "Combining", heading + together))
    sections.append(("assumptions", "Assumptions", f"<h2>Assumptions</h2>{assumptions(stored)}"))
    name = safe(found.scenario_name, 60)
    foot = joined([f"planner {safe(found.planner_version, 20)}", safe(found.scenario_file, 120),
                   f"SHA-256 {safe(found.scenario_sha256, 64)}"])  # fmt: skip
    return page(f"{name}: {headline(stored)}", name, sections, charts, foot)


def _changes(stored: StoredSet, studies: Sequence[Chart]) -> str:
    found = [*changes(stored), *((f"{study.title}:", study.says) for study in studies)]
    return f"<h2>What could change the answer</h2>{bullets(found)}" if found else ""


def _pools(best: Evaluation) -> str:
    return table_html(details.pools(best))


def _physics_charts(stored: StoredSet, best: Evaluation) -> list[Chart]:
    percentile = stored.scenario.slo.percentile if stored.scenario else None
    ttft = ttft_chart(best, percentile)
    charts = [ttft] if ttft else []
    if stored.scenario is not None:
        from planner.physics.system import System

        charts.append(hits_chart(System(stored.scenario), best))
    return charts
