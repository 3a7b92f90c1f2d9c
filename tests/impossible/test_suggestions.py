"""Impossible requests: the promise that fails, how nearly it is kept, and suggestions that hold when written down."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.describe import value_text
from planner.optimize import solve_scenario
from planner.plan import Change, Fix, PlanSet
from planner.scenario import load, loads
from planner.scenario.meta import parse_path
from tests.impossible.cases import BASE, CASES, text_of

REFUSED = [name for name in CASES if CASES[name][2]]


@pytest.fixture(scope="module")
def answers() -> dict[str, PlanSet]:
    return {name: solve_scenario(loads(text_of(name), "asked.yaml")) for name in CASES}


def applied(text: str, fix: Fix) -> str:
    """The file with a suggestion written into it, as a user would: in its line, or as a new key."""
    for change in fix.changes:
        text = added(text, change) if change.line is None else rewritten(text, change)
    return text


def rewritten(text: str, change: Change) -> str:
    lines = text.split("\n")
    leaf = re.escape(str(parse_path(change.key)[-1]))
    value = r"(\[(?:[^][]|\[[^]]*\])*\]|[^,}\s]+)"
    pattern = rf"\b{leaf}: {value}" + (r",?\s*" if change.after is None else "")
    new = "" if change.after is None else f"{parse_path(change.key)[-1]}: {value_text(change.after)}"
    line, count = re.subn(pattern, new, lines[change.line - 1], count=1)
    assert count == 1, (change, lines[change.line - 1])
    lines[change.line - 1] = line
    return "\n".join(lines)


def added(text: str, change: Change) -> str:
    tree: Any = yaml.safe_load(text)
    node = tree
    *path, leaf = parse_path(change.key)
    for part in path:
        node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
    node[leaf] = yaml.safe_load(value_text(change.after))
    return yaml.safe_dump(tree, sort_keys=False)


def cheapest(text: str) -> float | None:
    found = solve_scenario(loads(text, "asked.yaml"), with_verdict=False, with_advice=False)
    return found.plans[0].evaluation.usd_per_hour if found.plans else None


def test_the_base_is_possible() -> None:
    assert cheapest(BASE) is not None


@pytest.mark.parametrize("name", CASES)
def test_the_promise_that_cannot_be_kept_is_named(answers: dict[str, PlanSet], name: str) -> None:
    _, codes, keys = CASES[name]
    found = answers[name]
    assert (found.status, found.plans) == ("infeasible", ())
    assert {c.code for c in found.conflicts} == codes
    assert keys <= {change.key for fix in found.fixes for change in fix.changes}
    assert len(found.reasons) == len(found.conflicts) + max(1, len(found.fixes))
    for conflict in found.conflicts:
        span = loads(text_of(name), "asked.yaml").span(conflict.key)
        assert conflict.line == (span.line if span else None)
        assert any(conflict.key in reason for reason in found.reasons)


@pytest.mark.parametrize("name", REFUSED)
def test_every_suggestion_written_into_the_file_solves(answers: dict[str, PlanSet], name: str) -> None:
    assert answers[name].fixes
    for fix in answers[name].fixes:
        cost = cheapest(applied(text_of(name), fix))
        assert cost is not None, fix
        assert cost == pytest.approx(fix.usd_per_hour, rel=3e-4), fix


@pytest.mark.parametrize("name", ["ttft-below-any-prefill", "tpot-below-any-step", "too-few-gpus", "utilization"])
def test_suggestions_are_the_smallest_of_three_digits(answers: dict[str, PlanSet], name: str) -> None:
    for fix in answers[name].fixes:
        (change,) = fix.changes
        before, after = change.before, change.after
        if not isinstance(before, int | float) or not isinstance(after, int | float):
            continue
        nearer = after + (0.011 if before > after else -0.011) * after
        if isinstance(before, int):
            nearer = round(nearer) if round(nearer) != after else after - 1
        less = Fix((Change(change.key, change.line, before, nearer),), 0.0)
        assert cheapest(applied(text_of(name), less)) is None, less


def test_best_against_limit_is_what_the_text_says(answers: dict[str, PlanSet]) -> None:
    found = answers["ttft-below-any-prefill"]
    (conflict,) = found.conflicts
    assert (conflict.limit, conflict.unit, conflict.alone) == (350, "ms", True)
    assert f"TTFT: {conflict.best:,.0f} ms at best against 350 ms (slo.ttft_ms, asked.yaml:14)" in found.reasons[0]
    assert found.reasons[1].startswith(f"slo.ttft_ms: {conflict.best:.0f} instead of 350 makes it possible, at $")


def test_joint_change_only_where_no_single_one_suffices(answers: dict[str, PlanSet]) -> None:
    for name in REFUSED:
        sizes = {len(fix.changes) for fix in answers[name].fixes}
        assert sizes == ({2} if name in ("both-promises", "prompt-beyond-memory") else {1})
    assert "together make it possible" in answers["both-promises"].reasons[-1]


def test_where_nothing_helps_it_says_so(answers: dict[str, PlanSet]) -> None:
    found = answers["nothing-helps"]
    assert found.fixes == ()
    assert found.reasons[-1].startswith("no change of promises, settings or tiers makes it possible")


def test_physics_is_never_advice(answers: dict[str, PlanSet]) -> None:
    given = {"model", "hardware", "workload.classes", "workload.reuse", "workload.prefetch", "prices"}
    for found in answers.values():
        for fix in found.fixes:
            for change in fix.changes:
                assert not any(change.key.startswith(prefix) for prefix in given), change


def test_advice_stops_when_time_is_up() -> None:
    scenario = loads(text_of("too-few-gpus"), "asked.yaml")
    calls = iter(range(10_000))
    found = solve_scenario(scenario, stop=lambda: next(calls) > 60)
    assert found.status == "infeasible"
    assert "stopped early (interrupted)" in found.reasons[-1]


def test_the_command_ends_with_1_and_gives_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli import run

    file = tmp_path / "asked.yaml"
    file.write_text(text_of("both-promises"))
    assert run(["solve", str(file), "--no-report", "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "infeasible"
    assert [c["code"] for c in data["conflicts"]] == ["ttft", "tpot"]
    changes = data["fixes"][0]["changes"]
    assert [(c["key"], c["from"]) for c in changes] == [("slo.ttft_ms", 350), ("slo.tpot_ms", 5)]
    assert changes[0]["line"] == load(file).span("slo.ttft_ms").line  # type: ignore[union-attr]
    assert data["fixes"][0]["usd_per_hour"] > 0
    assert run(["solve", str(file), "--no-report"]) == 1
    assert "TTFT: " in capsys.readouterr().out
