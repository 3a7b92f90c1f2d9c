"""What a loaded scenario knows about its file, beside its values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from planner.errors import Diagnostic, Span
from planner.scenario.yamltree import Document, Path

PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def parse_path(text: str) -> Path:
    """A dotted key path as its parts.

    >>> parse_path("workload.classes[0].share")
    ('workload', 'classes', 0, 'share')
    """
    return tuple(int(m.group(2)) if m.group(2) else m.group(1) for m in PART.finditer(text))


@dataclass(frozen=True)
class Meta:
    """Where a scenario came from. Two scenarios with the same values are equal whatever their files."""

    file: str = field(default="<scenario>", compare=False)
    sha256: str = field(default="", compare=False)
    defaults: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    entries: tuple[tuple[str, str], ...] = field(default=(), compare=False)  # catalog kind and name
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)
    document: Document | None = field(default=None, compare=False, repr=False)

    def span(self, path: str) -> Span | None:
        """Where a key stands in the file."""
        return self.document.span(parse_path(path)) if self.document else None
