"""Several plan files side by side: what each buys, what it costs, and which inputs differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from planner.report.format import ABSENT, joined, ms, percent, quantity, safe, usd_per_mtok
from planner.report.html.answer import headline, simplest
from planner.report.html.assumptions import leaves, value_text
from planner.report.html.budget import per_month, per_year
from planner.report.html.chart_cost import Bar, short_design, stack
from planner.report.html.page import page
from planner.report.html.parts import Chart, Table, chart_html, table_html, text
from planner.report.reread import StoredSet, read_plan_set
from planner.scenario.yamltree import dotted

IDENTITY = ("name", "description")


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
    return StoredSet(solve_scenario(scenario, progress=progress, stop=stop), scenario, scenario.text)


def compare_html(files: Sequence[StoredSet]) -> str:
    """The page; the first file is what the others are compared with."""
    names = distinct([stored.plan_set.scenario_name for stored in files])
    charts = _charts(files, names)
    sections = [
        ("answer", "Answer", _answer(files, names)),
        ("costs", "Cost", f"<h2>Cost</h2>{''.join(map(chart_html, charts))}" if charts else ""),
        ("inputs", "Inputs", f"<h2>Inputs that differ</h2>{_inputs(files, names)}"),
    ]
    title = f"{len(files)} plans side by side"
    versions = dict.fromkeys(f"planner {safe(stored.plan_set.planner_version, 20)}" for stored in files)
    pairs = zip(names, files, strict=True)
    foot = joined([*versions, *(f"{safe(n, 60)} SHA-256 {safe(s.plan_set.scenario_sha256, 64)}" for n, s in pairs)])
    return page(title, "comparison", [s for s in sections if s[2]], charts, foot)


def distinct(names: Sequence[str]) -> list[str]:
    """Names told apart by a number where they repeat.

    >>> distinct(["chat", "rag", "chat"])
    ['chat', 'rag', 'chat (2)']
    """
    return [name if name not in names[:n] else f"{name} ({names[: n + 1].count(name)})" for n, name in enumerate(names)]


def _answer(files: Sequence[StoredSet], names: Sequence[str]) -> str:
    rows = tuple(_row(stored, name, files[0]) for stored, name in zip(files, names, strict=True))
    titles = ("", "what to buy", "per month", "per year", "against the first", "$/Mtok",
              "against colocated without tiers", "slowest first token", "hit rate", "proof")  # fmt: skip
    total = [s.plan_set.plans[0].evaluation.usd_per_hour for s in files if s.plan_set.plans]
    lead = f"Together {per_month(sum(total))} a month, {per_year(sum(total))} a year." if total else ""
    table = Table("First plan of each file", titles, rows, frozenset({2, 3, 4, 5, 6, 7, 8}))
    return f"<h1>{len(files)} plans side by side</h1>\n<p class=lead>{text(lead)}</p>\n{table_html(table)}"


def _row(stored: StoredSet, name: str, first: StoredSet) -> tuple[str, ...]:
    found = stored.plan_set
    if not found.plans:
        return (safe(name, 60), f"nothing: {safe('; '.join(found.reasons), 200)}", *[ABSENT] * 8)
    best, base = found.plans[0].evaluation, simplest(found)
    against = ABSENT
    if first.plan_set.plans and stored is not first:
        cost = first.plan_set.plans[0].evaluation.usd_per_hour or 1.0
        against = percent(best.usd_per_hour / cost - 1, 1, signed=True)
    saved = ABSENT
    if base and base.evaluation:
        saved = percent(best.usd_per_hour / (base.evaluation.usd_per_hour or 1.0) - 1, 1, signed=True)
    worst = max((path.total_s for path in best.paths if path.in_use), default=None)
    limit = f" of {quantity(stored.scenario.slo.ttft_ms)} ms" if stored.scenario else ""
    proof = found.certificate
    return (
        safe(name, 60),
        headline(stored),
        per_month(best.usd_per_hour),
        per_year(best.usd_per_hour),
        against,
        usd_per_mtok(best.usd_per_million_tokens),
        saved,
        ABSENT if worst is None else f"{ms(worst)}{limit}",
        percent(best.effective_hit_rate, 1),
        "none" if proof is None else "optimal" if proof.proven else f"within {percent(proof.relative_gap, 2)}",
    )


def _charts(files: Sequence[StoredSet], names: Sequence[str]) -> list[Chart]:
    bars = [
        Bar(safe(name, 60), f"{safe(name, 40)} · {short_design(stored.plan_set.plans[0].evaluation)}",
            stored.plan_set.plans[0].evaluation)
        for stored, name in zip(files, names, strict=True)
        if stored.plan_set.plans
    ]  # fmt: skip
    if not bars:
        return []
    low = min(bars, key=lambda bar: bar.found.usd_per_hour)
    high = max(bars, key=lambda bar: bar.found.usd_per_hour)
    prices = [f"{per_month(bar.found.usd_per_hour)} ({bar.name})" for bar in (low, high)]
    says = f"From {' to '.join(prices)} a month."
    return [stack("cost", "Cost of the first plan of each file", says, bars)]


def _inputs(files: Sequence[StoredSet], names: Sequence[str]) -> str:
    """Keys whose values are not the same in all files."""
    known = [stored.scenario for stored in files]
    if any(scenario is None for scenario in known):
        return "<p>Not every file carries its scenario's values.</p>"
    tables = [{dotted(p): value_text(v) for p, v in leaves(scenario, ())} for scenario in known]
    keys = dict.fromkeys(key for table in tables for key in table if key not in IDENTITY)
    rows = tuple(
        (key, *(table.get(key, ABSENT) for table in tables))
        for key in keys
        if len({table.get(key) for table in tables}) > 1
    )
    if not rows:
        return "<p>All inputs are the same.</p>"
    return table_html(Table(f"{len(rows)} inputs differ", ("key", *names), rows, code=frozenset({0})))
