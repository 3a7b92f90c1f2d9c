"""Scenarios of their own, a command line that runs in process, and a folder of its own for every test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planner.cli import run
from planner.scenario import Scenario, load

SCENARIOS = Path(__file__).parent / "scenarios"  # copies: the packaged ones move with the catalog


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def scenario() -> Callable[[str], Scenario]:
    return lambda name: load(SCENARIOS / f"{name}.yaml")


@pytest.fixture
def path() -> Callable[[str], Path]:
    return lambda name: SCENARIOS / f"{name}.yaml"


@pytest.fixture
def invoke(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # whoever runs the tests may have set it

    def call(*arguments: object) -> Outcome:
        code = run([str(a) for a in arguments])
        found = Outcome(code, *capsys.readouterr())
        assert "Traceback" not in found.out + found.err
        return found

    return call
