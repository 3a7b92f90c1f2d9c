"""Aligned columns and wrapped text, measured in terminal columns and never wider than the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from planner.report.format import width

PAGE_COLUMNS = 100
INDENT = 2
GAP = 2
_NARROWEST_WRAPPING = 8
_NARROWEST = 4
_HARD_SPACE = "\u00a0"
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|[kMGTP]?B|GPUs?)(?![^\W_]))")  # "1.5 TB" is never broken


@dataclass(frozen=True)
class Column:
    """One column; ``wrap`` columns give way first when the page is too narrow."""

    title: str
    align: Literal["left", "right"] = "left"
    wrap: bool = False


@dataclass(frozen=True)
class Grid:
    """Finished lines: the header's, and each row's own."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    widths: tuple[int, ...]

    @property
    def lines(self) -> list[str]:
        """Header and rows in order."""
        return [*self.header, *(line for row in self.rows for line in row)]


def grid(columns: Sequence[Column], rows: Sequence[Sequence[str]], page: int = PAGE_COLUMNS) -> Grid:
    r"""Lay out ``rows`` of ready text; a cell that is too wide continues on the next line, in its column.

    >>> print("\n".join(grid([Column("item"), Column("$/h", "right")], [["GPUs", "67.20"]]).lines))
      item    $/h
      GPUs  67.20
    """
    widths = _fitted(columns, rows, page)
    header = _row_lines([column.title for column in columns], columns, widths)
    laid = tuple(_row_lines(row, columns, widths) for row in rows)
    return Grid(header, laid, tuple(widths))


def _fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], page: int) -> list[int]:
    """Natural widths, the widest wrapping columns (then any) narrowed until the page holds them."""
    widths = [
        max(width(line) for cell in [column.title, *(row[i] for row in rows)] for line in cell.split("\n"))
        for i, column in enumerate(columns)
    ]
    room = page - INDENT - GAP * (len(columns) - 1)
    flexible = [i for i, column in enumerate(columns) if column.wrap]
    for group, narrowest in ((flexible, _NARROWEST_WRAPPING), (range(len(columns)), _NARROWEST)):
        while sum(widths) > room:
            widest = max(group, key=lambda i: widths[i], default=None)
            if widest is None or widths[widest] <= narrowest:
                break
            widths[widest] = max(narrowest, widths[widest] - max(1, (sum(widths) - room) // 8))
    return widths


def _row_lines(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> tuple[str, ...]:
    wrapped = [wrap(cell, widths[i]) for i, cell in enumerate(cells)]
    height = max(len(lines) for lines in wrapped)
    lines = []
    for n in range(height):
        parts = [
            _padded(part[n] if n < len(part) else "", widths[i], columns[i].align) for i, part in enumerate(wrapped)
        ]
        lines.append((" " * INDENT + (" " * GAP).join(parts)).rstrip())
    return tuple(lines)


def _padded(text: str, columns: int, align: str) -> str:
    space = " " * max(0, columns - width(text))
    return space + text if align == "right" else text + space


def wrap(text: str, columns: int) -> list[str]:
    """Break at spaces, and inside a word only where it alone is too wide; explicit line breaks stay.

    >>> wrap("one two three", 7), wrap("abcdefgh", 3)
    (['one two', 'three'], ['abc', 'def', 'gh'])
    """
    lines: list[str] = []
    for paragraph in _UNIT.sub(_HARD_SPACE, text).split("\n"):
        if width(paragraph) <= columns:
            lines.append(paragraph)
            continue
        line = ""
        for word in paragraph.split(" "):
            candidate = f"{line} {word}" if line else word
            if width(candidate) <= columns:
                line = candidate
                continue
            if line:
                lines.append(line)
            *whole, line = _pieces(word, columns)
            lines += whole
        lines.append(line)
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def _pieces(word: str, columns: int) -> list[str]:
    pieces, piece = [], ""
    for character in word:
        if piece and width(piece + character) > columns:
            pieces.append(piece)
            piece = ""
        piece += character
    return [*pieces, piece]


def paragraph(text: str, indent: int = INDENT, page: int = PAGE_COLUMNS, hang: int = 0) -> list[str]:
    """Wrapped prose; lines after the first hang ``hang`` columns deeper."""
    lines = wrap(text, page - indent - hang)
    return [" " * (indent + (hang if n else 0)) + line for n, line in enumerate(lines)]
