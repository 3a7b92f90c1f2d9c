"""The page in every form that people read it in: dark, printed, narrow, by keyboard, by screen reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.report_html import made
from tests.report_html.browser import Browser, executable

pytestmark = pytest.mark.skipif(executable() is None, reason="no Chromium here (apt-get install chromium)")


def rgb(text: str) -> tuple[float, float, float]:
    found = [float(part) for part in re.findall(r"[\d.]+", text)[:3]]
    return found[0], found[1], found[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [c / 255 for c in rgb(colour)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(chromium: Browser, pages: Path, scheme: str) -> None:
    chromium.emulate(1280, scheme=scheme)
    chromium.open(pages / "chat.html")
    assert chromium.complaints() == []
    paint = "(n => {const e = document.createElement('i'); e.style.color = `var(--${n})`; document.body.append(e); " \
            "const c = getComputedStyle(e).color; e.remove(); return c})"  # fmt: skip
    colour = {n: chromium.run(f"{paint}('{n}')") for n in ("ink", "muted", "paper", "panel", "accent", "limit", "mark",
                                                          *(f"s{k}" for k in range(1, 9)))}  # fmt: skip
    assert (sum(rgb(colour["paper"])) < 200) == (scheme == "dark")
    for text in ("ink", "muted", "accent"):
        assert contrast(colour[text], colour["paper"]) >= 4.5
        assert contrast(colour[text], colour["panel"]) >= 4.5
    assert contrast(colour["ink"], colour["mark"]) >= 4.5
    for mark in ("limit", *(f"s{k}" for k in range(1, 9))):
        assert contrast(colour[mark], colour["paper"]) >= 3
    label = chromium.run("getComputedStyle(document.querySelector('#ttft .annotation-text')).fill")
    assert rgb(label) == rgb(colour["ink"])


def test_charts_follow_a_change_of_scheme(page: Browser) -> None:
    fill = "getComputedStyle(document.querySelector('#ttft .annotation-text')).fill"
    light = page.run(fill)
    page.emulate(1280, scheme="dark")
    page.until(f"{fill} !== '{light}'")


def test_charts_follow_the_width(page: Browser) -> None:
    page.emulate(500)
    page.until("document.querySelector('.main-svg').getBoundingClientRect().width <= 500")


@pytest.mark.parametrize("name", ["study", "compare", "hostile"])
def test_no_label_is_cut_on_a_narrow_screen(chromium: Browser, pages: Path, name: str) -> None:
    chromium.emulate(360)
    chromium.open(pages / f"{name}.html")
    boxes = chromium.run(
        "[...document.querySelectorAll('[data-chart] .annotation-text')].map(e => {"
        "const b = e.getBoundingClientRect(), s = e.closest('.plot').getBoundingClientRect(); "
        "return [b.left - s.left, s.right - b.right, b.top - s.top]})"
    )
    assert len(boxes) > 1
    assert min(min(box) for box in boxes) >= -1


def test_labels_and_bars_do_not_overlap(chromium: Browser, pages: Path) -> None:
    chromium.emulate(360)
    chromium.open(pages / "study.html")
    for chart in ("cost", "tornado", "ttft"):
        place = f'[data-chart="{chart}"]'
        labels = sorted(chromium.run(f"[...document.querySelectorAll('{place} .annotation-text')].map(e => "
                                     "[e.getBoundingClientRect().top, e.getBoundingClientRect().bottom])"))  # fmt: skip
        tops = chromium.run(f"[...document.querySelectorAll('{place} .bars .point path')].map(e => "
                            "e.getBoundingClientRect()).filter(b => b.height > 1)"
                            ".map(b => [b.top, b.bottom])")  # fmt: skip
        assert labels
        for top, bottom in labels:
            assert all(bottom <= bar_top + 3 or top >= bar_bottom - 3 for bar_top, bar_bottom in tops), chart


def test_what_to_buy_is_whole_on_a_narrow_screen(chromium: Browser, pages: Path) -> None:
    chromium.emulate(360)
    chromium.open(pages / "chat.html")
    cells = chromium.run("[...document.querySelectorAll('#answer table tbody *')].map(e => [e.textContent, "
                         "e.getBoundingClientRect().right])")  # fmt: skip
    assert any("nodes × " in text for text, _ in cells)
    assert max(right for _, right in cells) <= 360
    nodes = chromium.call("Accessibility.getFullAXTree")["nodes"]
    roles = {n["role"]["value"] for n in nodes if not n["ignored"]}
    assert {"table", "row", "rowheader", "cell"} <= roles  # also where rows are laid out as blocks


def test_print(page: Browser) -> None:
    page.emulate(1280, scheme="dark")
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.emulate(1280, scheme="dark", media="print")
    assert page.run("document.querySelectorAll('details.more:not([open])').length") == 0
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('.numbers')).display") == "none"
    assert rgb(page.run("getComputedStyle(document.documentElement).backgroundColor")) == (255, 255, 255)
    assert sum(rgb(page.run("getComputedStyle(document.querySelector('#ttft .annotation-text')).fill"))) < 200
    assert page.run("Math.max(...[...document.querySelectorAll('.main-svg')].map(s => s.clientWidth))") <= 690
    ranked = "document.querySelector('#costs > .keep')"
    assert "Ranked plans" in page.run(f"{ranked}.textContent")
    assert page.run(f"getComputedStyle({ranked}).breakInside") == "avoid"
    assert page.run(f"getComputedStyle({ranked}.querySelector('thead')).display") == "table-header-group"
    page.emulate(1280)
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("document.querySelectorAll('details.more[open]').length") == 0
    printed = page.pdf()
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 30
    assert page.complaints() == []


def test_keyboard(page: Browser) -> None:
    page.press("Tab")
    assert page.run("document.activeElement.className") == "skip"
    seen = []
    for _ in range(60):
        page.press("Tab")
        seen.append(page.run("document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 30)"))
    assert sum(one.startswith("SUMMARY") for one in seen) >= 6
    assert any(one.startswith("DIV") for one in seen)  # tables scroll by keyboard
    page.run("document.querySelector('.numbers summary').focus()")
    page.press("Enter")
    assert page.run("document.querySelector('.numbers').open")
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_screen_reader(page: Browser) -> None:
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    images = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "image" and not n["ignored"]]
    assert len(images) == 3
    best = made.plan_data("chat")["plans"][0]
    assert f"${best['usd_per_hour'] * 730:,.0f} a month" in images[0]
    texts = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "StaticText"]
    assert texts.count("dollars per month") == 0  # the drawing itself is not read out piece by piece


def test_the_verdict_and_the_proof_of_services_are_seen_without_scrolling(chromium: Browser, pages: Path) -> None:
    chromium.emulate(1280)
    chromium.open(pages / "compare.html")
    box = "document.querySelector('#answer .scroll')"
    assert chromium.run(f"{box}.scrollWidth - {box}.clientWidth") <= 1
    titles = chromium.run(f"{box}.querySelector('thead').innerText").lower()
    for title in ("times", "tiers and disaggregation", "proof"):
        assert title in titles
