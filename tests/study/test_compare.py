"""Comparisons: what differs, what it does alone, and what a pipeline learns from the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.study.compare import compare, flat


@pytest.fixture
def variant(path, tmp_path):
    def make(*changes):
        text = path("chat").read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "chat-variant.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    return make


DEAR = ("usd_per_gb_hour: 5.2e-4", "usd_per_gb_hour: 1.04e-3")
TIGHT = ("ttft_ms: 1500", "ttft_ms: 1200")


def test_inputs_and_what_each_does_alone(path, variant):
    found = compare([path("chat"), variant(DEAR, TIGHT)])
    assert {d.key for d in found.inputs} == {"tiers[dram].usd_per_gb_hour", "slo.ttft_ms"}
    assert found.inputs[0].key == "slo.ttft_ms"
    assert all(d.alone_usd_per_hour > 0 for d in found.inputs)
    outcome = found.outcomes[0]
    assert outcome.usd_per_hour == pytest.approx(sum(v for _, v in outcome.cost_lines))
    assert found.differs
    assert outcome.structure


def test_a_price_alone_leaves_the_plan(path, variant):
    found = compare([path("chat"), variant(DEAR)])
    assert not found.differs
    assert found.outcomes[0].usd_per_hour > 0


def test_exit_code(invoke, path, variant):
    assert invoke("compare", path("chat"), variant(TIGHT), "--exit-code").code == 4
    assert invoke("compare", path("chat"), variant(TIGHT)).code == 0
    assert invoke("compare", path("chat"), variant(DEAR), "--exit-code").code == 0
    assert invoke("compare", path("chat")).code == 2
    assert invoke("compare", path("chat"), variant(("ttft_ms: 1500", "ttft_ms: 1"))).code == 1


def test_plan_files(invoke, path, tmp_path):
    assert invoke("solve", path("rag"), "-f", "json", "-o", tmp_path / "rag.json", "--no-report", "-q").code == 0
    done = invoke("compare", tmp_path / "rag.json", path("rag"), "--exit-code", "--format", "json")
    assert done.code == 0
    assert done.data["inputs"] == []
    assert done.data["outcomes"][0]["same_plan"]


def test_services_side_by_side(invoke, path):
    done = invoke("compare", path("rag"), path("steady"), path("paper"), "--format", "json")
    rows = done.data["services"]
    assert [r["service"] for r in rows] == ["rag", "steady", "paper"]
    assert all(r["verdict"] for r in rows)
    text = invoke("compare", path("rag"), path("steady"), path("paper")).out
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "verdict" in text
    assert invoke("compare", path("rag"), path("steady"), "-f", "csv").out.startswith("file,service")


def test_flat():
    assert flat({"a": {"b": 1}, "t": [{"name": "x", "v": 2}], "l": [1, 2]}) == {
        "a.b": 1, "t[x].name": "x", "t[x].v": 2, "l": (1, 2),
    }  # fmt: skip


def test_html_writes_a_page_side_by_side(tmp_path: Path) -> None:
    from planner.cli.compare import compare as command

    folder = Path(__file__).parent / "scenarios"
    files = sorted(folder.glob("*.yaml"))[:2]
    page = tmp_path / "page.html"
    assert command(files, html=page, quiet=True) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert all(f.stem in text for f in files)
