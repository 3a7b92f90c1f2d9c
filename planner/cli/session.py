"""What every command that solves does around the solving: progress, warnings, delivery of the answer."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import TextIO

from planner.errors import Diagnostic, InputError, printable, render_diagnostics
from planner.plan import PlanSet
from planner.report.table import certificate_line
from planner.report.write import to_stderr, to_stdout, write_text

GAVE_UP, INFEASIBLE, INTERRUPTED = 3, 1, 130
_GARBAGE_EVERY = 200_000  # new objects; models of a few thousand rows make fewer
_CLEAR_LINE = "\r\x1b[K"


def settle() -> None:
    """Everything is imported: look for garbage again, rarely, and not among what lives as long as the process."""
    gc.freeze()
    gc.set_threshold(_GARBAGE_EVERY, 20, 20)
    gc.enable()


def within(option: str, value: float | None, low: float, high: float) -> float | None:
    """An option's number, refused outside its range (and where it is no number).

    >>> within("--gap", 1e-3, 0.0, 0.5)
    0.001
    """
    if value is not None and not low <= value <= high:
        raise InputError(Diagnostic("usage", f"{option} is {value:g}; it goes from {low:g} to {high:g}"))
    return value


def colour_wanted(stream: TextIO | None) -> bool:
    """Colour on a terminal that has not been told otherwise (NO_COLOR, TERM=dumb)."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


class Session:
    """One command's conversation with its user: the answer on stdout, everything else on stderr."""

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        """Keep how much the user wants to hear."""
        self.quiet = quiet
        self.verbose = verbose
        self.interrupted = False
        self._told: set[str] = set()

    def say(self, text: str) -> None:
        """One message on stderr, unless the user wants quiet."""
        if not self.quiet:
            to_stderr(text)

    def warn(self, warnings: Iterable[Diagnostic]) -> None:
        """The scenario's warnings, with their places."""
        warnings = list(warnings)
        self._told.update(warning.message for warning in warnings)
        text = render_diagnostics(warnings)
        if text:
            self.say(text)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[str], None] | None]:
        """A line that overwrites itself, on a terminal only; it is gone when the work is done."""
        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            yield None
            return
        try:
            yield lambda text: to_stderr(f"{_CLEAR_LINE}{printable(text)[:99]}", end="")
        finally:
            to_stderr(_CLEAR_LINE, end="")

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[Callable[[], bool]]:
        """The first Ctrl-C or SIGTERM asks the work to stop and show what it has; the second ends it."""

        def ask(_signal: int, _frame: FrameType | None) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        before = [(kind, signal.signal(kind, ask)) for kind in (signal.SIGINT, signal.SIGTERM)]
        try:
            yield lambda: self.interrupted
        finally:
            for kind, handler in before:
                signal.signal(kind, handler)

    def deliver(self, found: PlanSet, answer: str, output: Path | None, report: Path | None, plan_file: str) -> int:
        """Write the plan file, then the answer, then what was proven; the exit code says whether there is a plan."""
        if report is not None:
            write_text(report, plan_file, make_folder=True)
        if output is not None and str(output) != "-":
            write_text(output, answer)
        else:
            to_stdout(answer)
        for warning in found.warnings:
            if warning not in self._told:
                self.say(f"warning: {printable(warning)}")
        if found.plans:
            self.say(certificate_line(found.certificate, found.seconds))
        for path in (output, report):
            if path is not None and str(path) != "-":
                self.say(f"written: {printable(str(path))}")
        if self.verbose:
            to_stderr(" · ".join(f"{name} {version}" for name, version in found.versions))
        return self._code(found)

    def _code(self, found: PlanSet) -> int:
        if self.interrupted:
            self.say("interrupted: the answer is what was known by then")
            return INTERRUPTED
        if found.plans:
            return 0
        return INFEASIBLE if found.status == "infeasible" else GAVE_UP
