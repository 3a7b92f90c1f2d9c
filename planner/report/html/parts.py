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
from html import escape, unescape
from typing import Any

from planner.report.format import safe
from planner.report.tabular import Table

LONG = 4000  # characters of one text that the page shows
HALF_LINE = 19  # characters of a title and its figure that fit on half a narrow screen; sums are bold
MOST_KEPT = 14  # rows of a table that is not torn over two printed pages
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGTP]i?B|ms|s|%|GPUs?|nodes?)(?!\w)|/)|(?<=ms) (?=±)|(?<=±) ")
_SCRIPT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass(frozen=True)
class Series:
    """One entry of a chart's legend: its name and its colour, a name of the style sheet such as ``s1``."""

    name: str
    colour: str
    mark: str = "block"  # block, line, dotted, dot, ring, outline, tick, diamond or cross


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
    rows: float = 0.0  # bars under labels: what the height has to hold, so that labels may take more lines
    proven_usd_per_hour: float | None = None  # the cheapest plan at today's promises, where the study proved it


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


def prose(value: str, limit: int = LONG) -> str:
    r"""The same for sentences and cells: a line never ends between a number and its unit.

    >>> prose("11.5 TB & 92 GPUs"), prose("2 of 3")
    ('11.5\xa0TB &amp; 92\xa0GPUs', '2 of 3')
    """
    return _UNIT.sub("\u00a0", text(value, limit))


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
    """A table that scrolls sideways in its own box where the screen is narrow, reachable by keyboard.

    One that stacks shows each row as a block there instead; its roles are spelled out, since a style that changes how
    a table is laid out takes them away in some browsers.
    """
    head = "".join(
        f"<th scope=col{_class(table, n)}{_role(table, 'columnheader')}>{text(title)}</th>"
        for n, title in enumerate(table.titles) if n != table.under
    )  # fmt: skip
    first_total = len(table.rows) - table.totals
    body = "".join(_row(table, n, row, n >= first_total) for n, row in enumerate(table.rows))
    caption, group, line = text(table.caption), _role(table, "rowgroup"), _role(table, "row")
    names = " ".join(["scroll", *["stacked"] * table.stack, *["keep"] * (len(table.rows) <= MOST_KEPT)])
    return (
        f'<div class="{names}" tabindex=0 role=region aria-label="{caption}"><table{_role(table, "table")}>'
        f"<caption>{caption}</caption><thead{group}><tr{line}>{head}</tr></thead><tbody{group}>{body}</tbody>"
        "</table></div>\n"
    )


def _row(table: Table, number: int, row: Sequence[str], total: bool) -> str:
    names = " ".join(["total"] * total + ["marked"] * (number in table.marked))
    cells, wide = [], _wide(table)
    for n, value in enumerate(row):
        shown = f"<code>{_breakable(text(value))}</code>" if n in table.code and value else prose(value)
        kind = _class(table, n)
        title = f' data-t="{text(table.titles[n])}"' if table.stack else ""
        kind = kind.replace("=n", '="n wide"') if n in wide else kind
        if n == 0:
            small = f" <small>{prose(row[table.under])}</small>" if table.under is not None and row[table.under] else ""
            cells.append(f"<th scope=row{kind}{title}{_role(table, 'rowheader')}>{shown}{small}</th>")
        elif n != table.under:
            cells.append(f"<td{kind}{title}{_role(table, 'cell')}>{shown}</td>")
    return f'<tr class="{names}"{_role(table, "row")}>{"".join(cells)}</tr>\n'


def _role(table: Table, role: str) -> str:
    return f" role={role}" if table.stack else ""


def _wide(table: Table) -> set[int]:
    """Columns of figures that need a line of their own where rows are stacked."""
    if not table.stack:
        return set()
    sums = len(table.rows) - table.totals
    longest = {n: max((len(row[n]) + (k >= sums) for k, row in enumerate(table.rows)), default=0) for n in table.right}
    return {n for n, most in longest.items() if most + len(table.titles[n]) > HALF_LINE}


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
    notes = "".join(f"<p class=note>{prose(note)}</p>" for note in chart.notes)
    return (
        f'<figure id="{chart.id}" class=chart><figcaption><h3>{text(chart.title)}</h3><p>{prose(chart.says)}</p>'
        f"</figcaption><ul class=legend aria-hidden=true>{legend}</ul>"
        f'<div class=plot data-chart="{chart.id}" role=img aria-label="{text(chart.title)}. {text(chart.says)} '
        f'The numbers are in the table below." style="height:{chart.height}px"></div>{notes}'
        f"<details class=numbers><summary>Numbers of this chart</summary>{table_html(chart.table)}</details></figure>\n"
    )


def picture_html(picture: Picture) -> str:
    """An image whose content is in the page."""
    data, name = base64.b64encode(picture.svg).decode(), text(picture.name, 80)
    found = re.search(rb'(?:<title>|aria-label=")([^<"]{1,400})', picture.svg[:20_000])
    title = text(unescape(found[1].decode("utf-8", "replace")) if found else "drawn by planner fit", 400)
    return (
        f'<figure><div class=scroll tabindex=0 role=region aria-label="{name}"><img class=picture alt="{title}" '
        f'src="data:image/svg+xml;base64,{data}"></div><figcaption><p>{name}: {title}</p></figcaption></figure>\n'
    )


def details(summary: str, body: str, name: str = "") -> str:
    """Something to open; printing opens it."""
    anchor = f' id="{name}"' if name else ""
    return f"<details class=more{anchor}><summary>{text(summary)}</summary>{body}</details>\n"


def bullets(items: Sequence[tuple[str, str]]) -> str:
    """A list whose entries start with what they are about."""
    return "<ul class=points>" + "".join(f"<li><b>{text(a)}</b> {prose(b)}</li>\n" for a, b in items) + "</ul>\n"
