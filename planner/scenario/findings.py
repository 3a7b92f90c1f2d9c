"""What a rule between values yields, and the small helpers that rules share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from planner.errors import Diagnostic
from planner.scenario.yamltree import Document, Path, dotted


class Finding(NamedTuple):
    """A broken rule at a key path; the message follows the path."""

    code: str
    path: Path
    message: str
    hint: str = ""

    def diagnostic(self, document: Document) -> Diagnostic:
        """The finding with its place in the file."""
        path = dotted(self.path)
        return Diagnostic(self.code, f"{path}: {self.message}", document.nearest(self.path), path, self.hint)


class Usable:
    """The valid parts of a wrong scenario: attribute access that gives None for what is missing or wrong."""

    def __init__(self, values: Any, path: Path, wrong: frozenset[Path]) -> None:
        """Wrap a mapping at a path; ``wrong`` are the paths of invalid values."""
        self._values, self._path, self._wrong = values, path, wrong

    def __getattr__(self, name: str) -> Any:
        """The value of a key, None where it is missing or wrong."""
        return self._get(self._values.get(name), (*self._path, name))

    def lacks(self, name: str) -> bool:
        """Whether a key is missing, rather than wrong."""
        return self._values.get(name) is None

    def _get(self, value: Any, path: Path) -> Any:
        if path in self._wrong:
            return None
        if isinstance(value, dict):
            return Usable(value, path, self._wrong)
        if isinstance(value, tuple):
            return tuple(self._get(v, (*path, i)) for i, v in enumerate(value))
        return value


def absent(holder: Any, name: str) -> bool:
    """Whether a key was left out; a wrong value is complained about elsewhere."""
    return holder.lacks(name) if isinstance(holder, Usable) else getattr(holder, name) is None


def given(*values: Any) -> bool:
    """Whether every value is there."""
    return all(v is not None for v in values)


def indexed(items: Any) -> Iterator[tuple[int, Any]]:
    """The usable items of a list with their index."""
    return ((i, item) for i, item in enumerate(items or ()) if item is not None)


def percent_hint(value: float) -> str:
    """The likely slip when a fraction is above 1.

    >>> percent_hint(95)
    'a fraction, not percent: write 0.95'
    """
    return f"a fraction, not percent: write {value / 100:g}" if 1 < value <= 100 else ""


def repeated(values: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Index and value of everything that was there before."""
    seen: set[Any] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)
