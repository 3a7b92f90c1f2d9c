"""A command line that runs in process, with a solve that answers at once where a test asks for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import planner.optimize
from planner.cli import run
from planner.plan import PlanSet

SCENARIOS = Path(__file__).parents[2] / "scenarios"


class Outcome(NamedTuple):
    """What a user gets from one command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def whole_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have set the width of the terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def scenario() -> Path:
    return SCENARIOS / "paper.yaml"


@pytest.fixture
def invoke(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Run a command line in an empty folder; nothing it prints may be a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PLANNER_DEBUG", raising=False)

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        found = Outcome(code, *capsys.readouterr())
        assert "Traceback" not in found.out + found.err or "-v" in arguments
        assert code in (0, 1, 2, 3, 130)
        return found

    return call


@pytest.fixture
def solved_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[dict[str, Any]]]:
    """Make the solve return a plan set, call a function or raise; gives the list of calls it got."""

    def prepare(answer: PlanSet | BaseException | Callable[..., PlanSet]) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def solve_scenario(scenario: object, **options: Any) -> PlanSet:
            calls.append({"scenario": scenario, **options})
            if isinstance(answer, BaseException):
                raise answer
            return answer if isinstance(answer, PlanSet) else answer(**options)

        monkeypatch.setattr(planner.optimize, "solve_scenario", solve_scenario)
        return calls

    return prepare
