"""Every way a command can fail, told in one message with its exit code."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Sequence

from planner.cli import BAD_INPUT, GAVE_UP, INTERRUPTED, ISSUES
from planner.errors import Diagnostic, PlannerError, printable
from planner.report.write import cannot_write, to_stderr, to_stdout

_DEBUG_FLAGS = ("-v", "--verbose", "--debug")
_INTERRUPTED = Diagnostic("interrupted", "interrupted before there was a plan")


def explain(error: BaseException, arguments: Sequence[str]) -> int:
    """Tell the user about ``error`` (as data with ``--format json``) and return the exit code."""
    code, diagnostics, text = _told(error)
    if code is not None and not diagnostics:
        return code
    if wants_debug(arguments) and not isinstance(error, PlannerError):
        to_stderr("".join(traceback.format_exception(error)).rstrip())
    if wants_json(arguments) and not any(d.code == "closed-pipe" for d in diagnostics):
        _answer_as_data(diagnostics)
    else:
        to_stderr(text)
    return GAVE_UP if code is None else code


def _told(error: BaseException) -> tuple[int | None, tuple[Diagnostic, ...], str]:
    """Exit code, diagnostics and text of any exception; no diagnostics where the command only wanted to end."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, PlannerError):
        return error.exit_code, error.diagnostics, str(error)
    if isinstance(error, KeyboardInterrupt) or "Abort" in kinds:
        return _one(INTERRUPTED, _INTERRUPTED)
    if "Exit" in kinds:  # --help and --version end this way
        return int(getattr(error, "exit_code", 0)), (), ""
    if "ClickException" in kinds:
        return _usage(error)
    if isinstance(error, MemoryError):
        return _one(GAVE_UP, Diagnostic("out-of-memory", "not enough memory for this scenario"))
    if isinstance(error, OSError):
        return _told(cannot_write(error.filename or "the output", error))
    message = f"internal error: {type(error).__name__}: {_first_line(error)}"
    return _one(GAVE_UP, Diagnostic("internal-error", message, hint=f"{ISSUES} (-v shows the traceback)"))


def _one(code: int, diagnostic: Diagnostic) -> tuple[int, tuple[Diagnostic, ...], str]:
    return code, (diagnostic,), str(PlannerError(diagnostic))


def _usage(error: BaseException) -> tuple[int, tuple[Diagnostic, ...], str]:
    """A wrong command line: the parser's own words, and where help is."""
    words = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "planner"
    return _one(BAD_INPUT, Diagnostic("usage", _first_line(words), hint=f"see: {command} --help"))


def _first_line(error: object) -> str:
    return printable(" ".join(str(error).split()))[:300]


def _answer_as_data(diagnostics: Sequence[Diagnostic]) -> None:
    from planner.report.data import SCHEMA_VERSION

    found = {"schema_version": SCHEMA_VERSION, "status": "error", "errors": [d.as_dict() for d in diagnostics]}
    try:
        to_stdout(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    except PlannerError as failure:
        to_stderr(str(failure))


def wants_debug(arguments: Sequence[str]) -> bool:
    """True when the user asked for tracebacks."""
    return os.environ.get("PLANNER_DEBUG", "") not in ("", "0") or any(flag in arguments for flag in _DEBUG_FLAGS)


def wants_json(arguments: Sequence[str]) -> bool:
    """True when the command line asks for JSON, parsed or not: errors are data then."""
    joined = " ".join(f"{argument} " for argument in arguments)
    return any(f"{flag}json " in joined for flag in ("--format  ", "--format=", "-f  ", "-f"))
