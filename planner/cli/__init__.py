"""The command line: flags, one library call, one renderer, one exit code.

Nothing heavy is imported here or at the top of a command's module; ``planner --help`` starts in a tenth of a second.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
GAVE_UP = 3
BAD_INPUT = 2
ISSUES = "please report this, with the scenario, to the project's issue tracker"


def main() -> int:
    """Run the process's command line and end the process at once, output flushed."""
    gc.disable()  # start-up makes many objects and no garbage; a command that works long turns it on again
    _hold_standard_descriptors()
    code = _flushed(run(sys.argv[1:]))
    if "coverage" not in sys.modules:
        os._exit(code)  # skips the interpreter's teardown of a large heap; nothing is left to write
    return code


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever goes wrong is one clear message, never a traceback."""
    from planner.cli import failures

    try:
        return _invoke(list(arguments) or ["--help"])
    except (Exception, KeyboardInterrupt) as error:
        return failures.explain(error, arguments)


def _invoke(arguments: list[str]) -> int:
    import typer.main

    from planner.cli.app import app

    command = typer.main.get_command(app)
    with command.make_context("planner", arguments) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0


def _hold_standard_descriptors() -> None:
    """Open what the caller closed (``>&-``) on nothing, so that no file gets the descriptor of stdout or stderr."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor: this one


def _flushed(code: int) -> int:
    """Flush both streams; an answer that could not be delivered is a failure."""
    from planner.report.write import flush_stdout, to_stderr

    try:
        flush_stdout()
    except Exception as error:
        to_stderr(f"planner: {error}")
        code = code or GAVE_UP
    to_stderr("", end="")
    return code
