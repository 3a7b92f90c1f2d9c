"""Whether combining tiers and disaggregation pays, as the page tells it."""

from __future__ import annotations

from planner.plan import PlanSet
from planner.report.html.parts import prose, table_html, text
from planner.report.stopped import no_price
from planner.report.together import cells, points, sentences


def combining(found: PlanSet) -> str:
    """The four cells and the verdict."""
    priced, near = cells(found), points(found)
    if priced is None:
        return ""
    empty = [cell for cell in found.cells if cell.evaluation is None and cell.why_not]
    reasons = dict.fromkeys(f"{no_price(cell).capitalize()}: {cell.why_not}" for cell in empty)
    impossible = "".join(f"<p class=note>{text(reason, 300)}</p>" for reason in reasons)
    said = "".join(f"<p>{prose(line)}</p>" for line in sentences(found))
    return table_html(priced) + impossible + said + (table_html(near) if near else "")
