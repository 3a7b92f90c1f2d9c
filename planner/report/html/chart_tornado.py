"""What each input does to the cost, one at a time, and where it changes the plan itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.report.format import joined, percent, safe, significant, usd
from planner.report.html.chart_cost import AXIS_PX, ROW_PX
from planner.report.html.parts import Chart, Series, plot_text
from planner.report.study_sensitivity import not_tried
from planner.report.tabular import HOURS_PER_MONTH, Table, per_month

if TYPE_CHECKING:
    from planner.study.sensitivity import Bar, End, Sensitivity

DRAWN = 14
NAMED = 3
SAME = 5e-4  # relative change of cost that nobody would act on


def tornado_chart(found: Sensitivity) -> Chart:
    """Widest first; a diamond where the cheapest plan becomes another, a cross where nothing fits."""
    today = found.plan.usd_per_hour
    moving = [bar for bar in found.bars if not _still(bar, today)]
    drawn = moving[:DRAWN]
    title = "What each input does to the cost"
    return Chart(
        id="tornado",
        title=title,
        says=_says(found.bars, moving, today),
        traces=(*(_ends(drawn, today, high) for high in (False, True)), _turns(drawn, today)),
        layout=_layout(drawn, today),
        height=round(ROW_PX * (len(drawn) + 0.6)) + AXIS_PX,
        rows=len(drawn) + 0.6,
        legend=(Series("low end of the range", "s3"), Series("high end", "s2"), Series("today", "limit", "line"),
                Series("another plan is cheapest", "ink", "diamond"), Series("nothing fits", "limit", "cross")),
        table=_table(title, found.bars, today),
        notes=(*(f"Not tried: {not_tried(said)}." for said in found.skipped),
               *(f"Stopped before: {safe(said, 80)}." for said in found.unfinished)),
    )  # fmt: skip


def _still(bar: Bar, today: float) -> bool:
    """Neither end changes the cost, and both have a plan."""
    costs = (bar.low.usd_per_hour, bar.high.usd_per_hour)
    return all(cost is not None and abs(cost - today) <= SAME * today for cost in costs)


def _says(bars: Sequence[Bar], moving: Sequence[Bar], today: float) -> str:
    changing = [safe(bar.knob.label, 60) for bar in bars if bar.effect == "plan"]
    most = [f"{safe(bar.knob.label, 60)} ({_span(bar, today)})" for bar in moving[:NAMED]]
    text = f"Of {len(bars)} inputs, each moved alone, the cost depends most on {', '.join(most)}" if most else (
        f"None of {len(bars)} inputs, each moved alone over its range, changes the cost"
    )  # fmt: skip
    if not changing:
        return f"{text}; no end of any range changes the plan's structure."
    return f"{text}; {len(changing)} of them change the plan itself."


def _span(bar: Bar, today: float) -> str:
    return " to ".join(_change(end, today) for end in (bar.low, bar.high))


def _change(end: End, today: float) -> str:
    if end.usd_per_hour is None:
        return "impossible"
    return percent(end.usd_per_hour / (today or 1.0) - 1, 1, signed=True)


def _ends(drawn: Sequence[Bar], today: float, high: bool) -> dict[str, object]:
    ends = [bar.high if high else bar.low for bar in drawn]
    costs = [end.usd_per_hour for end in ends]
    return {
        "type": "bar", "orientation": "h", "name": "high" if high else "low", "width": 0.46,
        "base": today * HOURS_PER_MONTH,
        "x": [0.0 if cost is None else (cost - today) * HOURS_PER_MONTH for cost in costs],
        "y": [-n for n in range(len(drawn))], "hoverinfo": "text",
        "hovertext": [_hover(bar, end, today) for bar, end in zip(drawn, ends, strict=True)],
        "marker": {"color": "@s2" if high else "@s3", "line": {"color": "@paper", "width": 1}},
    }  # fmt: skip


def _hover(bar: Bar, end: End, today: float) -> str:
    head = f"{plot_text(bar.knob.label)} = {plot_text(_with_unit(bar, end.value))}"
    if end.usd_per_hour is None:
        return f"{head}<br><b>nothing fits</b>"
    cost = f"{usd(end.usd_per_hour)}/h, {per_month(end.usd_per_hour)} a month"
    return joined([f"{head}<br><b>{cost}</b> ({_change(end, today)})", plot_text("; ".join(end.changes), 120)], "<br>")


def _turns(drawn: Sequence[Bar], today: float) -> dict[str, object]:
    """Diamonds and crosses at the ends that are another plan, or none."""
    ends = [(n, bar, end) for n, bar in enumerate(drawn) for end in (bar.low, bar.high)
            if end.changes or end.usd_per_hour is None]  # fmt: skip
    impossible = [end.usd_per_hour is None for _, _, end in ends]
    return {
        "type": "scatter", "mode": "markers", "name": "turns", "hoverinfo": "text", "cliponaxis": False,
        "x": [(today if end.usd_per_hour is None else end.usd_per_hour) * HOURS_PER_MONTH for _, _, end in ends],
        "y": [-n for n, _, _ in ends], "hovertext": [_hover(bar, end, today) for _, bar, end in ends],
        "marker": {"symbol": ["x" if none else "diamond" for none in impossible], "size": 10,
                   "color": ["@limit" if none else "@ink" for none in impossible],
                   "line": {"color": "@paper", "width": 1}},
    }  # fmt: skip


def _layout(drawn: Sequence[Bar], today: float) -> dict[str, object]:
    base = {
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "align": "left",
        "bgcolor": "@paper",
        "borderpad": 0,
    }
    labels = [
        base | {"y": -n + 0.23, "text": f"<b>{_span(bar, today)}</b> · {plot_text(bar.knob.label, 80)} · {_range(bar)}"}
        for n, bar in enumerate(drawn)
    ]
    at = today * HOURS_PER_MONTH
    return {
        "barmode": "overlay",
        "xaxis": {"title": {"text": "dollars per month"}, "tickprefix": "$", "tickformat": "~s"},
        "yaxis": {"visible": False, "range": [-len(drawn) + 0.35, 0.75], "fixedrange": True},
        "annotations": labels,
        "shapes": [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper",
                    "line": {"color": "@limit", "width": 1.5}}],
        "margin": {"l": 14, "r": 14, "t": 4, "b": AXIS_PX},
    }  # fmt: skip


def _with_unit(bar: Bar, value: float) -> str:
    return f"{significant(value, 4)} {safe(bar.knob.unit, 24)}".rstrip()


def _range(bar: Bar) -> str:
    return f"{significant(bar.knob.low)} to {significant(bar.knob.high)} {plot_text(bar.knob.unit, 24)}".rstrip()


def _table(title: str, bars: Sequence[Bar], today: float) -> Table:
    rows = []
    for bar in bars:
        for word, end in (("low", bar.low), ("high", bar.high)):
            cost = "nothing fits" if end.usd_per_hour is None else per_month(end.usd_per_hour)
            kept = f"breaks: {'; '.join(end.breaks)}" if end.breaks else _regret(end)
            rows.append((safe(bar.knob.label, 80), word, _with_unit(bar, end.value), cost, _change(end, today),
                         safe("; ".join((*end.changes, *end.resized)), 200), safe(kept, 200)))  # fmt: skip
    titles = ("input", "end", "value", "per month", "change", "plan", "keeping today's plan")
    return Table(title, titles, tuple(rows), frozenset({2, 3, 4}))


def _regret(end: End) -> str:
    regret = end.regret_usd_per_hour
    if regret is None:
        return ""
    return "costs nothing more" if regret < 0.005 else f"costs {per_month(regret)} a month more"
