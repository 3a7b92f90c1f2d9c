"""Pieces of the page: escaped text, tables, and charts with their table fallback.

Whatever comes from a user passes :func:`text` (for HTML), :func:`plot_text` (for Plotly, which reads some markup in
labels) or :func:`script_json` (for data inside a script element); nothing else puts a string into the page.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from planner.report.format import safe

LONG = 4000  # characters of one text that the page shows
_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass(frozen=True)
class Table:
    """Rows of plain text; columns named in ``right`` are numbers. The last ``totals`` rows are sums."""

    caption: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    totals: int = 0
    code: frozenset[int] = frozenset()  # columns that are keys or formulas
    marked: frozenset[int] = frozenset()  # rows to set apart
    whole: frozenset[int] = frozenset()  # columns that never break


@dataclass(frozen=True)
class Series:
    """One entry of a chart's legend: its name and its colour, a name of the style sheet such as ``s1``."""

    name: str
    colour: str
    mark: str = "block"  # block, line, dot, ring, outline, tick, diamond or cross


@dataclass(frozen=True)
class Chart:
    """One picture: Plotly traces whose colours are ``@name`` of the style sheet, what it says, and its numbers."""

    id: str
    title: str
    says: str  # one sentence: the caption, and what a screen reader hears
    traces: tuple[Mapping[str, Any], ...]
    layout: Mapping[str, Any]
    height: int
    legend: tuple[Series, ...]
    table: Table
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Picture:
    """A picture made elsewhere, as an SVG file; shown as an image, so that nothing in it can run."""

    name: str
    svg: bytes


def text(value: str, limit: int = LONG) -> str:
    """A user's text as HTML that shows exactly it, without controls or overrides of direction.

    >>> text("<b>&")
    '&lt;b&gt;&amp;'
    """
    return escape(safe(value, limit), quote=True)


def plot_text(value: str, limit: int = 80) -> str:
    """A user's text for a Plotly label, where ``<b>`` would be markup.

    >>> plot_text("a<b>%{x}")
    'a&lt;b&gt;%{x}'
    """
    return escape(safe(value, limit), quote=False)


def script_json(data: Any) -> str:
    r"""JSON that no HTML parser takes for the end of a script; numbers that are not finite become null.

    >>> script_json({"a": "</script>"})
    '{"a":"\\u003c/script\\u003e"}'
    """
    return json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_SCRIPT)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def table_html(table: Table) -> str:
    """A table that scrolls sideways in its own box where the screen is narrow, reachable by keyboard."""
    head = "".join(f"<th scope=col{_class(table, n)}>{text(title)}</th>" for n, title in enumerate(table.titles))
    first_total = len(table.rows) - table.totals
    body = "".join(_row(table, n, row, n >= first_total) for n, row in enumerate(table.rows))
    caption = text(table.caption)
    return (
        f'<div class=scroll tabindex=0 role=region aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )


def _row(table: Table, number: int, row: Sequence[str], total: bool) -> str:
    names = " ".join(["total"] * total + ["marked"] * (number in table.marked))
    cells = []
    for n, value in enumerate(row):
        shown = f"<code>{_breakable(text(value))}</code>" if n in table.code and value else text(value)
        kind = _class(table, n)
        cells.append(f"<td{kind}>{shown}</td>" if n else f"<th scope=row{kind}>{shown}</th>")
    return f'<tr class="{names}">{"".join(cells)}</tr>\n'


def _breakable(escaped: str) -> str:
    """A key or formula that may break after its dots and underscores."""
    return re.sub(r"([._\]])(?=[a-z0-9])", r"\1<wbr>", escaped)


def _class(table: Table, column: int) -> str:
    return " class=n" if column in table.right else " class=w" if column in table.whole else ""


def chart_html(chart: Chart) -> str:
    """The chart's place in the page: title, legend, drawing area, and its numbers as a table to open."""
    legend = "".join(
        f'<li><span class="key {s.mark}" style="--c:var(--{s.colour})"></span>{text(s.name)}</li>' for s in chart.legend
    )
    notes = "".join(f"<p class=note>{text(note)}</p>" for note in chart.notes)
    return (
        f'<figure id="{chart.id}" class=chart><figcaption><h3>{text(chart.title)}</h3><p>{text(chart.says)}</p>'
        f"</figcaption><ul class=legend aria-hidden=true>{legend}</ul>"
        f'<div class=plot data-chart="{chart.id}" role=img aria-label="{text(chart.title)}. {text(chart.says)} '
        f'The numbers are in the table below." style="height:{chart.height}px"></div>{notes}'
        f"<details class=numbers><summary>Numbers of this chart</summary>{table_html(chart.table)}</details></figure>\n"
    )


def picture_html(picture: Picture) -> str:
    """An image whose content is in the page."""
    data, name = base64.b64encode(picture.svg).decode(), text(picture.name, 80)
    return f'<figure><img class=picture alt="Picture {name}" src="data:image/svg+xml;base64,{data}"></figure>\n'


def details(summary: str, body: str, name: str = "") -> str:
    """Something to open; printing opens it."""
    anchor = f' id="{name}"' if name else ""
    return f"<details class=more{anchor}><summary>{text(summary)}</summary>{body}</details>\n"


def bullets(items: Sequence[tuple[str, str]]) -> str:
    """A list whose entries start with what they are about."""
    return "<ul class=points>" + "".join(f"<li><b>{text(a)}</b> {text(b)}</li>\n" for a, b in items) + "</ul>\n"
