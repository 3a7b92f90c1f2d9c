"""Values that are legal and improbable: a slip of a unit more often than a wish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from planner.errors import Diagnostic
from planner.scenario import catalog
from planner.scenario.introspect import field_at, unit_of
from planner.scenario.schema import Scenario
from planner.scenario.yamltree import Document, Path, dotted


def improbable(scenario: Scenario, document: Document) -> Iterator[Diagnostic]:
    """A warning for each value of the file that is outside what is usual, with the range and its source."""
    for path, key, value in _numbers(scenario):
        span = document.span(path)
        usual = catalog.usual_range(key) if span else None
        if usual and not usual[0] <= value <= usual[1]:
            low, high, source = usual
            unit = unit_of(field_at(path)).replace("fraction", "")
            message = f"{dotted(path)}: {_spoken(value)}{unit and ' ' + unit} is unusual"
            hint = f"usually {_spoken(low)} to {_spoken(high)}{unit and ' ' + unit} ({source})"
            yield Diagnostic("improbable", message, span, dotted(path), hint, severity="warning")
    yield from _beyond_context(scenario, document)


def _beyond_context(scenario: Scenario, document: Document) -> Iterator[Diagnostic]:
    longest = scenario.model.max_context
    for i, c in enumerate(scenario.workload.classes):
        total = c.prompt_tokens + c.output_tokens
        if longest is not None and total > longest:
            path = ("workload", "classes", i, "prompt_tokens")
            message = f"{dotted(path)}: prompt and output are {total:,} tokens, the model's context {longest:,}"
            yield Diagnostic("beyond-context", message, document.nearest(path), dotted(path), severity="warning")


def _numbers(value: Any, path: Path = (), key: str = "") -> Iterator[tuple[Path, str, float]]:
    """Every number with its path and its key: no indices, tiers by name."""
    if isinstance(value, BaseModel):
        for name, inner in value:
            yield from _numbers(inner, (*path, name), f"{key}.{name}" if key else name)
    elif isinstance(value, tuple):
        for i, inner in enumerate(value):
            if isinstance(inner, BaseModel):
                own = f".{getattr(inner, 'name', '')}" if path == ("tiers",) else ""
                yield from _numbers(inner, (*path, i), key + own)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, key, float(value)


def _spoken(value: float) -> str:
    """A number as people write it.

    >>> _spoken(200000.0), _spoken(0.000115), _spoken(10.44)
    ('200,000', '0.000115', '10.44')
    """
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.4g}"
