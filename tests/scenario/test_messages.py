"""Exact messages for wrong scenarios and for improbable ones."""

import os
from pathlib import Path

import pytest

from planner.errors import InputError, render_diagnostics
from planner.scenario import loads
from tests.scenario.bad_scenarios import BASE, EDITED, WARNED, WHOLE, edited

GOLDEN = Path(__file__).parent / "golden"
BAD = {**{name: edited(edits) for name, edits in EDITED.items()}, **WHOLE}


def compare(name: str, shown: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown + "\n", encoding="utf-8")
    assert shown + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BAD)
def test_wrong_scenario_is_refused_with_this_message(name: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(BAD[name], "scenarios/chat.yaml")
    assert caught.value.exit_code == 2
    compare(name, render_diagnostics(caught.value.diagnostics))


@pytest.mark.parametrize("name", WARNED)
def test_improbable_scenario_is_loaded_with_this_warning(name: str) -> None:
    scenario = loads(edited(WARNED[name]), "scenarios/chat.yaml")
    assert scenario.warnings
    assert {d.severity for d in scenario.warnings} == {"warning"}
    compare(f"warning-{name}", render_diagnostics(scenario.warnings))


def test_base_scenario_is_right_and_usual() -> None:
    assert loads(BASE).warnings == ()


def test_every_golden_file_belongs_to_a_case() -> None:
    known = set(BAD) | {f"warning-{name}" for name in WARNED}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == known


@pytest.mark.parametrize("name", BAD)
def test_diagnostics_point_at_a_line_and_are_sorted(name: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(BAD[name], "scenarios/chat.yaml")
    lines = [d.span.line for d in caught.value.diagnostics if d.span]
    assert lines == sorted(lines)
    assert len(lines) == len(caught.value.diagnostics)
    text = BAD[name].splitlines() or [""]
    assert all(1 <= line <= len(text) + 1 for line in lines)


@pytest.mark.parametrize("name", BAD)
def test_messages_are_plain_text_of_bounded_length(name: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(BAD[name], "scenarios/chat.yaml")
    shown = render_diagnostics(caught.value.diagnostics)
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert max(map(len, shown.splitlines())) < 400
