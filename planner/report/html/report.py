"""Puts the report together: sections in the reader's order, each with its pictures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Evaluation
from planner.report.format import joined, safe
from planner.report.headline import headline
from planner.report.html import details
from planner.report.html.answer import answer
from planner.report.html.assumptions import assumptions
from planner.report.html.chart_cost import cost_chart
from planner.report.html.chart_hits import hits_chart
from planner.report.html.chart_ttft import ttft_chart
from planner.report.html.page import page
from planner.report.html.parts import Chart, Picture, chart_html, picture_html, table_html
from planner.report.reread import StoredSet
from planner.report.tabular import pools, ranked, tiers


def report_html(stored: StoredSet, studies: Sequence[Chart] = (), pictures: Sequence[Picture] = ()) -> str:
    """The whole page of one plan file.

    ``studies`` are charts that needed more solves than the plan file holds, ``pictures`` what a trace gave.
    """
    found = stored.plan_set
    charts: list[Chart] = []
    studied = [(f"{study.title}:", study.says) for study in studies]
    proven = next((s.proven_usd_per_hour for s in studies if s.proven_usd_per_hour is not None), None)
    sections = [("answer", "Answer", answer(stored, studied, proven))]
    if found.plans:
        best = found.plans[0].evaluation
        charts += [cost_chart(found), *_physics_charts(stored, best), *studies]
        drawn = {chart.id: chart_html(chart) for chart in charts}
        sections += [
            ("costs", "Cost", f"<h2>Cost</h2>{drawn.pop('cost')}{table_html(ranked(found.plans))}"),
            ("first-token", "First token", _first_token(drawn.pop("ttft", ""), best)),
            ("cache", "Cache", f"<h2>Cache</h2>{drawn.pop('hits', '')}{table_html(tiers(best))}"),
            *(("what-if", "What if", f"<h2>What if</h2>{''.join(drawn.values())}") for _ in (1,) if drawn),
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


def _first_token(chart: str, best: Evaluation) -> str:
    return f"<h2>Time to first token</h2>{chart}{table_html(pools(best))}"


def _physics_charts(stored: StoredSet, best: Evaluation) -> list[Chart]:
    percentile = stored.scenario.slo.percentile if stored.scenario else None
    ttft = ttft_chart(best, percentile)
    charts = [ttft] if ttft else []
    if stored.system is not None:
        charts.append(hits_chart(stored.system, best))
    return charts
