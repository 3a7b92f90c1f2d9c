"""Studies on terminals of any width: nothing is wider, nothing is lost, files get a whole page."""

from __future__ import annotations

import pytest

from planner.report.format import width
from planner.report.grid import Column, grid, page_columns, page_of, terminal_columns

STUDIES = (("breakeven", "chat"), ("breakeven", "rag"), ("sensitivity", "paper"), ("compare", "chat", "rag"))


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("study", STUDIES)
def test_no_line_is_wider_than_the_terminal(study, columns, invoke, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    command, *names = study
    extra = ["--no-report"] if command == "sensitivity" else []
    text = invoke(command, *(path(n) for n in names), *extra).out
    assert max(width(line) for line in text.splitlines()) <= columns


def test_figures_stay_whole_where_only_text_can_give_way(invoke, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = invoke("compare", path("chat"), path("rag")).out
    assert "131.15" in text
    assert "94.77" in text


def test_files_get_a_whole_page(invoke, path, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "60")
    assert invoke("breakeven", path("chat"), "-o", tmp_path / "out.txt").code == 0
    lines = (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()
    assert 60 < max(width(line) for line in lines) <= 100


def test_width_of_the_page(monkeypatch):
    for stated, page in (("72", 72), ("20", 60), ("400", 100), ("wide", 100), ("", 100)):
        monkeypatch.setenv("COLUMNS", stated)
        with page_of(terminal_columns()):
            assert page_columns() == page
    assert page_columns() == 100


def test_text_gives_way_before_figures():
    columns = [Column("architecture"), Column("$/h", "right"), Column("GPUs", "right"), Column("plan", wrap=True)]
    with page_of(60):
        laid = grid(columns, [["disaggregated and more", "123,456,789.00", "1,024", "word " * 20]])
    assert "123,456,789.00" in laid.lines[1]
    assert max(width(line) for line in laid.lines) <= 60
