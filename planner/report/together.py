"""Whether tiers and disaggregation add up, in dollars a month and in plain words, for pages and documents.

Every amount is of the four cells rounded to whole dollars a month, so that what is said adds up with what is shown.
"""

from __future__ import annotations

import re

from planner.plan import LoadPoint, PlanSet, Verdict
from planner.report.format import ABSENT, percent, safe, usd
from planner.report.stopped import no_price
from planner.report.tabular import HOURS_PER_MONTH, Table

CELLS = (("colocated", False), ("disaggregated", False), ("colocated", True), ("disaggregated", True))
DECIDES = {
    "slack": "more time to fetch cached KV",
    "hits": "higher hit rates",
}


def months(found: PlanSet) -> dict[tuple[str, bool], float]:
    """Each cell that has a plan in whole dollars a month, by architecture and whether it has tiers."""
    return {
        (c.architecture, c.tiered): float(round(c.evaluation.usd_per_hour * HOURS_PER_MONTH))
        for c in found.cells if c.evaluation
    }  # fmt: skip


def amount(found: PlanSet) -> float | None:
    """What the two save together beyond what they save apart, dollars a month; None where a cell has no plan."""
    price = months(found)
    if any(cell not in price for cell in CELLS):
        return None
    plain, apart, tiered, both = (price[cell] for cell in CELLS)
    return (plain - both) - (plain - apart) - (plain - tiered)


def beyond(found: PlanSet) -> str:
    """The verdict in one sentence; empty where there is none."""
    verdict, extra = found.verdict, amount(found)
    if verdict is None:
        return ""
    if extra is None:
        return f"{_sentence(verdict.explanation)}"
    if abs(extra) < 1:
        return "together they save what they save apart."
    side = "more" if extra > 0 else "less"
    said = f"together they save {usd(abs(extra), 0)} a month {side} than the two savings added up"
    if verdict.word == "inconclusive":
        return f"{said}, but {_why_open(verdict)}: whether {_help(extra)} is not settled."
    return f"{said}: {_help(extra)}."


def _help(extra: float) -> str:
    return "each makes the other worth more" if extra > 0 else "in part both save the same GPUs"


def _why_open(verdict: Verdict) -> str:
    if "less than one instance" in verdict.explanation:
        return "one instance costs more than that"
    return "at 5 % more or less load that does not hold"


def sentences(found: PlanSet) -> list[str]:
    """What each saves alone, what the two save together, and what decides it."""
    verdict, price = found.verdict, months(found)
    if verdict is None:
        return []
    if amount(found) is None:
        return [beyond(found)]
    plain, apart, tiered, both = (price[cell] for cell in CELLS)
    savings = [plain - apart, plain - tiered, plain - both]
    if max(map(abs, savings)) < 1:
        return ["Neither disaggregation nor tiers save anything here, alone or together.", *_roles(verdict)]
    alone = f"disaggregation alone {_saves(savings[0])}, tiers alone {_saves(savings[1], 's')}"
    together = _saves(savings[2], "s")
    first = f"Against colocated without tiers ({usd(plain, 0)} a month), {alone}, both together {together} a month."
    second = beyond(found)
    more = " or ".join(DECIDES[kind] for kind in verdict.limited_by)
    third = [f"What decides: with {more}, another design would be cheaper."] if more else []
    return [first, second[:1].upper() + second[1:], *third, *_roles(verdict)]


def _saves(usd_per_month: float, without: str = "") -> str:
    """A saving in words, by month; ``without`` an ending where the subject is several.

    >>> _saves(12345.0), _saves(-5.0), _saves(0.0, "s")
    ('saves $12,345', 'costs $5 more', 'save nothing')
    """
    verb = "costs" if usd_per_month <= -1 else "saves"
    amount = "nothing" if abs(usd_per_month) < 1 else usd(abs(usd_per_month), 0)
    return f"{verb.removesuffix(without)} {amount}{' more' if verb == 'costs' else ''}"


def _roles(verdict: Verdict) -> list[str]:
    """The stored sentences that hold no money: which tiers change their role when pools are parted."""
    parts = re.split(r"(?<=\.) (?=\S)", safe(verdict.explanation, 2000))
    told = [part for part in parts if "/h" not in part and not part.endswith(": inconclusive.")]
    return [_sentence(part) for part in told]


def _sentence(text: str) -> str:
    said = safe(text, 600).strip().rstrip(".")
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def span(found: PlanSet) -> str:
    """The same amount near this load, in a sentence; empty where it is nothing everywhere."""
    firm = [extra for _, extra in _by_load(found) if extra is not None]
    if not firm or max(map(abs, firm)) < 0.5:
        return ""
    low, high = usd(min(firm), 0, signed=True), usd(max(firm), 0, signed=True)
    return f"At 95 to 105 % of this load: {low}{'' if low == high else f' to {high}'} a month."


def _by_load(found: PlanSet) -> list[tuple[LoadPoint, float | None]]:
    """The amount at each load in dollars a month; at the plan's own load the one that the shown cells give."""
    own = amount(found)
    return [
        (point, own if point.load_factor == 1 and not point.fractional and own is not None
         else None if (usd_per_hour := point.interaction_usd_per_hour) is None else usd_per_hour * HOURS_PER_MONTH)
        for point in (found.verdict.points if found.verdict else ())
    ]  # fmt: skip


def cells(found: PlanSet) -> Table | None:
    """The four cells in dollars a month."""
    price = months(found)
    if not price:
        return None
    rows, known = [], {(cell.architecture, cell.tiered): cell for cell in found.cells}
    for architecture in dict.fromkeys(cell.architecture for cell in found.cells):
        keys = [(architecture, tiered) for tiered in (False, True)]
        pair = [price.get(key) for key in keys]
        shown = [usd(price[key], 0) if key in price else no_price(known.get(key)) for key in keys]
        saved = percent(1.0 - pair[1] / pair[0], 1) if pair[0] and pair[1] is not None else ABSENT
        rows.append((architecture, *shown, saved))
    titles = ("", "without tiers", "with tiers", "tiers save")
    return Table("Cheapest design of each kind, per month", titles, tuple(rows), frozenset({1, 2, 3}))


def points(found: PlanSet) -> Table | None:
    """What is saved together beyond the two apart, at other loads; None where that is nothing everywhere."""
    if not span(found):
        return None
    rows = []
    for point, extra in _by_load(found):
        load = f"{percent(point.load_factor)}{', instances in fractions' if point.fractional else ''}"
        rows.append((load, ABSENT if extra is None else usd(extra, 0, signed=True)))
    titles = ("load", "per month")
    return Table("Saved together beyond what both save apart", titles, tuple(rows), frozenset({1}))
