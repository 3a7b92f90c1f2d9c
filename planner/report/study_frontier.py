"""A frontier as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.format import ABSENT, number, percent, safe, usd
from planner.report.grid import paragraph
from planner.report.study_common import (
    HOURS_PER_MONTH,
    PLAN_TITLES,
    counted,
    plan_cells,
    table,
    titled,
)
from planner.study.marks import cell_name

if TYPE_CHECKING:
    from planner.study.frontier import CellFrontier, Frontier, Vertex
    from planner.study.marks import Mark

LINES = 24  # of the cheapest frontier in a terminal; all are in JSON and CSV
MOST_DIGITS = 3  # after the point, where rows would else show the same value
MARKS = 12  # turns in a table; all are in JSON
SAME = 1e-9
UNREACHED = "not reached"
PRICE_TITLES = ("instead", "$/h", "", "a month", "with")


def to_table(found: Frontier) -> str:
    """The cheapest frontier, the four cells side by side, and where they turn."""
    cheapest = _cheapest(found)
    return titled(
        title_of(found),
        [line for text in stopped_lines(found) for line in paragraph(text)],
        _prices(found),
        [f"  {cheapest_title(found)}", *cheapest] if cheapest else [],
        ["  Four cells, $/h", *_cells(found)],
        ["  Turns", *_marks(found)] if found.marks else [],
        _growth(found),
        [f"  {note}" for note in found.notes],
    )


def title_of(found: Frontier) -> str:
    """The scenario and what it asks for."""
    return f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}"


def stopped_lines(found: Frontier) -> list[str]:
    """That the search was stopped, and how far it came in each cell; empty where it is complete."""
    if not found.interrupted:
        return []
    cells = ", ".join(f"{cell_name(c)} {_reached(found, c)}" for c in found.cells)
    return [
        f"Not complete: {found.interrupted}. Looked at: {cells}.",
        "Which plan is cheapest is only known where every cell was looked at; a longer --time-limit looks further.",
    ]


def _reached(found: Frontier, cell: CellFrontier) -> str:
    if not cell.interrupted:
        return "all"
    if cell.hardest_reached is None:
        return "not at all"
    return f"{'up' if found.axis.harder > 0 else 'down'} to {number(cell.hardest_reached, 1)} {found.axis.unit}"


def cheapest_title(found: Frontier) -> str:
    """Over the table of the cheapest plans."""
    so_far = ", as far as every cell was looked at" if found.interrupted else ""
    return f"Cheapest plan by {found.axis.title} ({found.axis.unit}), easiest first{so_far}"


def _prices(found: Frontier) -> list[str]:
    rows = price_rows(found)
    head = [f"  {line}" for line in today_line(found)]
    return [*head, *table(PRICE_TITLES, rows, (1, 2, 3), (4,))] if rows else head


def today_line(found: Frontier) -> list[str]:
    """What today's value costs."""
    axis, now = found.axis, found.today
    if now is None:
        return []
    cost = f"{usd(now.plan.usd_per_hour)}/h"
    if axis.smallest_step:
        return [f"Today {number(now.reach)} {axis.unit}, at most {number(now.x)} ({axis.key}): {cost}"]
    return [f"Today {number(now.x, _digits(found))} {axis.unit}: {cost}"]


def price_rows(found: Frontier) -> list[list[str]]:
    """What moving today's value by a few steps costs or saves."""
    axis = found.axis
    if found.today is None or axis.smallest_step:
        return []
    x, usd_now = found.today.x, found.today.plan.usd_per_hour
    rows: list[list[str]] = []
    for share in (-0.5, -0.2, -0.1, 0.1, 0.2, 0.5):
        step = max(1, round(abs(share) * x / found.step)) * found.step
        there = x + (step if share > 0 else -step)
        if there <= 0 or axis.is_harder(there, found.hardest) or axis.is_harder(found.easiest, there):
            continue
        best = found.best_at(there)
        sign = "+" if there > x else ""
        label = f"{number(there, _digits(found))} {axis.unit} ({sign}{number(there - x, _digits(found))})"
        if rows and rows[-1][0] == label:
            continue
        if best is None:
            rows.append([label, "impossible", "", "", ""])
            continue
        more = best[1].usd_per_hour - usd_now
        rows.append([
            label, usd(more, signed=True), percent(more / usd_now, 1, signed=True),
            usd(more * HOURS_PER_MONTH, 0, signed=True), _what(best[1]),
        ])  # fmt: skip
    return rows


def _what(vertex: Vertex) -> str:
    cells = plan_cells(vertex.plan)
    return f"{cells[3]} / {cells[4]}, {cells[5]}" if vertex.plan.decode else f"{cells[3]}, {cells[5]}"


def _digits(found: Frontier) -> int:
    return 0 if found.step >= 1 else 2


def cheapest_vertices(found: Frontier, between: bool = True) -> list[tuple[CellFrontier, Vertex]]:
    """The lower envelope of the cells, easiest first: no entry is dearer than another that keeps as much.

    Args:
        found: the frontier.
        between: whether curves have their cost at every grid point too, not only at their ends.
    """
    out: list[tuple[CellFrontier, Vertex]] = []
    own = [(c, v.x) for c in found.cells for v in c.vertices]
    xs = {x for c, x in own if (best := found.best_at(x)) is not None and best[0] is c} | {found.hardest}
    xs |= {c.hardest_reached for c in found.cells if c.interrupted and c.hardest_reached is not None}
    xs |= {x for m in found.marks if m.kind == "disaggregation" for x in (m.easier, m.harder) if x is not None}
    xs |= set(found.grid) if between else set()
    for x in sorted(xs, key=lambda x: found.axis.harder * x):
        best = found.best_at(x)
        if best is None:
            continue
        if out and best[1].usd_per_hour <= out[-1][1].usd_per_hour * (1 + SAME):
            if not found.axis.is_harder(best[1].x, out[-1][1].x):
                continue
            out.pop()
        out.append(best)
    return out


def _cheapest(found: Frontier) -> list[str]:
    rows, left = cheapest_rows(found)
    if not rows and found.interrupted:
        return []
    lines = table([down_to(found), *PLAN_TITLES], rows, (0, 1, 2), (4, 5, 6))
    return [*lines, *([f"  and {left} more between them: --format csv"] if left else [])]


def down_to(found: Frontier) -> str:
    """The first column's title: a plan is the cheapest up to, or down to, its value."""
    return "up to" if found.axis.harder > 0 else "down to"


def cheapest_rows(found: Frontier) -> tuple[list[list[str]], int]:
    """A row per plan of the lower envelope, and how many were left out."""
    every = cheapest_vertices(found)
    if len(every) > LINES:
        every = cheapest_vertices(found, between=False)
    keep = _thinned(every)
    rows: list[list[str]] = []
    for label, (_, vertex) in zip(_labels([v.x for _, v in keep]), keep, strict=True):
        if not rows or rows[-1][0] != label:  # a jump: its near side is within rounding of the far one
            rows.append([label, *plan_cells(vertex.plan)])
    return rows, len(every) - len(keep)


def _labels(xs: list[float]) -> list[str]:
    """Values with the fewest digits that tell them apart."""
    for digits in range(1, MOST_DIGITS + 1):
        labels = [number(x, digits) for x in xs]
        if len(set(labels)) == len(labels):
            return labels
    return [number(x, 1) for x in xs]


def _thinned(every: list[tuple[CellFrontier, Vertex]]) -> list[tuple[CellFrontier, Vertex]]:
    """At most ``LINES``: evenly spread, with both ends."""
    if len(every) <= LINES:
        return every
    picks = sorted({round(i * (len(every) - 1) / (LINES - 1)) for i in range(LINES)})
    return [every[i] for i in picks]


def _cells(found: Frontier) -> list[str]:
    titles, rows = cell_rows(found)
    return table(titles, rows, tuple(range(len(titles))), ())


def cell_rows(found: Frontier) -> tuple[list[str], list[list[str]]]:
    """Titles, and what each cell costs at about ten values."""
    grid = found.grid
    every = max(1, round(len(grid) / 10))
    titles = [f"{found.axis.title}", *(f"{c.architecture}, {'tiers' if c.tiered else 'HBM only'}" for c in found.cells)]
    rows = []
    for x in grid[::every]:
        rows.append([number(x, _digits(found)), *(_cost_at(found, c, x) for c in found.cells)])
    return titles, rows


def _cost_at(found: Frontier, cell: CellFrontier, x: float) -> str:
    if not cell.reached(found.axis, x):
        return UNREACHED
    here = cell.at(found.axis, x)
    return ABSENT if here is None else number(here.usd_per_hour, 2)


def _marks(found: Frontier) -> list[str]:
    return [line for text in mark_lines(found) for line in paragraph(text, hang=2)]


def mark_lines(found: Frontier) -> list[str]:
    """Where the frontier turns; of many changes of role the first."""
    told = main_marks(found)
    lines = []
    for mark in told:
        ends = dict.fromkeys(number(x, 1) for x in (mark.easier, mark.harder) if x is not None)
        lines.append(f"{' → '.join(ends)} {found.axis.unit}: {mark.cell}: {mark.text}")
    left = len(found.marks) - len(told)
    return [*lines, *([f"and {left} more changes of a tier's role: --format json"] if left else [])]


def main_marks(found: Frontier) -> list[Mark]:
    """All turns but changes of role beyond ``MARKS`` in all; easiest first."""
    room = max(1, MARKS - sum(m.kind != "role" for m in found.marks))
    roles = [m for m in found.marks if m.kind == "role"][:room]
    return [m for m in found.marks if m.kind != "role" or m in roles]


def _growth(found: Frontier) -> list[str]:
    """How far today's plan carries, and what breaks first beyond."""
    text = reach_line(found)
    head, rows = growth_rows(found)
    if not text:
        return []
    return [*paragraph(text), *(table(head, rows, (1, 2, 3), (0,)) if rows else [])]


def reach_line(found: Frontier) -> str:
    """How far today's plan carries; empty where it carries all of the range."""
    now = found.today
    if now is None or found.axis.smallest_step or not (now.breaks or found.axis.is_harder(found.hardest, now.reach)):
        return ""
    text = f"Today's plan, kept as it is, carries {number(now.reach, 1)} {found.axis.unit}."
    return text + (" Beyond it, in this order:" if now.breaks else "")


def growth_rows(found: Frontier) -> tuple[list[str], list[list[str]]]:
    """Titles, and a row per promise that today's plan breaks up to the hard end."""
    unit, breaks = found.axis.unit, found.today.breaks if found.today is not None else ()
    head = ["rule", "breaks at", f"needs at {number(found.hardest, 0)} {unit}", "has"]
    return head, [
        [b.rule, f"{number(b.x, 1)} {unit}", _amount(b.need, b.unit), _amount(b.have, b.unit)] for b in breaks
    ]


def _amount(value: float, unit: str) -> str:
    from planner.report.format import ms, quantity, size

    if unit == "s":
        return ms(value) if value < 1e6 else "∞"
    return (
        size(value) + ("/s" if unit.endswith("/s") else "") if unit.startswith("bytes") else f"{quantity(value)} {unit}"
    )


def solves_line(found: Frontier) -> str:
    """How often each cell was solved and what is proven, for stderr."""
    cells = ", ".join(
        f"{c.architecture}{' + tiers' if c.tiered else ''} {counted(len(c.vertices), 'vertex', 'vertices')} in "
        f"{counted(c.solves, 'solve')}"
        for c in found.cells
    )
    gap = max((c.proven_gap for c in found.cells if c.vertices), default=0.0)
    partial = f"partial: {found.interrupted}"
    proven = partial if found.interrupted else f"proven within {percent(gap, 3)} at every value"
    return f"{cells}; {proven} ({found.seconds:.1f} s)"
