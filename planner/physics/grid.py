"""A measured surface: interpolation inside its grid, a linear continuation outside, monotone everywhere.

Inside, linear in log2 of each axis (an axis that holds 0 maps through ``log2(1 + v)``). Beyond the last point of an
axis the last interval is continued linearly in the axis itself. Below the first point the surface is flat, unless a
value at 0 was given: then it is linear between that and the first point.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log2

CACHED_BRACKETS = 4096  # per axis; the planner asks for the same few thousand points over and over
Matrix = tuple[tuple[float, ...], ...]
Bracket = tuple[int, float, float]  # interval, weight of its upper end, distance beyond the last point


def rising(rows: Sequence[Sequence[float]]) -> Matrix:
    """The smallest surface above ``rows`` that never falls in either direction (running maximum).

    >>> rising([[1, 3, 2], [2, 1, 5]])
    ((1, 3, 3), (2, 3, 5))
    """
    result: list[tuple[float, ...]] = []
    for row in rows:
        along = tuple(accumulate(row, max))
        result.append(tuple(map(max, along, result[-1])) if result else along)
    return tuple(result)


def largest_rise(before: Sequence[Sequence[float]], after: Matrix) -> float:
    """Largest relative change that :func:`rising` made; 0 where the rows were monotone already."""
    return max(b / a - 1.0 for old, new in zip(before, after, strict=True) for a, b in zip(old, new, strict=True))


@dataclass(frozen=True)
class Axis:
    """Points of one axis, ascending; ``from_zero`` makes the first interval linear (its lower end is then 0)."""

    points: tuple[float, ...]
    from_zero: bool = False
    _places: tuple[float, ...] = field(init=False, repr=False)
    _shift: float = field(init=False, repr=False)
    _brackets: dict[float, Bracket] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Precompute where each point lies in log2."""
        shift = 1.0 if self.points[0] == 0.0 and not self.from_zero else 0.0
        places = tuple(log2(p + shift) if p + shift > 0 else 0.0 for p in self.points)
        object.__setattr__(self, "_shift", shift)
        object.__setattr__(self, "_places", places)

    def bracket(self, value: float) -> Bracket:
        """Interval of ``value``, weight of the interval's upper end, and how far it lies beyond the last point."""
        found = self._brackets.get(value)
        if found is None:
            if len(self._brackets) >= CACHED_BRACKETS:
                self._brackets.clear()
            found = self._brackets[value] = self._locate(value)
        return found

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies between the first and the last measured point."""
        return self.points[1 if self.from_zero else 0] <= value <= self.points[-1]

    def _locate(self, value: float) -> Bracket:
        points = self.points
        last = len(points) - 2
        if value >= points[-1]:
            return last, 1.0, value - points[-1]
        if value <= points[0]:
            return 0, 0.0, 0.0
        i = bisect_right(points, value) - 1
        if i == 0 and self.from_zero:
            return 0, value / points[1], 0.0
        low, high = self._places[i], self._places[i + 1]
        return i, (log2(value + self._shift) - low) / (high - low), 0.0


@dataclass(frozen=True)
class Surface:
    """A monotone surface over two axes. ``values`` must not fall along either (see :func:`rising`).

    Continuing both axes keeps it monotone only if a slope at the edge never falls along the edge, so the edge slopes
    are running maxima too.
    """

    rows: Axis
    columns: Axis
    values: Matrix
    _row_slopes: tuple[float, ...] = field(init=False, repr=False)  # of the last row interval, per column
    _column_slopes: tuple[float, ...] = field(init=False, repr=False)  # of the last column interval, per row
    _corner_slope: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Precompute the slopes of the last intervals."""
        v = self.values
        dx = self.rows.points[-1] - self.rows.points[-2]
        dy = self.columns.points[-1] - self.columns.points[-2]
        row_slopes = tuple(accumulate(((b - a) / dx for a, b in zip(v[-2], v[-1], strict=True)), max))
        column_slopes = tuple(accumulate(((row[-1] - row[-2]) / dy for row in v), max))
        object.__setattr__(self, "_row_slopes", row_slopes)
        object.__setattr__(self, "_column_slopes", column_slopes)
        object.__setattr__(self, "_corner_slope", (row_slopes[-1] - row_slopes[-2]) / dy)

    def __call__(self, row: float, column: float) -> float:
        """The value at ``(row, column)``."""
        i, wi, beyond_row = self.rows.bracket(row)
        j, wj, beyond_column = self.columns.bracket(column)
        upper, lower = self.values[i], self.values[i + 1]
        first = upper[j] + (lower[j] - upper[j]) * wi
        second = upper[j + 1] + (lower[j + 1] - upper[j + 1]) * wi
        value = first + (second - first) * wj
        if beyond_row or beyond_column:
            rs, cs = self._row_slopes, self._column_slopes
            value += beyond_row * (rs[j] + (rs[j + 1] - rs[j]) * wj)
            value += beyond_column * (cs[i] + (cs[i + 1] - cs[i]) * wi)
            value += beyond_row * beyond_column * self._corner_slope
        return value

    def contains(self, row: float, column: float) -> bool:
        """Whether the point lies within the measured grid."""
        return self.rows.contains(row) and self.columns.contains(column)
