"""Several plan files side by side as one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from planner.report.format import joined, safe
from planner.report.html.chart_cost import Bar, stack
from planner.report.html.page import page
from planner.report.html.parts import Chart, chart_html, details, prose, table_html, text
from planner.report.reread import StoredSet, read_plan_set
from planner.report.services import best, headings, names_of
from planner.report.side_by_side import inputs, overview, proofs, simplest_note
from planner.report.tabular import per_month, short_design


def compare_files(
    paths: Sequence[Path], progress: Callable[[str], None] | None = None, stop: Callable[[], bool] | None = None
) -> str:
    """The page of several files; plan files (``.json``) are read, scenarios are solved.

    Raises:
        InputError: A file is neither.
    """
    return compare_html([_stored(path, progress, stop) for path in paths])


def _stored(path: Path, progress: Callable[[str], None] | None, stop: Callable[[], bool] | None) -> StoredSet:
    if path.suffix.lower() == ".json":
        return read_plan_set(path)
    from planner.optimize import solve_scenario
    from planner.scenario import load

    scenario = load(path)
    return StoredSet(solve_scenario(scenario, progress=progress, stop=stop), scenario, scenario.text, str(path))


def compare_html(files: Sequence[StoredSet]) -> str:
    """The page; the first file is what the others are compared with."""
    charts = _charts(files)
    head, lead = headings(files)
    answer = (
        f"<h1>{prose(head)}</h1>\n<p class=lead>{prose(lead)}</p>\n{table_html(overview(files))}"
        f"<p class=note>{text(simplest_note(files))}</p>"
    )
    sections = [
        ("answer", "Answer", answer),
        ("costs", "Cost", f"<h2>Cost</h2>{''.join(map(chart_html, charts))}" if charts else ""),
        ("inputs", "Inputs", f"<h2>Inputs that differ</h2>{_inputs(files)}"),
        ("proof", "Proof", f"<h2>Proof</h2>{table_html(proofs(files))}"),
    ]
    versions = dict.fromkeys(f"planner {safe(stored.plan_set.planner_version, 20)}" for stored in files)
    return page(head, f"{len(files)} plans side by side", [s for s in sections if s[2]], charts, joined(versions))


def _charts(files: Sequence[StoredSet]) -> list[Chart]:
    bars = [
        Bar(name, f"{name} · {short_design(plan)}", plan)
        for name, stored in zip(names_of(files), files, strict=True)
        if (plan := best(stored))
    ]
    if not bars:
        return []
    low = min(bars, key=lambda bar: bar.found.usd_per_hour)
    high = max(bars, key=lambda bar: bar.found.usd_per_hour)
    prices = [f"{per_month(bar.found.usd_per_hour)} ({bar.name})" for bar in (low, high)]
    spread = high.found.usd_per_hour - low.found.usd_per_hour > 5e-4 * high.found.usd_per_hour
    says = f"From {' to '.join(prices)} a month." if spread else f"{per_month(low.found.usd_per_hour)} a month."
    return [stack("cost", "Cost of the first plan of each file", says, bars)]


def _inputs(files: Sequence[StoredSet]) -> str:
    found = inputs(files)
    if found is None:
        return "<p>Not every file carries its scenario's values.</p>"
    first, rest = found
    if not first.rows and not rest.rows:
        return "<p>All inputs are the same.</p>"
    shown = table_html(first) if first.rows else ""
    return shown + (details(rest.caption, table_html(rest)) if rest.rows else "")
