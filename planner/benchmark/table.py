"""One measured figure and how a list of them is printed, each as a ratio to something stated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measurement: ``value`` in ``unit``, beside what it is compared with and the target it should meet."""

    group: str
    name: str
    value: float
    unit: str
    baseline: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


def rendered(figures: Iterable[Figure]) -> str:
    """A plain table, at most 100 columns."""
    lines: list[str] = []
    group = ""
    for f in figures:
        if f.group != group:
            group = f.group
            lines.append(("\n" if lines else "") + group)
        ratio = "" if f.ratio is None else f"{f.ratio:,.2f} × {f.baseline}"
        target = "" if not f.target else f"{f.target}: {'met' if f.met else 'MISSED'}"
        lines.append(f"  {f.name:<44} {f.value:>10,.4g} {f.unit:<6} {ratio:<20} {target}".rstrip())
    return "\n".join(lines)
