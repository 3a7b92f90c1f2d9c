"""One browser and one set of pages for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.report.html import report_html
from planner.report.html.compare import compare_html
from planner.report.html.studies import study_charts
from planner.report.reread import stored_set
from tests.report_html import made
from tests.report_html.browser import Browser, browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of page, written once."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("chat", "conversation"):
        (folder / f"{name}.html").write_text(made.page_of(made.plan_data(name)), encoding="utf-8")
    chat = stored_set(made.plan_data("chat"))
    studies = study_charts(chat, ["frontier", "tornado"])
    (folder / "study.html").write_text(report_html(chat, studies), encoding="utf-8")
    (folder / "hostile.html").write_text(made.page_of(made.hostile()), encoding="utf-8")
    (folder / "compare.html").write_text(
        compare_html([chat, stored_set(made.plan_data("conversation"))]), encoding="utf-8"
    )
    (folder / "long.html").write_text(report_html(made.full(made.named(chat, "L" * 60))), encoding="utf-8")
    six = [made.costing(made.named(chat, letter * 60), 1_123_185 / 6 / 730) for letter in "WMXYZQ"]
    grown = [made.at_load(stored, 40.0 + n) for n, stored in enumerate(six)]
    (folder / "longs.html").write_text(compare_html(grown), encoding="utf-8")
    return folder


@pytest.fixture
def page(chromium: Browser, pages: Path) -> Browser:
    """The report of the scenario ``chat`` on an ordinary screen."""
    chromium.emulate(1280)
    chromium.open(pages / "chat.html")
    return chromium
