"""``planner solve``: exit codes, what goes to stdout and what to stderr, and what is written."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.errors import Diagnostic, GaveUpError, InfeasibleError
from planner.plan import PlanSet
from planner.report.table import to_table
from tests.cli.conftest import Outcome
from tests.report import sample

Invoke = Callable[..., Outcome]
SolvedAs = Callable[[Any], list[dict[str, Any]]]


def test_a_plan_ends_with_0_and_is_written(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    solved_as(sample.plan_set())
    found = invoke("solve", scenario)
    assert found.code == 0
    assert found.out == to_table(sample.plan_set())
    assert "optimal: proven within 0.00 % (2 rounds, 0.4 s)" in found.err
    assert "written: reports/paper/plans.json" in found.err
    written = json.loads(Path("reports/paper/plans.json").read_text())
    assert written["plans"][0]["rank"] == 1
    assert written["scenario"]["resolved"]["name"] == "paper"
    assert [path.name for path in Path("reports/paper").iterdir()] == ["plans.json"]


def test_options_reach_the_solver(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    calls = solved_as(sample.plan_set())
    invoke("solve", scenario, "--plans", 3, "--gap", "1e-3", "--time-limit", 7, "--verify", "--write-lp", "m.lp")
    options = calls[0]
    assert (options["plans"], options["gap"], options["time_limit_s"]) == (3, 1e-3, 7.0)
    assert (options["verify"], options["write_lp"]) == (True, "m.lp")
    assert options["progress"] is None  # stderr is no terminal
    assert options["stop"]() is False


@pytest.mark.parametrize(
    ("answer", "code", "code_name"),
    [
        (InfeasibleError(Diagnostic("infeasible", "no design keeps every promise")), 1, "infeasible"),
        (GaveUpError(Diagnostic("time-limit", "no plan within 1 s", hint="raise solve.time_limit_s")), 3, "time-limit"),
        (RuntimeError("surprise\nin two lines"), 3, "internal-error"),
        (RecursionError("deep"), 3, "internal-error"),
        (MemoryError(), 3, "out-of-memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)), 3, "closed-pipe"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 3, "cannot-write"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "x.lp"), 2, "cannot-write"),
    ],
)
def test_failures_have_a_code_and_one_message(
    invoke: Invoke, solved_as: SolvedAs, scenario: Path, answer: BaseException, code: int, code_name: str
) -> None:
    solved_as(answer)
    found = invoke("solve", scenario)
    assert found.code == code
    assert found.out == ""
    assert f"[{code_name}]" in found.err
    assert len(found.err.splitlines()) <= 2
    assert not Path("reports").exists()


def test_failures_are_data_with_json(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    solved_as(RuntimeError("surprise"))
    found = invoke("solve", scenario, "--format", "json")
    assert found.code == 3
    assert found.data["status"] == "error"
    assert found.data["errors"][0]["code"] == "internal-error"
    assert found.err == ""


def test_traceback_only_on_demand(
    invoke: Invoke, solved_as: SolvedAs, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved_as(RuntimeError("surprise"))
    assert "Traceback" in invoke("solve", scenario, "-v").err
    assert "please report" in invoke("solve", scenario).err


def test_infeasible_ends_with_1(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    solved_as(sample.infeasible())
    found = invoke("solve", scenario, "--format", "json")
    assert found.code == 1
    assert found.data["status"] == "infeasible"
    assert found.data["plans"] == []
    assert len(found.data["reasons"]) == 2
    assert "optimal" not in found.err


def test_a_limit_hit_with_a_plan_says_so(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    best = sample.plan_set().plans[0].evaluation.usd_per_hour
    early = sample.plan_set(
        status="feasible", certificate=sample.certificate(best, 0.03), warnings=("stopped early (time limit)",)
    )
    solved_as(early)
    found = invoke("solve", scenario)
    assert found.code == 0
    assert "not proven optimal: a design up to 3.00 % cheaper may exist" in found.err
    assert "warning: stopped early (time limit)" in found.err


def test_ctrl_c_shows_what_is_known(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    def interrupted(stop: Callable[[], bool], **_: object) -> PlanSet:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        return sample.plan_set()

    before = signal.getsignal(signal.SIGINT)
    solved_as(interrupted)
    found = invoke("solve", scenario)
    assert found.code == 130
    assert found.out == to_table(sample.plan_set())
    assert "interrupted: the answer is what was known by then" in found.err
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_ends_it(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    def stubborn(**_: object) -> PlanSet:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the second signal raises")

    solved_as(stubborn)
    found = invoke("solve", scenario)
    assert (found.code, found.out) == (130, "")


@pytest.mark.parametrize(
    ("name", "starts"),
    [("p.json", "{"), ("p.csv", "rank,"), ("p.md", "# chat"), ("p.txt", "chat · "), ("p", "chat · ")],
)
def test_output_format_follows_the_file_name(
    invoke: Invoke, solved_as: SolvedAs, scenario: Path, name: str, starts: str
) -> None:
    solved_as(sample.plan_set())
    found = invoke("solve", scenario, "-o", name, "--no-report")
    assert (found.code, found.out) == (0, "")
    assert Path(name).read_text(encoding="utf-8").startswith(starts)
    assert not Path("reports").exists()


def test_dash_is_stdout_and_quiet_is_quiet(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    solved_as(sample.plan_set())
    found = invoke("solve", scenario, "-o", "-", "--format", "csv", "-q")
    assert found.out.startswith("rank,")
    assert found.err == ""
    assert not Path("-").exists()


@pytest.mark.parametrize("target", ["missing/p.json", "folder", "file/p.json"])
def test_unwritable_output_is_found_before_the_solve(
    invoke: Invoke, solved_as: SolvedAs, scenario: Path, target: str
) -> None:
    Path("folder").mkdir()
    Path("file").write_text("mine")
    calls = solved_as(sample.plan_set())
    found = invoke("solve", scenario, "-o", target)
    assert found.code == 2
    assert "cannot write" in found.err
    assert calls == []
    assert Path("file").read_text() == "mine"


def test_a_file_named_reports_is_found_before_the_solve(invoke: Invoke, solved_as: SolvedAs, scenario: Path) -> None:
    Path("reports").write_text("mine")
    calls = solved_as(sample.plan_set())
    found = invoke("solve", scenario)
    assert (found.code, calls) == (2, [])
    assert "--no-report" not in found.out
    assert Path("reports").read_text() == "mine"


@pytest.mark.parametrize(
    "arguments",
    [
        ("slove",), ("solve",), ("solve", "x", "--fromat", "json"), ("solve", "x", "--plans", "many"),
        ("solve", "x", "--plans", "0"), ("solve", "x", "--gap", "2"), ("solve", "x", "--time-limit", "-1"),
        ("solve", "x", "--gap", "nan"), ("solve", "x", "--time-limit", "inf"), ("solve", "x", "--gap", "1%"),
        ("solve", "nothing.yaml"), ("solve", "."), ("solve", "\0"), ("catalog", "no-such-thing"), ("explain", "none"),
        ("rules", "--format", "html"), ("check",), ("check", "nothing.yaml"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_with_2(invoke: Invoke, arguments: tuple[str, ...]) -> None:
    found = invoke(*arguments)
    assert found.code == 2
    assert found.out == ""
    assert found.err.startswith("error: ")
    as_data = invoke(*arguments, "--format", "json") if "--format" not in arguments else None
    if as_data is not None:
        assert as_data.code == 2


def test_wrong_scenarios_are_data_with_json(invoke: Invoke, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("model: deepseek-v4\nslo: {ttft_ms: -1, tpot_ms: 60}\n")
    found = invoke("solve", bad, "--format", "json")
    assert found.code == 2
    assert {error["line"] for error in found.data["errors"]} >= {1, 2}
    assert all(error["code"] and error["severity"] == "error" for error in found.data["errors"])


def test_a_real_scenario_end_to_end(invoke: Invoke, scenario: Path) -> None:
    found = invoke("solve", scenario)
    assert found.code == 0
    assert "optimal: proven within" in found.err
    explained = invoke("explain", "reports/paper/plans.json")
    assert explained.code == 0
    assert explained.err == ""
    assert "TTFT of miss" in explained.out


def test_progress_goes_to_a_terminal_only_and_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli.session import Session

    with Session().progress() as say:
        assert say is None
    assert capsys.readouterr().err == ""


def test_the_answer_fits_a_narrower_terminal(
    invoke: Invoke, solved_as: SolvedAs, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved_as(lambda **_: sample.plan_set())
    monkeypatch.setenv("COLUMNS", "80")
    narrow = invoke("solve", scenario).out
    assert max(map(len, narrow.splitlines())) <= 80
    assert "of the limit" not in narrow  # the bars give way to the figures
