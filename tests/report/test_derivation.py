"""The worked equations: whoever types the shown numbers into a calculator gets the shown value."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from pathlib import Path

import pytest

from planner.evaluate import evaluate
from planner.judge import accounts
from planner.physics.system import System
from planner.plan import Decision, Evaluation
from planner.report.derivation import Step, binding_lines, derive, meaning, step_lines, to_text
from planner.scenario import load, replace

SCENARIOS = Path(__file__).parents[2] / "scenarios"
PER_UNIT = {"bytes": 1e9, "bytes/s": 1e9, "bytes/day": 1e9}


def in_numbers(text: str) -> float:
    """What a calculator makes of a step's numbers."""
    code = re.sub(r"√([\d.]+)", r"math.sqrt(\1)", text).replace("·", "*").replace("∞", "math.inf").replace("^", "**")
    known = {"math": math, "log": math.log, "min": min, "max": max, "ceil": math.ceil, "__builtins__": {}}
    return float(eval(code, known))


def judged(name: str, changes: dict[str, object], colocated: bool, prefetch: bool) -> tuple[System, Evaluation]:
    """A design of a shipped scenario, good or bad, under the exact evaluation."""
    system = System(replace(load(SCENARIOS / f"{name}.yaml"), changes))
    config = system.configs[-1]
    parts = len(system.laws)
    capacity = tuple(tuple(4e12 * (t + 1) for _ in range(parts)) for t in range(len(system.tiers)))
    levels = 1 + len(system.tiers)
    decision = Decision(
        "colocated" if colocated else "disaggregated",
        config.name, 9, 16 if colocated else None,
        None if colocated else config.name, 0 if colocated else 8, None if colocated else 32,
        ("sync",) + (("prefetch" if prefetch else "sync"),) * (len(system.tiers) - 1),
        capacity, (1e12,) * parts, tuple((0.1 * (n + 1),) * parts for n in range(levels)),
    )  # fmt: skip
    return system, evaluate(system, decision)


CASES = {
    "apart": ("chat", {}, False, True),
    "together": ("chat", {}, True, False),
    "random routing": ("chat", {"deployment.colocated_routing": "random"}, True, True),
    "exclusive": ("chat", {"deployment.hierarchy": "exclusive"}, False, False),
    "two partitions": (
        "chat",
        {"workload.classes[1].reuse": {"law": "hill", "floor": 0.1, "ceiling": 0.7, "half_gb": 900.0, "slope": 1.5}},
        False,
        True,
    ),
    "measured": ("agent", {}, False, False),
    "latent attention": ("deepseek", {}, False, True),
    "roofline": ("paper", {"tiers[1].dwpd": 1.0, "tiers[1].write_gb_per_s_per_node": 3.0}, True, False),
    "idle": ("paper", {"workload.requests_per_second": 0.01}, False, False),
}


@pytest.mark.parametrize("case", CASES)
def test_shown_numbers_give_the_shown_value(case: str) -> None:
    system, found = judged(*CASES[case])
    steps = [step for section in derive(system, found) for step in section.steps]
    checked = 0
    for step in steps:
        if not step.numbers or step.name == "HBM tier":  # the design above takes its HBM from thin air
            continue
        value = in_numbers(step.numbers) * PER_UNIT.get(step.unit, 1.0)
        assert value == pytest.approx(step.value, rel=2e-3, abs=1e-6), step
        checked += 1
    assert checked > 12
    assert {step.name for step in steps} >= {"κ", "a, offered load", "TPOT", "total"}


@pytest.mark.parametrize("case", CASES)
def test_steps_agree_with_the_judge(case: str) -> None:
    system, found = judged(*CASES[case])
    steps = {step.name: step for section in derive(system, found) for step in section.steps}
    assert steps["busiest instance"].value == pytest.approx(found.prefill.utilization)
    assert steps["total"].value == found.usd_per_hour
    assert steps["price"].value == pytest.approx(found.usd_per_million_tokens)
    mean = sum(
        steps[name].value * system.reuse_bytes_per_s[j]
        for j, name in enumerate(name for name in steps if name.startswith("e, effective"))
    ) / sum(system.reuse_bytes_per_s)
    assert mean == pytest.approx(found.effective_hit_rate)
    broken = {violation.rule.split("_")[0] for violation in found.violations}
    late = any(not step.kept for name, step in steps.items() if name.startswith("TTFT"))
    assert late == ("ttft" in broken)


def test_text_shows_what_is_broken_and_what_is_binding() -> None:
    system, found = judged(*CASES["apart"])
    text = to_text(system, dataclasses.replace(found, binding=("ttft_budget", "nvme_endurance")), "chat · plan 1")
    assert max(map(len, text.split("\n"))) <= 100
    assert "ttft_budget: the longest path in use takes the whole TTFT" in text
    assert "nvme_endurance: nvme: writes use the drives' whole endurance" in text
    broken = Step("x", "f", "2 + 2", 4.0, "sequences", 3.0, "n · b")
    assert step_lines(broken)[1].endswith("= 2 + 2 = 4 sequences > ! 3 sequences (n · b)")


def test_a_tier_that_only_stages_holds_nothing() -> None:
    system, found = judged(*CASES["apart"])
    staged = next(step.value for s in derive(system, found) for step in s.steps if step.name == "dram staging")
    tiers = ((staged * (1 - 1e-15),), *found.decision.capacity_bytes[1:])
    only = evaluate(system, dataclasses.replace(found.decision, capacity_bytes=tiers))
    steps = {step.name: step for section in derive(system, only) for step in section.steps}
    assert steps["K of dram"].value == 0.0
    assert in_numbers(steps["hits up to dram"].numbers) == steps["hits up to dram"].value == 0.0


def test_nothing_binding_is_said() -> None:
    _, found = judged(*CASES["idle"])
    assert "whole instances" in binding_lines(dataclasses.replace(found, binding=()))[0]


def test_every_binding_name_has_a_meaning() -> None:
    body = inspect.getsource(accounts.binding)
    plain = re.findall(r'^ +"(\w+)": ', body, flags=re.M) + re.findall(r'ratios\["(\w+)"\]', body)
    tiered = re.findall(r'ratios\[f"{tier\.name}_(\w+)"\]', body)
    assert len(plain) >= 5
    assert len(tiered) >= 5
    for name in [*plain, *(f"nvme_{ending}" for ending in tiered)]:
        assert meaning(name) != "see: planner rules", name
