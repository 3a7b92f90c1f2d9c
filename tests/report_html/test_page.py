"""The page as text: self-contained, small, quick, its numbers the plan file's; and files that no solve wrote."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from planner.optimize import solve_scenario
from planner.report import data as plan_json
from planner.report.assumptions import values
from planner.report.certainty import band
from planner.report.change import changes
from planner.report.html.page import PLOTLY, asset
from planner.report.reread import stored_set
from planner.scenario import load
from tests.report import sample
from tests.report_html import made

MOST_BYTES = 6_000_000
PLOTLY_SHA256 = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"  # npm plotly.js-basic-dist-min 4.1.1
ROOT = Path(__file__).parents[2]


class Outline(HTMLParser):
    """Tags with their attributes, and headings in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def outline(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Outline()
    parser.feed(page)
    return parser.tags


@pytest.fixture(scope="module")
def chat() -> Any:
    return made.plan_data("chat")


@pytest.fixture(scope="module")
def page(chat: Any) -> str:
    return made.page_of(chat).replace("\u00a0", " ")


@pytest.mark.parametrize("name", ["plan_set", "infeasible", "hostile"])
def test_a_plan_file_comes_back_as_it_was_written(name: str) -> None:
    text = plan_json.to_json(getattr(sample, name)())
    assert plan_json.to_json(stored_set(json.loads(text)).plan_set) == text


def test_a_solved_plan_file_comes_back_too(chat: Any) -> None:
    stored = stored_set(chat)
    again = plan_json.plan_file(stored.plan_set, chat["scenario"]["resolved"], stored.text)
    for key in ("plans", "certificate", "cells", "defaults", "sources", "versions", "scenario", "status"):
        assert _close(json.loads(plan_json.dumps(again))[key], chat[key]), key


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_close(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return bool(one == pytest.approx(other)) if isinstance(one, float) else bool(one == other)


def test_small_and_self_contained(page: str) -> None:
    assert len(page.encode()) < MOST_BYTES
    for tag, attributes in outline(page):
        assert "src" not in attributes or (attributes["src"] or "").startswith("data:"), tag
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        if tag == "a":
            assert (attributes["href"] or "").startswith("#")
    assert not re.search(r"@import|url\(", asset("style.css"))


def test_the_policy_allows_these_scripts_and_nothing_else(page: str) -> None:
    policy = next(a["content"] for t, a in outline(page) if a.get("http-equiv") == "Content-Security-Policy") or ""
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(hashes) == 2
    assert re.findall(r"'sha256-([^']+)'", policy.split(";")[1]) == hashes
    assert hashlib.sha256(asset(PLOTLY).encode()).hexdigest() == PLOTLY_SHA256


def test_generation_takes_less_than_two_seconds(tmp_path: Path) -> None:
    (tmp_path / "plans.json").write_text(made.plan_text("conversation"), encoding="utf-8")
    before = os.times()
    subprocess.run([sys.executable, "-m", "planner", "report", tmp_path / "plans.json", "-q"], check=True, cwd=ROOT)
    after = os.times()  # processor time: what else the machine does is not the report's
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert 0 < used < 2.0
    assert (tmp_path / "report.html").exists()


def test_the_report_needs_no_solver(tmp_path: Path) -> None:
    (tmp_path / "plans.json").write_text(made.plan_text("chat"), encoding="utf-8")
    code = (
        "import sys; from planner.cli import run; "
        f"assert run(['report', {str(tmp_path / 'plans.json')!r}, '-q']) == 0; "
        "bad = {'pyomo', 'highspy'} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_first_screen_answers(chat: Any, page: str) -> None:
    best = chat["plans"][0]
    cell = chat["cells"]["colocated"]["hbm_only"]["usd_per_hour"]
    first = page[page.index('<section id="answer">') : page.index('<section id="costs">')]
    gpus = sum(line["quantity"] for line in best["costs"] if line["unit"] == "GPU")
    for said in (
        f"Run on {gpus:.0f} H200 SXM GPUs",
        f"${best['usd_per_hour'] * 730:,.0f}",
        f"${best['usd_per_hour'] * 8760:,.0f} a year",
        f"${best['usd_per_million_tokens']:.4f}",
        f"{100 * (1 - best['usd_per_hour'] / cell):.0f} %",
        f"${(cell - best['usd_per_hour']) * 730:,.0f} a month",
        "What could change the answer",
        "DIMMs of",
    ):
        assert said in first, said


CORRECTED = """
name: sure
model: qwen3-235b-a22b-fp8
workload:
  requests_per_second: 5
  classes:
    - {name: all, share: 1.0, prompt_tokens: 3000, reusable_tokens: 1500, output_tokens: 200}
  reuse: {law: power, beta: 0.4, hit_rate: 0.35, at_gb: 2000, ceiling: 0.8}
slo: {ttft_ms: 2500, tpot_ms: 60}
engine: {correction: CORRECTION}
"""


@pytest.mark.parametrize("correction", ["default", "none"])
def test_the_error_of_the_times_is_on_the_first_screen(tmp_path: Path, correction: str) -> None:
    file = tmp_path / "sure.yaml"
    file.write_text(CORRECTED.replace("CORRECTION", correction), encoding="utf-8")
    loaded = load(file)
    found = solve_scenario(loaded)
    best = found.plans[0].evaluation
    data = json.loads(plan_json.to_json(found, loaded.model_dump(mode="json", exclude_none=True), loaded.text))
    page = made.page_of(data).replace("\u00a0", " ")
    first = page[: page.index('<section id="costs">')]
    if correction == "none":
        assert best.tpot_error is None
        assert "kernel times, not corrected" in first
        assert " … +" not in first
        return
    assert best.tpot_error
    assert best.ttft_error
    assert data["plans"][0]["tpot_error"] == list(best.tpot_error)
    assert f"TPOT {1e3 * best.tpot_s:,.0f} ms{band(best.tpot_error)}" in first
    assert f"{band(best.ttft_error).strip()}; limit 2,500 ms" in first
    assert stored_set(data).plan_set.plans[0].evaluation.ttft_error == best.ttft_error


def test_every_value_of_the_scenario_is_listed(chat: Any, page: str) -> None:
    stored = stored_set(chat)
    assert stored.scenario is not None
    table = values(stored.scenario, stored.plan_set, stored.text)
    keys = {row[0]: row for row in table.rows}
    assert {key for key in _leaf_keys(chat["scenario"]["resolved"])} == set(keys)
    assert {key for key, row in keys.items() if row[4] == "defaulted"} >= {
        d["key"] for d in chat["defaults"] if d["key"] in keys
    }
    assert keys["slo.ttft_ms"][1:5] == ("1500", "ms", "time to first token, at the percentile", "given")
    assert keys["hardware.title"][4:6] == ("catalog", "")  # no line of the file has it, and nobody is cited for it
    assert keys["model.layers"][4:] == ("catalog", "[1]", "2026-08-21", "high")
    assert page.count("<code>prefill_<wbr>queue</code>") == 1  # the formulation
    assert chat["scenario"]["sha256"] in page
    for line in filter(None, chat["scenario"]["text"].split("\n")):
        assert escape(line) in page


def test_values_that_nobody_is_cited_for_say_what_they_are(chat: Any) -> None:
    stored = stored_set(chat)
    assert stored.scenario is not None
    rows = {row[0]: row for row in values(stored.scenario, stored.plan_set, stored.text).rows}
    for key, origin in (
        ("model.windowed_layers", "schema default"), ("model.window_tokens", "schema default"),
        ("model.sequence_state_bytes", "schema default"), ("workload.classes[0].prompt_cv", "schema default"),
        ("workload.reuse.at_requests_per_second", "derived from other values"),
    ):  # fmt: skip
        assert rows[key][5] == origin
    for key in ("hardware.peak_tflops", "engine.roofline.mfu", "engine.roofline.step_overhead_ms"):
        source, date, confidence = rows[key][5:]
        assert re.fullmatch(r"\[\d+\]", source), key
        assert re.match(r"20\d\d-", date), key
        assert confidence, key
    assert all(row[5] for key, row in rows.items() if key.rpartition(".")[2] not in ("title", "name", "description"))
    text = f"{stored.text}\nengine: {{roofline: {{mfu: 0.21}}}}\n"
    assert {row[0]: row for row in values(stored.scenario, stored.plan_set, text).rows}["engine.roofline.mfu"][4:6] == (
        "given", "the file"
    )  # fmt: skip


def _leaf_keys(node: Any, path: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from _leaf_keys(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(node, list) and node and isinstance(node[0], dict):
        for n, inner in enumerate(node):
            yield from _leaf_keys(inner, f"{path}[{n}]")
    elif node != "" and node is not None:
        yield path


def test_headings_tables_and_charts_are_labelled(page: str) -> None:
    tags = outline(page)
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert sum(t == "caption" for t, _ in tags) == sum(t == "table" for t, _ in tags)
    drawn = [a for _, a in tags if "data-chart" in a]
    assert len(drawn) == 3
    assert all(a["role"] == "img" and len(a["aria-label"] or "") > 60 for a in drawn)
    assert page.count("<summary>Numbers of this chart</summary>") == len(drawn)
    assert all(a.get("scope") for t, a in tags if t == "th")


def test_hostile_text_is_text(chat: Any) -> None:
    tags = outline(made.page_of(made.hostile()))
    assert sum(tag == "script" for tag, _ in tags) == 3
    assert not [tag for tag, a in tags if tag == "img" or any(key.startswith("on") for key in a)]
    assert all((a["href"] or "").startswith("#") for tag, a in tags if tag == "a")


def test_infeasible_and_bare_plan_files_have_a_page_too() -> None:
    infeasible = made.page_of(plan_json.plan_file(sample.infeasible())).replace("\u00a0", " ")
    assert "no configuration prefills 24,000 tokens in 350 ms" in infeasible
    assert "<script>" not in infeasible
    bare = made.page_of(json.loads(plan_json.to_json(sample.plan_set())))
    assert 'data-chart="cost"' in bare
    assert 'data-chart="hits"' not in bare  # the curve needs the scenario's values


def test_a_plan_that_is_not_proven_says_so_first() -> None:
    data = made.plan_data("chat")
    data["certificate"]["relative_gap"] = 0.2093
    data["warnings"] = ["stopped early (time limit): plans may be improved on within the gap shown"]
    page = made.page_of(data).replace("\u00a0", " ")
    assert "<h1>Best found so far: " in page
    assert '<p class="proof unproven">Not proven optimal: a design up to 20.93 % cheaper may exist' in page
    assert "<b>Stopped early</b> (time limit): plans may be improved on" in page


def test_an_impossible_scenario_says_what_would_make_it_possible() -> None:
    data = json.loads(plan_json.to_json(sample.infeasible()))
    data["conflicts"] = [{"code": "ttft", "promise": "TTFT", "best": 865.0, "limit": 150.0, "unit": "ms",
                          "key": "slo.ttft_ms", "line": 34, "alone": True}]  # fmt: skip
    change = {"key": "slo.ttft_ms", "line": 34, "from": 150, "to": 865}
    data["fixes"] = [{"usd_per_hour": 229.57, "changes": [change]}]
    page = made.page_of(data).replace("\u00a0", " ")
    for said in ("No design keeps every promise", "<strong>150 ms</strong><span>best possible: 865 ms",
                 "<strong>$167,586 a month</strong><span>slo.ttft_ms: 865",
                 "slo.ttft_ms: 865 instead of 150", "$2,011,033"):  # fmt: skip
        assert said in page, said


def test_the_simplest_deployment_may_be_the_answer() -> None:
    page = made.page_of(made.plan_data("steady"))
    assert "the simplest deployment is the cheapest" in page


def test_what_could_change_names_the_runner_up_and_what_binds(chat: Any) -> None:
    said = dict(changes(stored_set(chat)))
    more = chat["plans"][1]["usd_per_hour"] - chat["plans"][0]["usd_per_hour"]
    assert f"${more * 730:,.0f} a month more" in said["The next design:"]
    assert "TTFT" in said["What binds:"]
    assert "a KV transfer that takes no time: " in said["Solved again with"]
    assert "structure" not in said["Solved again with"]


def test_the_example_is_of_todays_scenario() -> None:
    folder = ROOT / "reports" / "examples" / "chat"
    page = (folder / "report.html").read_text(encoding="utf-8")
    digest = hashlib.sha256((made.SCENARIOS / "chat.yaml").read_bytes()).hexdigest()
    again = "planner solve scenarios/chat.yaml; planner report reports/chat/plans.json --with tornado,frontier"
    assert digest in page, f"write it again: {again}"
    assert len(page.encode()) < MOST_BYTES
    for chart in ("cost", "ttft", "hits", "tornado", "frontier"):
        assert f'data-chart="{chart}"' in page
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")
