"""Rules of the reuse laws: which keys a law has, and what its numbers must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.scenario.findings import Finding, absent, given, indexed, percent_hint
from planner.scenario.yamltree import Path

LAW_KEYS = {
    "power": ("beta", "hit_rate", "at_gb", "at_tokens", "ceiling"),
    "hill": ("floor", "ceiling", "half_gb", "half_tokens", "slope"),
    "measured": ("points_gb", "points_tokens"),
}
CAPACITY_KEYS = {
    "power": ("at_gb", "at_tokens"),
    "hill": ("half_gb", "half_tokens"),
    "measured": ("points_gb", "points_tokens"),
}
EVERY_KEY = tuple(dict.fromkeys(key for keys in LAW_KEYS.values() for key in keys))


def laws(scenario: Any) -> Iterator[Finding]:
    """Every reuse law is complete and consistent."""
    workload = scenario.workload
    if workload is None:
        return
    if workload.reuse is not None:
        yield from _law(workload.reuse, ("workload", "reuse"))
    for i, c in indexed(workload.classes):
        if c.reuse is not None:
            yield from _law(c.reuse, ("workload", "classes", i, "reuse"))


def _law(law: Any, path: Path) -> Iterator[Finding]:
    if law.law is None:
        return
    own = LAW_KEYS[law.law]
    for name in EVERY_KEY:
        if name not in own and not absent(law, name):
            yield Finding("law-key", (*path, name), f"not a key of the {law.law} law", f"it has {', '.join(own)}")
    capacities = CAPACITY_KEYS[law.law]
    present = [name for name in capacities if not absent(law, name)]
    if len(present) == 2:
        message = f"give {capacities[0]} or {capacities[1]}, not both"
        yield Finding("law-capacity", (*path, capacities[1]), message)
    missing = [name for name in own if name not in capacities and absent(law, name)]
    missing += [] if present else [" or ".join(capacities)]
    if missing:
        yield Finding("missing-key", path, f"the {law.law} law needs {', '.join(missing)}")
    yield from {"power": _power, "hill": _hill, "measured": _measured}[law.law](law, path)


def _power(law: Any, path: Path) -> Iterator[Finding]:
    if given(law.ceiling, law.hit_rate) and law.ceiling < law.hit_rate:
        message = f"{law.ceiling:g} is below the hit_rate {law.hit_rate:g}"
        yield Finding(
            "ceiling", (*path, "ceiling"), message, "the ceiling is the highest hit rate that the curve reaches"
        )


def _hill(law: Any, path: Path) -> Iterator[Finding]:
    if given(law.ceiling, law.floor) and law.ceiling <= law.floor:
        yield Finding("ceiling", (*path, "ceiling"), f"{law.ceiling:g} is not above the floor {law.floor:g}")


def _measured(law: Any, path: Path) -> Iterator[Finding]:
    for name in CAPACITY_KEYS["measured"]:
        points = getattr(law, name)
        if points is not None and not points:
            yield Finding("wrong-length", (*path, name), "needs at least one point [capacity, hit rate]")
        elif points is not None and all(p is not None and len(p) == 2 and given(*p) for p in points):
            yield from _points(points, (*path, name))


def _points(points: Any, path: Path) -> Iterator[Finding]:
    """Capacity rises from point to point and the hit rate never falls; the origin may be the first point."""
    before = (0.0, 0.0)
    for i, (capacity, hit_rate) in enumerate(points):
        if capacity <= before[0] and (i or (capacity, hit_rate) != before):
            message = f"capacity {capacity:g} is not above the one before it, {before[0]:g}"
            yield Finding("points-order", (*path, i), message, "sort the points by capacity")
            return
        if not 0 <= hit_rate <= 1:
            message = f"expected a hit rate from 0 to 1, got {hit_rate:g}"
            yield Finding("out-of-range", (*path, i), message, percent_hint(hit_rate))
        elif hit_rate < before[1]:
            message = f"hit rate {hit_rate:g} is below the one before it, {before[1]:g}"
            yield Finding("points-order", (*path, i), message, "more capacity never lowers the hit rate")
        before = (max(capacity, before[0]), hit_rate if 0 <= hit_rate <= 1 else before[1])
