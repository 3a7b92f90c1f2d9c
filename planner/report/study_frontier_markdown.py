"""A frontier as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report import study_frontier as told
from planner.report import study_markdown as markdown
from planner.report.study_common import PLAN_TITLES

if TYPE_CHECKING:
    from planner.study.frontier import Frontier


def to_markdown(found: Frontier) -> str:
    """The tables of the terminal, for an issue or a pull request."""
    return markdown.document(
        told.title_of(found),
        *map(markdown.text, told.stopped_lines(found)),
        *map(markdown.text, told.today_line(found)),
        _table(told.PRICE_TITLES, told.price_rows(found), range(1, 4)),
        markdown.section(told.cheapest_title(found), *_cheapest(found)),
        markdown.section("Four cells, $/h", _cells(found)),
        markdown.section("Turns", markdown.bullets(told.mark_lines(found))),
        markdown.section("What breaks first", *_growth(found)),
        markdown.bullets(found.notes),
    )


def _table(titles: tuple[str, ...] | list[str], rows: list[list[str]], right: range) -> str:
    return markdown.table(titles, rows, right) if rows else ""


def _cheapest(found: Frontier) -> list[str]:
    rows, left = told.cheapest_rows(found)
    more = markdown.text(f"and {left} more between them: --format csv") if left else ""
    return [_table([told.down_to(found), *PLAN_TITLES], rows, range(3)), more]


def _cells(found: Frontier) -> str:
    titles, rows = told.cell_rows(found)
    return _table(titles, rows, range(len(titles)))


def _growth(found: Frontier) -> list[str]:
    text = told.reach_line(found)
    head, rows = told.growth_rows(found)
    return [markdown.text(text), _table(head, rows, range(1, 4))] if text else []
