"""The catalog as text: what it knows, and for each value its unit, source, date and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.report.format import ABSENT, safe
from planner.report.grid import Column, grid, paragraph


@dataclass(frozen=True)
class Entry:
    """One catalog entry with its values, each ``(path, value, unit, usual range, source, date, confidence, note)``."""

    kind: str
    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Value:
    """One catalog value and where it comes from."""

    path: str
    value: Any
    unit: str
    low: float | None
    high: float | None
    source: str
    date: str
    confidence: str
    note: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data for ``--format json``."""
        return dict(vars(self))


def names_text(groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Every name the catalog has, by kind."""
    lines: list[str] = []
    for kind, names in groups:
        lines += [kind, *paragraph(", ".join(safe(name, 60) for name in names), hang=0)]
    return "\n".join([*lines, "", "planner catalog NAME shows an entry's values and their sources."]) + "\n"


def entry_text(entry: Entry) -> str:
    """One entry: its values with units, then the sources they cite."""
    sources = list(dict.fromkeys((v.source, v.date, v.confidence) for v in entry.values))
    rows = [
        [
            safe(v.path or entry.name, 44),
            shown(v.value),
            safe(v.unit, 16),
            ABSENT if v.low is None or v.high is None else f"{v.low:g} to {v.high:g}",
            f"[{sources.index((v.source, v.date, v.confidence)) + 1}]",
        ]
        for v in entry.values
    ]
    columns = [Column("value of"), Column("", "right", wrap=True), Column("unit"), Column("usual"), Column("source")]
    lines = [f"{entry.kind} {safe(entry.name, 60)}", *grid(columns, rows).lines, ""]
    for number, (source, date, confidence) in enumerate(sources, 1):
        lines += paragraph(
            f"[{number}] {safe(source, 400)} ({safe(date, 20)}; confidence {safe(confidence, 20)})", hang=4
        )
    for value in entry.values:
        if value.note:
            lines += paragraph(f"{safe(value.path or entry.name, 44)}: {safe(value.note, 600)}", hang=4)
    return "\n".join(lines) + "\n"


def shown(value: Any) -> str:
    """A value as a scenario file would have it.

    >>> shown([1, 2.5]), shown(True), shown(5.2e-4), shown(None)
    ('[1, 2.5]', 'true', '0.00052', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(shown(item) for item in value)}]"
    return f"{value:.12g}" if isinstance(value, float) else safe(str(value), 60)
