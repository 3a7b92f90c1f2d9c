"""The page in a real browser: silent, offline, drawn with the plan's numbers, in every form that people read it in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.report_html import made
from tests.report_html.browser import Browser, executable

pytestmark = pytest.mark.skipif(executable() is None, reason="no Chromium here (apt-get install chromium)")


ALL = ("chat", "conversation", "study", "hostile", "compare", "long", "longs")


@pytest.mark.parametrize("name", ALL)
def test_silent_and_offline(chromium: Browser, pages: Path, name: str) -> None:
    chromium.emulate(1280)
    chromium.open(pages / f"{name}.html")
    assert chromium.complaints() == []
    assert chromium.requests() == [(pages / f"{name}.html").as_uri()]
    drawn = "[...document.querySelectorAll('[data-chart]')].map(p => p.querySelectorAll('.main-svg .trace').length)"
    counts = chromium.run(drawn)
    assert counts
    assert all(counts)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [360, 768, 1600])
def test_nothing_is_wider_than_the_screen(chromium: Browser, pages: Path, name: str, width: int) -> None:
    chromium.emulate(width)
    chromium.open(pages / f"{name}.html")
    assert chromium.run("document.documentElement.scrollWidth") <= width
    widths = chromium.run("[...document.querySelectorAll('.main-svg')].map(s => s.getBoundingClientRect().right)")
    assert max(widths) <= width
    outside = chromium.run(
        "[...document.querySelectorAll('h1,h2,h3,p,li,.card')].filter(e => e.getBoundingClientRect().width "
        "&& e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert outside == 0


def test_figures_of_sums_stay_whole_on_a_narrow_screen(chromium: Browser, pages: Path) -> None:
    chromium.emulate(360)
    chromium.open(pages / "longs.html")
    figures = "[...document.querySelectorAll('.stacked tr.total td.n')].filter(e => e.textContent.startsWith('$'))"
    text_height = f"{figures}.map(e => {{const r = document.createRange(); r.selectNodeContents(e); " \
                  "return new Set([...r.getClientRects()].map(b => Math.round(b.top))).size})"  # fmt: skip
    assert chromium.run(f"{figures}.map(e => e.textContent)")[0] == "$1,123,185"
    assert set(chromium.run(text_height)) == {1}


def test_labels_near_full_hit_rates_are_inside_the_chart(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "long.html")  # HBM holds everything: its label stands above 99.5 %
    assert (
        chromium.run("document.querySelector('[data-chart=\"hits\"]').data.find(t => t.name === 'chosen').y[0]") > 0.99
    )
    top = "document.querySelector('[data-chart=\"hits\"] .main-svg').getBoundingClientRect().top"
    labels = (
        "[...document.querySelectorAll('[data-chart=\"hits\"] .textpoint')].map(e => e.getBoundingClientRect().top)"
    )
    assert min(chromium.run(labels)) >= chromium.run(top)


def hovered(page: Browser, chart: str, selector: str, most: int = 60) -> list[str]:
    """What appears under the mouse over each mark of a chart, one after the other."""
    page.run(f"document.querySelector('[data-chart=\"{chart}\"]').scrollIntoView({{block: 'center'}})")
    boxes = page.run(
        f"[...document.querySelectorAll('[data-chart=\"{chart}\"] {selector}')].map(e => e.getBoundingClientRect())"
        ".filter(b => b.width >= 3).map(b => [b.x + b.width / 2, b.y + b.height / 2])"
    )
    said = []
    for x, y in boxes[:most]:
        page.hover(1, 1)
        page.until("!document.querySelector('.hoverlayer .hovertext')")
        page.hover(x, y)
        page.until("document.querySelector('.hoverlayer .hovertext')?.textContent")
        lines = "[...document.querySelectorAll('.hoverlayer .hovertext tspan.line')].map(t => t.textContent)"
        said.append(" | ".join(page.run(lines)))
    return said


def drawn_data(page: Browser, chart: str) -> list[dict[str, Any]]:
    pick = "({name: t.name, x: [...t.x], y: [...t.y]})"
    place = f"document.querySelector('[data-chart=\"{chart}\"]')"
    return list(page.run(f"{place}.data.map(t => {pick})"))


def test_cost_bars_are_the_plans_bills(page: Browser) -> None:
    data = made.plan_data("chat")
    cells = [data["cells"][a][kind] for a in ("colocated", "disaggregated") for kind in ("hbm_only", "tiered")]
    bills = [plan["costs"] for plan in data["plans"]] + [cell["costs"] for cell in cells]
    totals = [plan["usd_per_hour"] for plan in data["plans"]] + [cell["usd_per_hour"] for cell in cells]
    traces = drawn_data(page, "cost")
    for trace in traces:
        expected = [sum(line["usd_per_hour"] for line in bill if line["item"] == trace["name"]) for bill in bills]
        assert [x / 730 for x in trace["x"]] == pytest.approx(expected)
    assert [sum(t["x"][n] for t in traces) / 730 for n in range(len(totals))] == pytest.approx(totals)
    said = hovered(page, "cost", ".bars .point path")
    assert len(said) > 10
    amounts = {f"{line['item']}: ${line['usd_per_hour']:,.2f}/h" for bill in bills for line in bill}
    for text in said:
        found = re.search(r"\| ([^|]*?/h), ", text)
        assert found, text
        assert found[1] in amounts, text
        assert any(f"total ${total:,.2f}/h" in text for total in totals)


def test_ttft_bars_are_the_paths(page: Browser) -> None:
    paths = [path for path in made.plan_data("chat")["plans"][0]["ttft"] if path["in_use"]]
    for trace in drawn_data(page, "ttft"):
        assert trace["x"] == pytest.approx([path[f"{trace['name']}_ms"] for path in paths])
    shown = hovered(page, "ttft", ".bars .point path")
    assert len(shown) > 12
    expected = {
        f"{path['class']} · {path['path']} | {part} {path[f'{part}_ms']:,.1f} ms"
        for path in paths
        for part in ("queue", "fetch", "prefill", "transfer", "slack")
    }
    assert set(shown) <= expected
    limit = page.run("document.querySelector('[data-chart=\"ttft\"]').layout.shapes[0].x0")
    assert limit == pytest.approx(made.plan_data("chat")["scenario"]["resolved"]["slo"]["ttft_ms"])


def test_marks_on_the_curve_are_the_capacities(page: Browser) -> None:
    plan = made.plan_data("chat")["plans"][0]
    used = [tier for tier in plan["tiers"] if tier["role"] != "unused"]
    traces = {trace["name"]: trace for trace in drawn_data(page, "hits")}
    assert [x / 1e9 for x in traces["chosen"]["x"]] == pytest.approx([t["capacity_gb"] - t["staging_gb"] for t in used])
    assert traces["chosen"]["y"] == pytest.approx([t["cumulative_hit_rate"] for t in used])
    place = 1 + list(traces).index("chosen")
    shown = hovered(page, "hits", f".scatterlayer .trace:nth-child({place}) .points path")
    for tier, text in zip(used, shown, strict=True):
        assert text.startswith(tier["name"])
        assert text.endswith(f"{100 * tier['cumulative_hit_rate']:.1f} %")


def test_measured_points_are_the_scenarios(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "conversation.html")
    reuse = made.plan_data("conversation")["scenario"]["resolved"]["workload"]["reuse"]
    rates = [h for _, h in reuse.get("points_gb") or reuse["points_tokens"]]
    measured = next(t for t in drawn_data(chromium, "hits") if t["name"] == "measured")
    assert len(measured["y"]) >= 5
    assert all(any(abs(y - h) < 1e-12 for h in rates) for y in measured["y"])


def test_frontier_touches_the_plan(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "study.html")
    data = made.plan_data("chat")
    limit = data["scenario"]["resolved"]["slo"]["ttft_ms"]
    points = [point for t in drawn_data(chromium, "frontier") for point in zip(t["x"], t["y"], strict=True)]
    costs = [y for x, y in points if x <= limit * 1.0001]
    assert min(costs) / 730 == pytest.approx(data["plans"][0]["usd_per_hour"], rel=1e-3)


def test_frontier_says_what_is_drawn(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "study.html")
    drawn = {
        t["name"]: {f"${y / 730:,.2f}/h, ${y:,.0f} a month" for y in t["y"]} for t in drawn_data(chromium, "frontier")
    }
    rows = chromium.run("[...document.querySelectorAll('#frontier tbody tr')].map(r => [...r.children].map(c => "
                        "c.textContent))")  # fmt: skip
    assert all(f"{hour}, {month} a month" in drawn[kind] for kind, _, hour, month, _ in rows)
    for kind, cost, *_ in (text.split(" | ") for text in hovered(chromium, "frontier", ".points path", most=6)):
        assert cost.split(" ms: ")[1] in drawn[kind]


def test_tornado_starts_at_the_plan(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "study.html")
    data = made.plan_data("chat")
    today = data["plans"][0]["usd_per_hour"]
    place = "document.querySelector('[data-chart=\"tornado\"]')"
    assert chromium.run(f"{place}.layout.shapes[0].x0") / 730 == pytest.approx(today, rel=1e-3)
    assert chromium.run(f"{place}.data[0].base") / 730 == pytest.approx(today, rel=1e-3)
    price = data["scenario"]["resolved"]["prices"]["gpu_usd_per_hour"]
    shown = [text for text in hovered(chromium, "tornado", ".bars .point path") if text.startswith("prices.gpu")]
    ends = [float(text.split(" = ")[1].split(" $/h |")[0]) for text in shown]
    assert ends == pytest.approx([0.8 * price, 1.25 * price], 1e-3)
    said = chromium.run("document.querySelector('#change').textContent")
    assert "What each input does to the cost: Of " in said


def test_without_scripts_the_tables_are_there(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.call("Page.navigate", url=(pages / "chat.html").as_uri())
        chromium.until("document.readyState === 'complete' && document.querySelector('noscript p')")
        assert chromium.run("document.querySelectorAll('figure table').length") == 3
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_text_does_nothing(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "hostile.html")
    assert chromium.run("document.querySelectorAll('img, a:not([href^=\"#\"])').length") == 0
    for chart, marks in (("cost", ".bars .point path"), ("ttft", ".bars .point path"), ("hits", ".points path")):
        shown = hovered(chromium, chart, marks, most=3)
        assert shown
    assert chromium.run("document.querySelectorAll('svg a').length") == 0
    chromium.run("document.querySelectorAll('details').forEach(d => {d.open = true})")
    assert chromium.run("window.hurt === undefined")
    assert chromium.complaints() == []
    text = chromium.run("document.querySelector('#file + *, pre').textContent")
    assert "<script>window.hurt=1</script>" in text
    assert json.loads(chromium.run("document.getElementById('chart-data').textContent"))
