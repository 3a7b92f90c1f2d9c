"""``planner check``: what is wrong with scenarios, and what follows from them. No solver is loaded."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class CheckFormat(StrEnum):
    """How the answer is printed."""

    text = "text"
    json = "json"


def check(
    files: Annotated[list[Path], typer.Argument(help="Scenario files (YAML).", metavar="FILE...", show_default=False)],
    format_: Annotated[CheckFormat, typer.Option("--format", "-f", help="How to print.")] = CheckFormat.text,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only what is wrong.")] = False,
) -> int:
    """Report mistakes in scenarios and what follows from them.

    Nothing is solved. Shown are KV bytes per token, weights, which configurations fit and the HBM left, fetch times,
    slack of an idle service.
    """
    from planner.errors import InputError

    code, answers = 0, []
    for file in files:
        try:
            answers.append(_answer(file, format_, quiet))
        except InputError as error:
            code = error.exit_code
            answers.append(_failure(file, error, format_))
    _print(answers, format_)
    return code


def _answer(file: Path, format_: CheckFormat, quiet: bool) -> Any:
    from planner.errors import render_diagnostics
    from planner.physics.system import System
    from planner.report.overview import overview, to_text
    from planner.report.write import to_stderr
    from planner.scenario import load

    scenario = load(file)
    found = overview(System(scenario))
    if format_ is CheckFormat.json:
        warnings = [warning.as_dict() for warning in scenario.warnings]
        return {"file": str(file), "ok": True, "errors": [], "warnings": warnings, "derived": found.as_dict()}
    if scenario.warnings:
        to_stderr(render_diagnostics(scenario.warnings))
    return "" if quiet else f"{file}: no mistakes\n{to_text(found)}"


def _failure(file: Path, error: Any, format_: CheckFormat) -> Any:
    from planner.report.write import to_stderr

    if format_ is CheckFormat.json:
        return {"file": str(file), "ok": False, "errors": [d.as_dict() for d in error.diagnostics], "warnings": []}
    to_stderr(str(error))
    return ""


def _print(answers: list[Any], format_: CheckFormat) -> None:
    from planner.report.write import to_stdout

    if format_ is CheckFormat.json:
        from planner.report.data import SCHEMA_VERSION, dumps

        to_stdout(dumps({"schema_version": SCHEMA_VERSION, "files": answers}))
    elif any(answers):
        to_stdout("\n".join(answer for answer in answers if answer))
