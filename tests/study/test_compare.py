"""Comparisons: what differs, what it does alone, and what a pipeline learns from the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.optimize import solve_scenario
from planner.scenario import replace
from planner.study.compare import SECTIONS, compare, flat


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


def test_services_of_one_name_are_told_apart(path, variant):
    chat, other = path("chat"), variant(TIGHT)
    assert compare([chat, other]).labels == ("chat (chat.yaml)", "chat (chat-variant.yaml)")
    assert compare([chat, chat]).labels == ("chat (chat.yaml #1)", "chat (chat.yaml #2)")
    assert compare([chat, path("rag"), other]).labels == ("chat (chat.yaml)", "rag", "chat (chat-variant.yaml)")
    folder = other.parent / "b"
    folder.mkdir()
    same = folder / "chat.yaml"
    same.write_text(chat.read_text(encoding="utf-8"), encoding="utf-8")
    assert compare([chat, same]).labels == (f"chat ({chat})", f"chat ({same})")


def test_one_file_twice(invoke, path):
    done = invoke("compare", path("chat"), path("chat"), "--exit-code")
    assert done.code == 0
    assert "No input differs." in done.out
    assert "costs the same" in done.out


def test_no_plan_comes_before_a_difference(invoke, path, variant, tmp_path):
    impossible = variant(("ttft_ms: 1500", "ttft_ms: 1"))
    assert invoke("compare", path("chat"), impossible, "--exit-code").code == 1
    mixed = invoke("compare", path("chat"), impossible, path("rag"), "--exit-code", "--no-verdict", "-f", "md")
    assert mixed.code == 1
    assert "no design keeps every promise" in mixed.out
    assert "94.77" in mixed.out  # the others have theirs
    stored = tmp_path / "impossible.json"
    assert invoke("solve", impossible, "-f", "json", "-o", stored, "--no-report", "-q").code == 1
    both = invoke("compare", stored, impossible, "-f", "json")
    assert both.code == 1
    assert [s["status"] for s in both.data["services"]] == ["infeasible"] * 2
    assert invoke("compare", path("chat"), tmp_path / "none.yaml").code == 2


def test_what_a_plan_file_says_is_held_against_the_judge(invoke, path, tmp_path):
    stored = tmp_path / "chat.json"
    assert invoke("solve", path("chat"), "-f", "json", "-o", stored, "--no-report", "-q").code == 0
    data = json.loads(stored.read_text(encoding="utf-8"))
    data["certificate"] |= {"proven": False, "relative_gap": 0.03}
    data["plans"][0]["usd_per_hour"] = 99.0
    data["plans"][0]["decision"]["capacity_gb"][0] = [5000.0]
    stored.write_text(json.dumps(data), encoding="utf-8")
    text = " ".join(invoke("compare", stored, path("chat")).out.split())
    assert "not proven optimal: a design up to 3.00 % cheaper may exist" in text
    assert "$99.00/h in the file" in text
    assert "judged again, it breaks hit_law_dram" in text
    data["plans"][0]["decision"]["prefill_config"] = "none such"
    stored.write_text(json.dumps(data), encoding="utf-8")
    unknown = invoke("compare", stored, path("chat"))
    assert unknown.code == 2
    assert "no configuration 'none such'" in unknown.err


def test_why_is_true(path, variant, scenario):
    found = compare([path("chat"), variant(DEAR, TIGHT)])
    first = scenario("chat")
    today = solve_scenario(first, plans=1).plans[0].evaluation
    for difference in found.inputs:
        key = difference.key.replace("tiers[dram]", "tiers[0]")
        alone = solve_scenario(replace(first, {key: difference.values[1]}), plans=1).plans[0].evaluation
        moved = alone.usd_per_hour - today.usd_per_hour
        assert difference.alone_usd_per_hour == pytest.approx(moved, abs=2e-4 * today.usd_per_hour)
    outcome, (a, b) = found.outcomes[0], found.sides
    bill = [{line.item: line.usd_per_hour for line in s.plan.costs} for s in (a, b)]
    changes = {item: bill[1].get(item, 0.0) - bill[0].get(item, 0.0) for item in {**bill[0], **bill[1]}}
    assert outcome.cost_lines[0][0] == max(changes, key=lambda item: abs(changes[item]))
    assert set(outcome.binding_gained) == set(b.plan.binding) - set(a.plan.binding)


def test_pools_of_two_architectures_are_one_line_of_the_bill(path, variant):
    only = variant(("\nprices:", "\ndeployment: {architectures: [colocated]}\n\nprices:"))
    found = compare([path("chat"), only])
    items = dict(found.outcomes[0].cost_lines)
    assert found.outcomes[0].usd_per_hour > 0
    assert "GPUs" in items
    assert not [i for i in items if i.endswith(" GPUs")]
    assert sum(items.values()) == pytest.approx(found.outcomes[0].usd_per_hour)


def test_markdown(invoke, path, variant):
    text = invoke("compare", path("chat"), variant(TIGHT), "-f", "md").out
    assert text.startswith("# compare · chat (chat.yaml) against chat (chat-variant.yaml)")
    assert "## Outcomes" in text
    assert "| slo.ttft\\_ms | 1,500 | 1,200 |" in text


def test_another_model_is_one_line_and_the_work_comes_first(invoke, path):
    done = invoke("compare", path("chat"), path("rag"), "--format", "json")
    inputs = {d["key"]: d for d in done.data["inputs"]}
    assert inputs["model"]["values"] == ["qwen3-235b-a22b-fp8", "gpt-oss-120b"]
    assert not [key for key in inputs if key.startswith(("model.", "engine.roofline"))]
    assert inputs["model"]["alone_usd_per_hour"] < 0  # as the other model on the same load
    assert [key for key in inputs if "classes" in key] == [
        "workload.classes[short]", "workload.classes[long]", "workload.classes[question]",
    ]  # fmt: skip
    assert inputs["workload.classes[short]"]["values"][1] is None
    text = invoke("compare", path("chat"), path("rag")).out
    shown = text[text.index("Inputs that differ") : text.index("Outcomes")]
    for key in ("requests_per_second", "slo.ttft_ms", "slo.tpot_ms", "prices.gpu_usd_per_hour", "gpt-oss-120b"):
        assert key in shown
    assert all(len(line) <= 100 for line in text.splitlines())


def test_inputs_that_are_not_tried_alone_stand_by_section(invoke, path):
    keys = [d["key"] for d in invoke("compare", path("chat"), path("rag"), path("steady"), "-f", "json").data["inputs"]]
    order = [SECTIONS.index(key.split(".")[0].split("[")[0]) for key in keys]
    assert order == sorted(order)
    assert {"workload", "slo", "prices", "model"} <= {key.split(".")[0] for key in keys}
