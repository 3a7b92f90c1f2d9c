"""Whether combining tiers and disaggregation pays, as the page tells it."""

from __future__ import annotations

from planner.plan import PlanSet
from planner.report.combining import verdict_sentence
from planner.report.format import ABSENT, percent, usd
from planner.report.html.parts import table_html, text
from planner.report.tabular import Table, per_month


def combining(found: PlanSet) -> str:
    """The four cells and the verdict."""
    price = {(c.architecture, c.tiered): c.evaluation.usd_per_hour for c in found.cells if c.evaluation}
    if not price:
        return ""
    rows = []
    for architecture in dict.fromkeys(cell.architecture for cell in found.cells):
        pair = [price.get((architecture, tiered)) for tiered in (False, True)]
        saved = percent(1.0 - pair[1] / pair[0], 1) if pair[0] and pair[1] is not None else ABSENT
        rows.append((architecture, *("not possible" if p is None else per_month(p) for p in pair), saved))
    titles = ("", "HBM only", "with tiers", "tiers save")
    body = table_html(Table("Cheapest design of each kind, per month", titles, tuple(rows), frozenset({1, 2, 3})))
    reasons = dict.fromkeys(cell.why_not for cell in found.cells if cell.evaluation is None and cell.why_not)
    body += "".join(f"<p class=note>Not possible: {text(reason, 300)}</p>" for reason in reasons)
    said = "".join(f"<p>{text(line)}</p>" for line in verdict_sentence(found).split("\n") if line)
    return body + said + _points(found)


def _points(found: PlanSet) -> str:
    points = found.verdict.points if found.verdict else ()
    if not points:
        return ""
    rows = []
    for point in points:
        amount = point.interaction_usd_per_hour
        load = f"{percent(point.load_factor)}{', fractional instances' if point.fractional else ''}"
        rows.append((load, ABSENT if amount is None else f"{usd(amount, signed=True)}/h"))
    return table_html(Table("Interaction by load", ("load", "interaction"), tuple(rows), frozenset({1})))
