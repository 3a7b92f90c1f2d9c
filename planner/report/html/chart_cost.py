"""The bill as stacked bars: ranked plans, the four cells, or the plans of several services, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.plan import CostLine, Evaluation, PlanSet
from planner.report.format import joined, number, quantity, safe, unit_price, usd
from planner.report.html.parts import Chart, Series, plot_text
from planner.report.purchase import short_usd
from planner.report.tabular import HOURS_PER_MONTH, Table, per_month, short_design

ROW_PX, AXIS_PX, GAP = 46, 52, 0.7
DRAWN = 12  # ranked plans; the table beneath has all
COLOURS = {"prefill GPUs": "s1", "decode GPUs": "s2", "GPUs": "s3", "dram": "s4", "nvme": "s5"}
LEFT = ("s6", "s7", "s8")


@dataclass(frozen=True)
class Bar:
    """One stacked bar."""

    name: str  # short, for the table
    label: str  # above the bar
    found: Evaluation
    group: str = ""


def cost_chart(plan_set: PlanSet) -> Chart:
    """Ranked plans and cells, whose first entry is the answer."""
    bars = [
        Bar(f"plan {plan.rank}", f"plan {plan.rank} · {short_design(plan.evaluation)}", plan.evaluation, "Ranked plans")
        for plan in plan_set.plans[:DRAWN]
    ]
    for cell in plan_set.cells:
        if cell.evaluation:
            name = f"{cell.architecture}, {'with' if cell.tiered else 'without'} tiers"
            design = short_design(cell.evaluation).split(" · ", 1)[-1]
            bars.append(Bar(name, joined([name, design]), cell.evaluation, "Cheapest of each kind"))
    return stack("cost", _title(plan_set), _says(plan_set), bars)


def _title(plan_set: PlanSet) -> str:
    more = len(plan_set.plans) - DRAWN
    which = f"the first {DRAWN} of {len(plan_set.plans)} ranked plans" if more > 0 else "the ranked plans"
    return f"Cost of {which} and of the four kinds of design"


def _says(plan_set: PlanSet) -> str:
    best = plan_set.plans[0].evaluation
    text = f"The first plan costs {per_month(best.usd_per_hour)} a month"
    others = [p.evaluation.usd_per_hour for p in plan_set.plans[1:]]
    if others:
        more = "1 more plan costs" if len(others) == 1 else f"{len(others)} more plans cost"
        text += f"; {more} up to {per_month(max(others))}"
    cells = [c.evaluation.usd_per_hour for c in plan_set.cells if c.evaluation]
    return text + (f"; the dearest of the four kinds {per_month(max(cells))}." if cells else ".")


def stack(name: str, title: str, says: str, bars: Sequence[Bar]) -> Chart:
    """Stacked bars, the label of each above it, so that narrow screens have room for the bars."""
    items = list(dict.fromkeys(line.item for bar in bars for line in _bill(bar.found) if line.usd_per_hour > 0))
    ordered = sorted(items, key=lambda item: all(_is_not_gpu(bar.found, item) for bar in bars))
    colours = colours_of(ordered)
    places = _places(bars)
    rows = -min(places, default=0.0) + 1.0
    return Chart(
        id=name,
        title=title,
        says=says,
        traces=tuple(_trace(item, colours[item], bars, places) for item in ordered),
        layout={
            "barmode": "stack",
            "xaxis": {"title": {"text": "dollars per month"}, "tickprefix": "$", "tickformat": "~s"},
            "yaxis": {"visible": False, "range": [-rows + 0.35, 0.95], "fixedrange": True},
            "annotations": [*_labels(bars, places)],
            "margin": {"l": 6, "r": 14, "t": 4, "b": AXIS_PX},
        },
        height=round(ROW_PX * (rows + 0.6)) + AXIS_PX,
        rows=rows + 0.6,
        legend=tuple(Series(safe(item, 60), colours[item]) for item in ordered),
        table=_table(title, bars, ordered),
    )


def colours_of(items: Sequence[str]) -> dict[str, str]:
    """A colour for each item: the usual ones have the same on every page, others what is left in turn.

    >>> colours_of(["GPUs", "dram", "shelf"])
    {'GPUs': 's3', 'dram': 's4', 'shelf': 's6'}
    """
    others = [item for item in items if item not in COLOURS]
    return {item: COLOURS.get(item) or LEFT[others.index(item) % len(LEFT)] for item in items}


def _is_not_gpu(found: Evaluation, item: str) -> bool:
    return all(line.unit != "GPU" for line in found.costs if line.item == item)


def _bill(found: Evaluation) -> tuple[CostLine, ...]:
    """The lines of a bill; a design that is only known by its total has one line."""
    total = found.usd_per_hour
    return found.costs or (CostLine("not itemised", 1.0, "design", total, total, ""),)


def _places(bars: Sequence[Bar]) -> list[float]:
    """The bars' ordinates from the top; a new group starts after a gap."""
    places: list[float] = []
    for n, bar in enumerate(bars):
        gap = GAP if n and bar.group != bars[n - 1].group else 0.0
        places.append(places[-1] - 1.0 - gap if places else -(GAP if bar.group else 0.0))
    return places


def _trace(item: str, colour: str, bars: Sequence[Bar], places: Sequence[float]) -> dict[str, object]:
    amounts = [_amount(bar.found, item) for bar in bars]
    return {
        "type": "bar",
        "orientation": "h",
        "name": plot_text(item),
        "x": [amount * HOURS_PER_MONTH for amount in amounts],
        "y": list(places),
        "width": 0.46,
        "hoverinfo": "text",
        "hovertext": [_hover(bar, item) for bar in bars],
        "marker": {"color": f"@{colour}", "line": {"color": "@paper", "width": 1}},
    }


def _amount(found: Evaluation, item: str) -> float:
    return sum(line.usd_per_hour for line in _bill(found) if line.item == item)


def _hover(bar: Bar, item: str) -> str:
    amount = _amount(bar.found, item)
    lines = [line for line in _bill(bar.found) if line.item == item]
    bill = "".join(f"<br>{quantity(x.quantity)} {plot_text(x.unit)} at {_price(x)}" for x in lines)
    total = f"total {usd(bar.found.usd_per_hour)}/h, {per_month(bar.found.usd_per_hour)} a month"
    part = f"<b>{plot_text(item)}: {usd(amount)}/h</b>, {per_month(amount)} a month"
    return f"{plot_text(bar.name)}<br>{part}{bill}<br>{total}"


def _price(line: CostLine) -> str:
    return plot_text(unit_price(line.unit_usd_per_hour, line.unit))


def _labels(bars: Sequence[Bar], places: Sequence[float]) -> list[dict[str, object]]:
    base = {"x": 0, "xref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False, "align": "left"}
    labels = []
    for n, (bar, place) in enumerate(zip(bars, places, strict=True)):
        if bar.group and (n == 0 or bar.group != bars[n - 1].group):
            heading = f"<b>{plot_text(bar.group)}</b>"
            labels.append(base | {"y": place + 0.72, "text": heading, "font": {"color": "@muted"}})
        price = short_usd(bar.found.usd_per_hour * HOURS_PER_MONTH)
        labels.append(base | {"y": place + 0.23, "text": f"<b>{price}</b> · {plot_text(bar.label, 140)}"})
    return labels


def _table(title: str, bars: Sequence[Bar], items: Sequence[str]) -> Table:
    rows = []
    for bar in bars:
        parts = [_amount(bar.found, item) for item in items]
        shown = [number(part, 2) if part else "" for part in parts]
        total = bar.found.usd_per_hour
        rows.append((bar.name, short_design(bar.found), *shown, number(total, 2), number(total * HOURS_PER_MONTH)))
    titles = ("", "design", *(f"{item}, $/h" for item in items), "total, $/h", "total, $/month")
    return Table(f"{title} (each rounded)", titles, tuple(rows), frozenset(range(2, len(titles))))
