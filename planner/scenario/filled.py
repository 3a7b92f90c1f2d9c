"""A scenario's values on the way from the file to the schema."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from planner.errors import Diagnostic
from planner.scenario.yamltree import Document, Path, dotted

Values = dict[str, Any]


@dataclass
class Filled:
    """The completed values, what was wrong on the way, and which paths need no further complaint."""

    document: Document
    values: Values
    problems: list[Diagnostic] = field(default_factory=list)
    failed: set[Path] = field(default_factory=set)
    warnings: list[Diagnostic] = field(default_factory=list)
    entries: list[tuple[str, str]] = field(default_factory=list)  # catalog kind and name of what was looked up

    def problem(self, code: str, path: Path, message: str, hint: str = "") -> None:
        """Record an error at a value, and that validation need not repeat it."""
        self.failed.add(path)
        where = dotted(path)
        self.problems.append(Diagnostic(code, f"{where}: {message}", self.document.nearest(path), where, hint))

    def warn(self, code: str, path: Path, message: str, hint: str = "") -> None:
        """Record a warning at a value."""
        where = dotted(path)
        span = self.document.nearest(path)
        self.warnings.append(Diagnostic(code, f"{where}: {message}", span, where, hint, severity="warning"))


def did_you_mean(word: object, candidates: Iterable[str]) -> str:
    """A hint with the nearest candidate, else all of them when they are few.

    >>> did_you_mean("colocatd", ["colocated", "disaggregated"])
    'did you mean colocated?'
    """
    names = sorted(set(candidates))
    lowered = {name.lower(): name for name in reversed(names)}
    near = difflib.get_close_matches(str(word)[:80].lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f"did you mean {lowered[near[0]]}?"
    return f"one of: {', '.join(names)}" if names and len(", ".join(names)) <= 300 else ""
