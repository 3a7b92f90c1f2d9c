"""Aligned columns and wrapped text, measured in terminal columns and never wider than the page."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from planner.report.format import width

PAGE_COLUMNS = 100  # unless a terminal has fewer
NARROWEST_PAGE = 60
INDENT = 2
GAP = 2
_NARROWEST_WRAPPING = 8
_NARROWEST_TEXT = 6
_NARROWEST = 4
_HARD_SPACE = "\u00a0"
_SEAMS = "._/·"  # a key, path or configuration is broken after one of these, where it has to be
_page: ContextVar[int] = ContextVar("page", default=PAGE_COLUMNS)
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|[kMGTP]?B|GPUs?)(?![^\W_]))")  # "1.5 TB" is never broken


@contextmanager
def page_of(columns: int) -> Iterator[None]:
    """Within it, tables and prose are laid out for that many columns.

    >>> with page_of(60):
    ...     max(len(line) for line in paragraph("word" * 40))
    60
    """
    token = _page.set(min(PAGE_COLUMNS, max(NARROWEST_PAGE, columns)))
    try:
        yield
    finally:
        _page.reset(token)


def page_columns() -> int:
    """The columns of the page that is laid out now."""
    return _page.get()


def terminal_columns() -> int:
    """What ``COLUMNS`` says, else the terminal's width; a pipe or file gets a whole page."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or PAGE_COLUMNS
    except (OSError, ValueError, AttributeError):  # no terminal
        return PAGE_COLUMNS


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


def grid(columns: Sequence[Column], rows: Sequence[Sequence[str]], page: int | None = None) -> Grid:
    r"""Lay out ``rows`` of ready text; a cell that is too wide continues on the next line, in its column.

    >>> print("\n".join(grid([Column("item"), Column("$/h", "right")], [["GPUs", "67.20"]]).lines))
      item    $/h
      GPUs  67.20
    """
    widths = _fitted(columns, rows, page or page_columns())
    header = _row_lines([column.title for column in columns], columns, widths)
    laid = tuple(_row_lines(row, columns, widths) for row in rows)
    return Grid(header, laid, tuple(widths))


def _fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], page: int) -> list[int]:
    """Natural widths, the widest wrapping columns (then text, then any) narrowed until the page holds them."""
    widths = [
        max(width(line) for cell in [column.title, *(row[i] for row in rows)] for line in cell.split("\n"))
        for i, column in enumerate(columns)
    ]
    room = page - INDENT - GAP * (len(columns) - 1)
    flexible = [i for i, column in enumerate(columns) if column.wrap]
    text = [i for i, column in enumerate(columns) if column.align == "left"]
    every = (flexible, _NARROWEST_WRAPPING), (text, _NARROWEST_TEXT), (range(len(columns)), _NARROWEST)
    for group, narrowest in every:
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

    >>> wrap("one two three", 7), wrap("abcdefgh", 3), wrap("tiers[dram].usd_per_gb", 14)
    (['one two', 'three'], ['abc', 'def', 'gh'], ['tiers[dram].', 'usd_per_gb'])
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
            cut = _seam(piece)
            pieces.append(piece[:cut])
            piece = piece[cut:]
        piece += character
    return [*pieces, piece]


def _seam(piece: str) -> int:
    """Where a word that is too wide is broken: after a seam of its second half, else where it must."""
    last = 1 + max(piece.rfind(seam) for seam in _SEAMS)
    return last if last > (len(piece) + 1) // 2 else len(piece)


def paragraph(text: str, indent: int = INDENT, page: int | None = None, hang: int = 0) -> list[str]:
    """Wrapped prose; lines after the first hang ``hang`` columns deeper."""
    lines = wrap(text, (page or page_columns()) - indent - hang)
    return [" " * (indent + (hang if n else 0)) + line for n, line in enumerate(lines)]
