"""Whoever varies the load is told that the reuse curve stays as it was observed."""

from __future__ import annotations

import pytest

from planner.scenario import replace
from planner.study.load_note import AT, load_notes, observed_at

NOTE = f"reuse curve kept as observed at 40 req/s ({AT})"
LOAD = "workload.requests_per_second"


def flat(text):
    return " ".join(text.replace("\\", "").split())


@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--set", f"{LOAD}=x1,x1.1", "--no-cache"),
        ("sensitivity", "--only", "--range", f"{LOAD}=x1.1", "--no-report"),
        ("frontier", "--x", "requests", "--from", "40", "--to", "41", "--step", "1", "--no-report"),
        ("budget", "--levels", "1,0.5"),
    ],
)  # fmt: skip
def test_every_study_of_the_load_says_so(command, invoke, path):
    call = (command[0], path("chat"), *command[1:], "-q")
    assert NOTE in flat(invoke(*call).out)
    assert invoke(*call, "--format", "json").data["notes"] == [NOTE]
    if command[0] != "frontier":
        assert NOTE in flat(invoke(*call, "--format", "md").out)


def test_nothing_is_said_where_the_load_or_the_curve_is_as_in_the_file(invoke, path, scenario):
    still = invoke("sweep", path("rag"), "--set", "slo.ttft_ms=2000", "--no-cache", "-q", "--format", "json")
    assert still.data["notes"] == []
    assert invoke("budget", path("rag"), "--levels", 1, "-q", "-f", "json").data["notes"] == []
    assert load_notes(scenario("chat"), [LOAD, AT]) == ()


def test_curves_of_classes_count_where_they_are_in_use(scenario):
    chat = scenario("chat")
    law = chat.workload.reuse.model_copy(update={"at_requests_per_second": 7.0})
    assert observed_at(replace(chat, {"workload.classes[0].reuse": law})) == (7.0, 40.0)
