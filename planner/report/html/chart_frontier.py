"""Cost against one promise for each kind of design, with the places where the plan turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.format import quantity, safe, significant, usd
from planner.report.html.parts import Chart, Series, plot_text
from planner.report.study_frontier import main_marks, stopped_lines
from planner.report.tabular import HOURS_PER_MONTH, Table, per_month
from planner.study.marks import cell_name
from planner.study.points import shape

if TYPE_CHECKING:
    from planner.study.frontier import CellFrontier, Frontier, Vertex
    from planner.study.marks import Mark

COLOURS = ("s6", "s3", "s2", "s1")
SAMPLES = 60  # of a line, besides its vertices


def frontier_chart(found: Frontier) -> Chart:
    """One line per kind of design; a line ends where that kind becomes impossible."""
    cells = [cell for cell in found.cells if cell.vertices]
    colours = dict(zip((cell_name(cell) for cell in cells), COLOURS, strict=False))
    unit = found.axis.unit
    title = f"Cost against {found.axis.title}{' (not complete)' if found.interrupted else ''}"
    shapes = [] if found.today is None else [_today(found.today.x)]
    legend = [Series(name, colour, "line") for name, colour in colours.items()]
    legend += [Series("a role changes, or a kind starts or stops paying", "ink", "diamond")]
    legend += [Series("today", "limit", "dotted")] if found.today else []
    return Chart(
        id="frontier",
        title=title,
        says=_says(found),
        traces=(*(_line(found, cell, colours[cell_name(cell)]) for cell in cells), _turns(found)),
        layout={
            "xaxis": {"title": {"text": f"{found.axis.title} limit, {unit}"}},
            "yaxis": {
                "title": {"text": "dollars per month"},
                "tickprefix": "$",
                "tickformat": "~s",
                "rangemode": "tozero",
            },
            "shapes": shapes,
            "margin": {"l": 58, "r": 14, "t": 8, "b": 52},
        },
        height=400,
        legend=tuple(legend),
        table=_table(found, cells),
        notes=tuple(_notes(found)),
    )


def _line(found: Frontier, cell: CellFrontier, colour: str) -> dict[str, object]:
    """The cost along the axis: exact at every point, and at both sides of every jump; vertices are marked."""
    ends = {vertex.x for vertex in cell.vertices}
    points = [(x, vertex) for x in _places(found, cell) if (vertex := cell.at(found.axis, x)) is not None]
    return {
        "type": "scatter", "mode": "lines+markers", "name": cell_name(cell), "x": [x for x, _ in points],
        "y": [vertex.usd_per_hour * HOURS_PER_MONTH for _, vertex in points], "hoverinfo": "text",
        "hovertext": [_hover(found, cell, x, vertex) for x, vertex in points],
        "line": {"color": f"@{colour}", "width": 2},
        "marker": {"color": f"@{colour}", "size": [5 if x in ends else 0 for x, _ in points], "opacity": 1},
    }  # fmt: skip


def _places(found: Frontier, cell: CellFrontier) -> list[float]:
    """Where the line is told: evenly, today, and before and just beyond every vertex."""
    low, high = sorted((found.easiest, found.hardest))
    even = [low + (high - low) * n / SAMPLES for n in range(SAMPLES + 1)]
    turns = [x for vertex in cell.vertices for x in (vertex.x, found.axis.beyond(vertex.x))]
    today = [] if found.today is None else [found.today.x]
    return sorted({x for x in (*even, *turns, *today) if low <= x <= high})


def _hover(found: Frontier, cell: CellFrontier, x: float, vertex: Vertex) -> str:
    return (
        f"{cell_name(cell)}<br><b>{significant(x, 4)} {found.axis.unit}: {usd(vertex.usd_per_hour)}/h</b>, "
        f"{per_month(vertex.usd_per_hour)} a month<br>{plot_text(shape(vertex.plan), 120)}"
    )


def _turns(found: Frontier) -> dict[str, object]:
    """The marks, each on the line of its kind or on the cheapest."""
    places = []
    for mark in found.marks:
        own = next((c for c in found.cells if cell_name(c) == mark.cell), None)
        at = mark.harder if mark.kind != "impossible" else (mark.easier if mark.easier is not None else mark.harder)
        vertex = own.at(found.axis, at) if own else None
        if vertex is None and own is None and (best := found.best_at(at)):
            vertex = best[1]
        if vertex is not None:
            said = f"{plot_text(mark.cell)}<br>{plot_text(mark.text, 160)}"
            places.append((at, vertex.usd_per_hour * HOURS_PER_MONTH, said))
    return {
        "type": "scatter", "mode": "markers", "name": "turns", "x": [p[0] for p in places], "y": [p[1] for p in places],
        "hoverinfo": "text", "hovertext": [p[2] for p in places],
        "marker": {"symbol": "diamond", "size": 11, "color": "@ink", "line": {"color": "@paper", "width": 1.5}},
    }  # fmt: skip


def _today(x: float) -> dict[str, object]:
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper",
            "line": {"color": "@limit", "width": 1.5, "dash": "dot"}}  # fmt: skip


def _says(found: Frontier) -> str:
    unit = found.axis.unit
    if found.interrupted:
        return " ".join(stopped_lines(found))
    if found.today is None:
        return f"No design keeps today's {found.axis.title}."
    down = "down" if found.axis.harder < 0 else "up"
    text = f"Today's plan keeps its promises {down} to {significant(found.today.reach, 4)} {unit}"
    for x in (found.easiest, found.hardest):
        best = found.best_at(x)
        said = f"costs {per_month(best[1].usd_per_hour)} a month" if best else "does not exist"
        text += f"; the cheapest plan for {quantity(x)} {unit} {said}"
    return text + "."


def _notes(found: Frontier) -> list[str]:
    marks, unit = main_marks(found), found.axis.unit
    notes = [f"At {_between(m, unit)}: {safe(m.cell, 40)}, {safe(m.text, 200)}." for m in marks]
    left = len(found.marks) - len(marks)
    return [*notes, *([f"And {left} more changes of a tier's role, each marked in the picture."] if left else [])]


def _between(mark: Mark, unit: str) -> str:
    ends = [significant(x, 4) for x in (mark.easier, mark.harder) if x is not None]
    return f"{' to '.join(dict.fromkeys(ends))} {unit}"


def _table(found: Frontier, cells: list[CellFrontier]) -> Table:
    rows = [
        (
            cell_name(cell),
            significant(vertex.x, 4),
            f"{usd(vertex.usd_per_hour)}/h",
            per_month(vertex.usd_per_hour),
            safe(shape(vertex.plan), 160),
        )
        for cell in cells
        for vertex in cell.vertices
    ]
    titles = ("kind", f"{found.axis.title}, {found.axis.unit}", "per hour", "per month", "plan")
    return Table(f"Cost against {found.axis.title}", titles, tuple(rows), frozenset({1, 2, 3}))
