"""The way to the first token: queue, fetch, prefill and transfer of every path in use, against the limit."""

from __future__ import annotations

from planner.plan import Evaluation, TtftPath
from planner.report.format import ms, number, percent, safe
from planner.report.html.chart_cost import AXIS_PX, ROW_PX
from planner.report.html.parts import Chart, Series, plot_text
from planner.report.sections import has_front_end
from planner.report.tabular import stages, ttft

DRAWN = 16  # paths; the table has all
PARTS = (("queue", "s6"), ("fetch", "s4"), ("prefill", "s1"), ("transfer", "s2"))


def ttft_chart(found: Evaluation, percentile: float | None) -> Chart | None:
    """One bar per path in use; what it leaves of the limit is drawn as an outline."""
    used = [path for path in found.paths if path.in_use]
    if not used:
        return None
    tightest = sorted(used, key=lambda path: path.slack_s)[:DRAWN]
    drawn = [path for path in used if path in tightest]
    limit_ms = 1e3 * (used[0].total_s + used[0].slack_s)
    title = "Time to first token, path by path"
    return Chart(
        id="ttft",
        title=title,
        says=_says(tightest[0], limit_ms, percentile),
        traces=(*(_trace(name, colour, drawn) for name, colour in PARTS), _slack(drawn)),
        layout=_layout(drawn, limit_ms),
        height=round(ROW_PX * (len(drawn) + 0.6)) + AXIS_PX,
        rows=len(drawn) + 0.6,
        legend=(*(Series(name, colour) for name, colour in PARTS), Series("slack", "muted", "outline"),
                Series(f"limit {number(limit_ms)} ms", "limit", "line")),
        table=ttft(found),
        notes=_notes(found, len(used) - len(drawn)),
    )  # fmt: skip


def _notes(found: Evaluation, hidden: int) -> tuple[str, ...]:
    notes = []
    if has_front_end(found):
        notes.append("Transfer includes the engine's front end: latency of the first token outside the GPU.")
    if hidden > 0:
        notes.append(f"{hidden} more paths with more slack are in the table.")
    return tuple(notes)


def _says(path: TtftPath, limit_ms: float, percentile: float | None) -> str:
    at = f" at the {100 * percentile:g}th percentile of the queue" if percentile else ""
    spare = "nothing to spare" if path.slack_s * 1e3 < 0.5 else f"{ms(path.slack_s)} to spare"
    return (
        f"The tightest path, {safe(path.class_name, 40)} by {safe(path.path, 40)}, takes {ms(path.total_s)} of "
        f"{number(limit_ms)} ms{at}: {spare}."
    )


def _trace(name: str, colour: str, drawn: list[TtftPath]) -> dict[str, object]:
    index = [part for part, _ in PARTS].index(name)
    values = [1e3 * stages(path)[index] for path in drawn]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": values,
        "y": [-n for n in range(len(drawn))],
        "width": 0.46,
        "hoverinfo": "text",
        "hovertext": [f"{_label(p)}<br><b>{name} {number(v, 1)} ms</b>" for p, v in zip(drawn, values, strict=True)],
        "marker": {"color": f"@{colour}", "line": {"color": "@paper", "width": 1}},
    }


def _slack(drawn: list[TtftPath]) -> dict[str, object]:
    values = [max(0.0, 1e3 * path.slack_s) for path in drawn]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "slack",
        "x": values,
        "y": [-n for n in range(len(drawn))],
        "width": 0.46,
        "hoverinfo": "text",
        "hovertext": [f"{_label(p)}<br><b>slack {number(1e3 * p.slack_s, 1)} ms</b>" for p in drawn],
        "marker": {"color": "@clear", "line": {"color": "@muted", "width": 1}},
    }


def _label(path: TtftPath) -> str:
    return f"{plot_text(path.class_name, 40)} · {plot_text(path.path, 30)}"


def _share(path: TtftPath) -> str:
    return f"{'under 1 %' if 0 < path.probability < 0.005 else percent(path.probability)} of its requests"


def _layout(drawn: list[TtftPath], limit_ms: float) -> dict[str, object]:
    longest = max([limit_ms, *(1e3 * path.total_s for path in drawn)])
    base = {"x": 0, "xref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False, "align": "left"}
    labels = [
        base | {"y": -n + 0.23, "text": f"{_label(p)} · <b>{ms(p.total_s)}</b> · {_share(p)}"}
        for n, p in enumerate(drawn)
    ]
    return {
        "barmode": "stack",
        "xaxis": {"title": {"text": "milliseconds"}, "range": [0, longest * 1.04]},
        "yaxis": {"visible": False, "range": [-len(drawn) + 0.35, 0.75], "fixedrange": True},
        "annotations": labels,
        "shapes": [{"type": "line", "x0": limit_ms, "x1": limit_ms, "y0": 0, "y1": 1, "yref": "paper",
                    "line": {"color": "@limit", "width": 2}}],
        "margin": {"l": 6, "r": 14, "t": 4, "b": AXIS_PX},
    }  # fmt: skip
