"""``planner check``, ``explain``, ``catalog``, ``rules`` and ``schema``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.milp.rules import RULES
from planner.scenario import catalog, load
from tests.cli.conftest import SCENARIOS, Outcome

Invoke = Callable[..., Outcome]
FILES = sorted(SCENARIOS.glob("*.yaml"))


def narrow(text: str) -> bool:
    return max(map(len, text.split("\n"))) <= 100


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_check_shows_what_follows_from_a_scenario(invoke: Invoke, file: Path) -> None:
    found = invoke("check", file)
    assert found.code == 0
    assert "no mistakes" in found.out
    assert narrow(found.out.split("\n", 1)[1])
    for tier in load(file).tiers:
        assert f"\n  {tier.name} " in found.out


def test_check_derives_the_known_numbers(invoke: Invoke) -> None:
    found = invoke("check", SCENARIOS / "paper.yaml", "--format", "json").data["files"][0]
    assert found["ok"] is True
    derived = found["derived"]
    assert derived["kv_bytes_per_token"] == 131_072
    assert derived["classes"][0]["kv_prompt_gb"] == pytest.approx(1.048576)
    nvme = next(tier for tier in derived["tiers"] if tier["tier"] == "nvme")
    assert nvme["slack_colocated_ms"] > 0 > nvme["slack_disaggregated_ms"]
    assert derived["configs"][0]["fits"] is True


def test_check_goes_on_after_a_bad_file(invoke: Invoke, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("model: nothing-known\nworkload: {}\nslo: {}\n")
    found = invoke("check", bad, SCENARIOS / "paper.yaml", "/nonexistent.yaml")
    assert found.code == 2
    assert "paper.yaml: no mistakes" in found.out
    assert "bad.yaml:1:" in found.err
    assert "cannot read /nonexistent.yaml" in found.err
    as_data = invoke("check", bad, SCENARIOS / "paper.yaml", "--format", "json")
    assert [file["ok"] for file in as_data.data["files"]] == [False, True]
    assert as_data.data["files"][0]["errors"][0]["line"] == 1


def test_check_says_what_does_not_fit(invoke: Invoke, tmp_path: Path) -> None:
    text = (SCENARIOS / "paper.yaml").read_text()
    tight = tmp_path / "tight.yaml"
    tight.write_text(text.replace("ttft_ms: 700", "ttft_ms: 200"))
    assert "ttft_ms: 200" in tight.read_text()
    found = invoke("check", tight)
    assert "too slow to be synchronous" in found.out


def test_quiet_check_is_silent_when_all_is_well(invoke: Invoke) -> None:
    assert invoke("check", SCENARIOS / "paper.yaml", "-q") == Outcome(0, "", "")


def test_catalog_lists_and_shows_everything(invoke: Invoke) -> None:
    listing = invoke("catalog")
    assert listing.code == 0
    assert narrow(listing.out)
    for kind in catalog.KINDS:
        for name in catalog.names(kind):
            assert name in listing.out
            shown = invoke("catalog", name)
            assert shown.code == 0
            assert narrow(shown.out)
            assert "confidence" in shown.out


def test_catalog_values_are_data_with_json(invoke: Invoke) -> None:
    entry = invoke("catalog", "h200-sxm", "--format", "json").data["entries"][0]
    assert entry["kind"] == "hardware"
    bandwidth = next(value for value in entry["values"] if value["path"] == "hbm_gb_per_s")
    assert (bandwidth["value"], bandwidth["unit"]) == (4800, "GB/s")
    assert bandwidth["source"]
    assert bandwidth["date"]
    assert "h200-sxm" in invoke("catalog", "--format", "json").data["names"]["hardware"]


def test_catalog_suggests_the_name_that_was_meant(invoke: Invoke) -> None:
    found = invoke("catalog", "h200-smx")
    assert found.code == 2
    assert "did you mean h200-sxm?" in found.err


def test_rules_are_the_registry(invoke: Invoke) -> None:
    text, markdown = invoke("rules"), invoke("rules", "--format", "md")
    rows = invoke("rules", "--format", "json").data["rules"]
    assert narrow(text.out)
    assert {row["name"] for row in rows} == {rule.name for rule in RULES}
    assert markdown.out.count("\n| ") == len(RULES) + 2
    for rule in RULES:
        assert rule.name in text.out
        assert next(row for row in rows if row["name"] == rule.name)["formula"] == rule.formula


def test_schema_is_json_and_can_be_written(invoke: Invoke) -> None:
    printed = invoke("schema").data
    assert printed["required"] == ["model", "workload", "slo"]
    assert invoke("schema", "-o", "schema.json") == Outcome(0, "", "")
    assert json.loads(Path("schema.json").read_text()) == printed


@pytest.fixture
def plans(invoke: Invoke) -> Path:
    assert invoke("solve", SCENARIOS / "paper.yaml", "-q").code == 0
    return Path("reports/paper/plans.json").resolve()


def test_explain_works_every_plan_out(invoke: Invoke, plans: Path) -> None:
    ranks = len(json.loads(plans.read_text())["plans"])
    for rank in range(1, ranks + 1):
        found = invoke("explain", plans, "--rank", rank)
        assert (found.code, found.err) == (0, "")
        assert narrow(found.out)
        assert "> !" not in found.out
    as_data = invoke("explain", plans, "--format", "json").data
    steps = [step for section in as_data["sections"] for step in section["steps"]]
    assert all(step["kept"] for step in steps)
    assert {"name", "formula", "numbers", "value", "unit", "limit"} <= steps[0].keys()
    assert invoke("explain", plans, "--rank", ranks + 1).code == 2


def test_explain_notices_a_changed_file(invoke: Invoke, plans: Path) -> None:
    data = json.loads(plans.read_text())
    data["plans"][0]["usd_per_hour"] *= 0.9
    data["plans"][0]["decision"]["prefill_instances"] = 1
    data["plans"][0]["decision"]["batch"] = data["plans"][0]["decision"]["batch"] and 1
    plans.write_text(json.dumps(data))
    found = invoke("explain", plans)
    assert found.code == 1
    assert "warning: the file says" in found.err
    assert "error: " in found.err


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "nonsense", '{"plans": []}', '{"plans": [{"rank": 1}]}', '{"plans": [1, null]}', "[" * 100_000,
        '{"plans": [{"rank": 1}], "scenario": {"resolved": {"name": "x"}}}', "NaN", '{"plans": {"rank": 1}}',
    ],
)  # fmt: skip
def test_explain_refuses_what_is_no_plan_file(invoke: Invoke, tmp_path: Path, text: str) -> None:
    path = tmp_path / "plans.json"
    path.write_text(text)
    found = invoke("explain", path)
    assert (found.code, found.out) == (2, "")
    assert found.err.count("error: ") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"roles": ["sync"]}, {"hits": [[0.1]]}, {"prefill_config": "tp3"}, {"architecture": "both"},
        {"prefill_instances": 0}, {"capacity_gb": [[1], [2], [3]]}, {"hbm_gb": "x"}, {"decode_config": 7}, {"roles": 3},
        {"batch": "x", "decode_batch": "x"}, {"prefill_instances": 1e400}, {"hits": [["a"], ["b"], ["c"]]},
    ],
)  # fmt: skip
def test_explain_refuses_a_decision_of_another_shape(invoke: Invoke, plans: Path, change: dict[str, object]) -> None:
    data = json.loads(plans.read_text())
    data["plans"][0]["decision"] |= change
    plans.write_text(json.dumps(data))
    found = invoke("explain", plans)
    assert found.code == 2
    assert "[not-a-plan-file]" in found.err
