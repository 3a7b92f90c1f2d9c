"""A CSV file as cells that know their place, so that every wrong value is told with file, line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from planner.errors import Diagnostic, InputError, Span
from planner.textfile import read_text

MOST_MIB = 64
MOST_PROBLEMS = 10  # told at once
COMMENT = "#"


@dataclass(frozen=True)
class Cell:
    """A value and the column (from 1) where it stands in its line."""

    text: str
    column: int
    length: int


@dataclass(frozen=True)
class Line:
    """One line under the header."""

    file: str
    number: int
    text: str
    cells: Mapping[str, Cell]

    def span(self, name: str) -> Span:
        """Where a column's value stands; the line's start where it has none."""
        cell = self.cells.get(name, Cell("", 1, 1))
        return Span(self.file, self.number, cell.column, self.text, max(cell.length, 1))


class Values:
    """The values of one line, read as what they should be; what is wrong is collected, not raised."""

    def __init__(self, fields: Mapping[str, str], span: Callable[[str], Span | None] = lambda name: None) -> None:
        """Take the columns of a line; ``span`` tells where one stands."""
        self._fields, self._span = fields, span
        self.problems: list[Diagnostic] = []

    def text(self, name: str) -> str:
        """The value without blanks around it; empty where the column is not there."""
        return (self._fields.get(name) or "").strip()

    def wrong(self, name: str, message: str, write: str) -> None:
        """Note a mistake and what to write instead."""
        self.problems.append(Diagnostic("bad-value", message, self._span(name), name, f"write {write}"))

    def choice(self, name: str, known: Iterable[str], what: str) -> str:
        """One of the known words; the closest is offered."""
        value, words = self.text(name), tuple(known)
        if value in words:
            return value
        near = get_close_matches(value.lower(), words, 1, 0.5)
        said = f"unknown {what} {value!r}" if value else f"no {what}"
        self.wrong(name, f"{name}: {said}", near[0] if near else ", ".join(words))
        return words[0]

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within bounds, ``default`` where the cell is empty."""
        value = self.text(name)
        if not value and default is not None:
            return default
        if re.fullmatch(r"[+-]?\d{1,18}", value) and low <= int(value) <= high:
            return int(value)
        said = f"{name} is {value!r}" if value else f"{name} is empty"
        near = re.fullmatch(r"(\d{1,12})\.0*", value)
        instead = f", such as {near[1]}" if near and low <= int(near[1]) <= high else ""
        self.wrong(name, said, f"a whole number from {low:,} to {high:,} without separators{instead}")
        return default or low

    def positive(self, name: str, high: float, unit: str) -> float:
        """A number above 0 and below ``high``."""
        value = self.text(name)
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if 0 < number < high:
            return number
        point = value.replace(",", ".")
        instead = f", such as {point}" if re.fullmatch(r"\d+,\d+", value) else ""
        said = f"{name} is {value!r}" if value else f"{name} is empty"
        self.wrong(name, said, f"a positive number of {unit} with a decimal point{instead}")
        return 1.0


def read_lines(path: str | Path, required: Iterable[str]) -> tuple[list[Line], list[Diagnostic]]:
    """The lines under the header, and those that do not fit it.

    Raises:
        InputError: the file cannot be read, is not UTF-8, is empty, or lacks a required column.
    """
    file = str(path)
    whole = read_text(Path(file), MOST_MIB, "list of measurements", "it as UTF-8 (in Excel: CSV UTF-8)")
    numbered = [
        (number, text)
        for number, text in enumerate(re.split(r"\r\n|\r|\n", whole), 1)
        if text.strip() and not text.startswith(COMMENT)
    ]
    if not numbered:
        raise InputError(Diagnostic("no-rows", f"{file}: no measurements: the file is empty", hint=_HINT))
    number, head = numbered[0]
    names = [cell.text.strip() for cell in cells_of(head) or ()]
    _check_header(file, number, head, names, required)
    lines: list[Line] = []
    problems: list[Diagnostic] = []
    for number, text in numbered[1:]:
        cells = cells_of(text)
        if cells is None:
            span = Span(file, number, text.index('"') + 1, text)
            problems.append(Diagnostic("bad-row", "a quote is not closed", span, hint="close it on the same line"))
        elif len(cells) != len(names):
            problems.append(_misfit(file, number, text, cells, names))
        elif any(cell.text.strip() for cell in cells):
            lines.append(Line(file, number, text, dict(zip(names, cells, strict=True))))
    if not lines and not problems:
        raise InputError(Diagnostic("no-rows", f"{file}: no measurements: only a header", hint=_HINT))
    return lines, problems


def first_of(problems: list[Diagnostic]) -> list[Diagnostic]:
    """As many as are told at once; the last one counts the rest."""
    kept = sorted(problems, key=lambda p: (p.span.line, p.span.column) if p.span else (0, 0))
    more = len(kept) - MOST_PROBLEMS
    if more <= 0:
        return kept
    last = kept[MOST_PROBLEMS - 1]
    return [*kept[: MOST_PROBLEMS - 1], replace(last, hint=f"{last.hint} ({more:,} more not shown)")]


def cells_of(text: str) -> list[Cell] | None:
    """The cells of one CSV line; None where a quote is not closed.

    >>> [(c.text, c.column) for c in cells_of('a,"b,""c",d')]
    [('a', 1), ('b,"c', 3), ('d', 11)]
    >>> cells_of('a,"b') is None
    True
    """
    found: list[Cell] = []
    start = 0
    while True:
        quoted = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?=,|$)').match(text, start)
        if quoted:
            end, value = quoted.end(), quoted[1].replace('""', '"')
        else:
            end = text.find(",", start)
            end = len(text) if end < 0 else end
            value = text[start:end]
            if value.lstrip().startswith('"'):
                return None
        found.append(Cell(value, start + 1, end - start))
        if end >= len(text):
            return found
        start = end + 1


_HINT = "one line per measurement under the header; planner backtest -h lists the columns"


def _check_header(file: str, number: int, head: str, names: list[str], required: Iterable[str]) -> None:
    missing = [name for name in required if name not in names]
    if missing:
        other = next((mark for mark in (";", "\t") if head.count(mark) > head.count(",")), None)
        hint = f"separate the columns by commas, not by {other!r}" if other else "planner backtest -h lists the columns"
        message = f"no column {', '.join(missing)}"
        raise InputError(Diagnostic("no-column", message, Span(file, number, 1, head), hint=hint))
    twice = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if twice is not None:
        message = f"column {twice} is there twice"
        raise InputError(Diagnostic("no-column", message, Span(file, number, 1, head), hint="keep one of them"))


def _misfit(file: str, number: int, text: str, cells: list[Cell], names: list[str]) -> Diagnostic:
    said = f"{len(cells)} values under a header of {len(names)} columns"
    last = cells[-1] if len(cells) < len(names) else cells[len(names)]
    short = f"the rest of the line, from {names[len(cells)]} on" if len(cells) < len(names) else ""
    hint = short or 'quotes around a value that holds a comma, as in "a, b", or leave out what is too much'
    return Diagnostic("bad-row", said, Span(file, number, last.column, text, max(last.length, 1)), hint=f"write {hint}")
