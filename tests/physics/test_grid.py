from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.physics.grid import Axis, Surface, largest_rise, rising

VALUES = ((1.0, 2.0, 4.0), (2.0, 3.0, 6.0), (3.0, 5.0, 10.0))
PLAIN = Surface(Axis((1.0, 2.0, 4.0)), Axis((0.0, 3.0, 15.0)), VALUES)
matrices = st.lists(st.lists(st.floats(0.1, 100), min_size=4, max_size=4), min_size=3, max_size=3)
coordinates = st.floats(0, 1000)


def test_axis_without_zero_is_linear_in_log2_inside() -> None:
    assert Axis((256.0, 512.0)).bracket(384.0) == (0, pytest.approx(log2(1.5)), 0.0)


def test_axis_with_zero_is_linear_in_log2_of_one_more() -> None:
    assert Axis((0.0, 3.0, 15.0)).bracket(1.0) == (0, pytest.approx(0.5), 0.0)


def test_axis_from_zero_is_linear_below_its_first_measured_point() -> None:
    axis = Axis((0.0, 256.0, 512.0), from_zero=True)
    assert axis.bracket(64.0) == (0, 0.25, 0.0)
    assert axis.bracket(384.0) == (1, pytest.approx(log2(1.5)), 0.0)
    assert (axis.contains(255.0), axis.contains(256.0), axis.contains(512.0), axis.contains(513.0)) == (
        False,
        True,
        True,
        False,
    )


def test_axis_is_flat_below_and_counts_beyond() -> None:
    axis = Axis((1.0, 2.0, 4.0))
    assert axis.bracket(0.25) == (0, 0.0, 0.0)
    assert axis.bracket(7.0) == (1, 1.0, 3.0)


def test_axis_forgets_rather_than_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.physics.grid.CACHED_BRACKETS", 8)
    axis = Axis((1.0, 2.0, 4.0))
    brackets = [axis.bracket(1 + i / 100) for i in range(100)]
    assert len(axis._brackets) <= 8
    assert brackets == [Axis((1.0, 2.0, 4.0)).bracket(1 + i / 100) for i in range(100)]


def test_surface_is_exact_at_grid_points() -> None:
    for i, row in enumerate(PLAIN.rows.points):
        for j, column in enumerate(PLAIN.columns.points):
            assert PLAIN(row, column) == VALUES[i][j]


def test_surface_continues_the_last_interval_linearly() -> None:
    assert PLAIN(10.0, 0.0) == pytest.approx(3 + 6 * (3 - 2) / 2)
    assert PLAIN(1.0, 27.0) == pytest.approx(4 + 12 * (4 - 2) / 12)
    cross = (10 - 6 - (5 - 3)) / (2 * 12)
    assert PLAIN(10.0, 27.0) == pytest.approx(10 + 6 * (10 - 6) / 2 + 12 * (10 - 5) / 12 + 6 * 12 * cross)


@given(matrices)
def test_rising_is_the_least_monotone_surface_above(rows: list[list[float]]) -> None:
    raised = rising(rows)
    for i, row in enumerate(rows):
        for j in range(len(row)):
            assert raised[i][j] == max(rows[a][b] for a in range(i + 1) for b in range(j + 1))
    assert largest_rise(rows, raised) >= 0
    assert largest_rise(raised, rising(raised)) == 0


@given(matrices, coordinates, coordinates, coordinates, st.booleans())
def test_surface_never_falls(rows: list[list[float]], x: float, y: float, step: float, from_zero: bool) -> None:
    surface = Surface(Axis((0.0, 8.0, 64.0), from_zero), Axis((0.0, 10.0, 50.0, 200.0)), rising(rows))
    slack = 1e-9 * (1 + surface(x + step, y + step))
    assert surface(x, y) <= surface(x + step, y) + slack
    assert surface(x, y) <= surface(x, y + step) + slack


@given(matrices, coordinates)
def test_surface_is_continuous_at_its_edges(rows: list[list[float]], other: float) -> None:
    surface = Surface(Axis((0.0, 8.0, 64.0), True), Axis((0.0, 10.0, 50.0, 200.0)), rising(rows))
    for edge in (8.0, 64.0):
        below, above = surface(edge * (1 - 1e-9), other), surface(edge * (1 + 1e-9), other)
        assert below == pytest.approx(above, rel=1e-6)
    for edge in (10.0, 50.0, 200.0):
        below, above = surface(other, edge * (1 - 1e-9)), surface(other, edge * (1 + 1e-9))
        assert below == pytest.approx(above, rel=1e-6)
