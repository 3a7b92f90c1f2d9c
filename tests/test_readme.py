"""What the README shows is what a user gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.optimize import solve_scenario
from planner.plan import Evaluation
from planner.scenario import load

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def cheapest(name: str) -> Evaluation:
    return solve_scenario(load(ROOT / "scenarios" / f"{name}.yaml"), with_verdict=False).plans[0].evaluation


def test_the_first_answer_is_todays() -> None:
    shown = re.search(r"\n  \$([\d.]+) / Mtok · \$([\d.]+)/h\n  (\w+) ·", README)
    assert shown is not None
    plan = cheapest("chat")
    assert float(shown[1]) == pytest.approx(plan.usd_per_million_tokens, rel=1e-2)
    assert float(shown[2]) == pytest.approx(plan.usd_per_hour, rel=1e-3)
    assert shown[3] == plan.decision.architecture


@pytest.mark.parametrize(
    "pattern", [r"Today 1,500 ms: \$([\d.]+)/h", r"Today 40 req/s: \$([\d.]+)/h", r"Today \$([\d.]+)/h"]
)
def test_the_studies_start_at_todays_plan(pattern: str) -> None:
    shown = re.findall(pattern, README)
    assert shown
    assert [float(usd) for usd in shown] == pytest.approx([cheapest("chat").usd_per_hour] * len(shown), rel=1e-3)


def test_every_file_and_command_it_names_is_there() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    from planner.cli.app import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    used = set(re.findall(r"(?:`|\$ |/)planner ([a-z]+)", README))
    assert used
    assert used <= known
