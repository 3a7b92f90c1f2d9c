"""What can go wrong, as data: a place in a file, a diagnostic, and one exception per exit code.

The library raises; only the command line prints and exits.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]
JOINER = "\u200d"
EMOJI_STYLE = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"  # colour, and tones of skin
SHOWN_COLUMNS = 96  # of a source line; longer lines are cut around the caret


@dataclass(frozen=True)
class Span:
    """A place in a file; line and column count from 1, ``text`` is the whole source line."""

    file: str
    line: int
    column: int
    text: str = ""
    length: int = 1  # characters that the caret underlines


@dataclass(frozen=True)
class Diagnostic:
    """One thing to tell the user; ``code`` is stable across versions, ``path`` is the dotted key."""

    code: str
    message: str
    span: Span | None = None
    path: str = ""
    hint: str = ""
    severity: Severity = "error"

    def as_dict(self) -> dict[str, object]:
        """The diagnostic as plain data, for ``--format json``."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "path": self.path,
            "file": self.span.file if self.span else None,
            "line": self.span.line if self.span else None,
            "column": self.span.column if self.span else None,
        }


class PlannerError(Exception):
    """Any failure that the planner explains; the command line ends with ``exit_code``."""

    exit_code = 3
    code = "failed"  # of a plain message

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        """Keep the diagnostics in the order of their place in the file; a text is one without a place."""
        given = (Diagnostic(self.code, d) if isinstance(d, str) else d for d in diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(sorted(given, key=_by_place))
        super().__init__(render_diagnostics(self.diagnostics))


class InputError(PlannerError):
    """The input is wrong: a scenario, a catalog name, an option."""

    exit_code = 2
    code = "input"


class InfeasibleError(PlannerError):
    """The input is right, and no design keeps its promises."""

    exit_code = 1
    code = "infeasible"


class GaveUpError(PlannerError):
    """A limit was hit before there was any plan, or something internal failed."""

    exit_code = 3
    code = "gave-up"


class StoppedError(GaveUpError):
    """The user stopped the work before there was any plan."""

    exit_code = 130
    code = "interrupted"


def _by_place(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    span = diagnostic.span
    return (span.file, span.line, span.column, diagnostic.path) if span else ("", 0, 0, diagnostic.path)


def printable(text: str) -> str:
    r"""Text that a terminal shows as it is: every control or invisible character becomes its escape.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or joins_emoji(text, i) else c.encode("unicode_escape").decode("ascii")
        for i, c in enumerate(text)
    )


def joins_emoji(text: str, place: int) -> bool:
    r"""Whether the character there joins two emoji to one; anywhere else a joiner is invisible, and not shown as it is.

    >>> joins_emoji("\U0001f469\u200d\U0001f4bb", 1), joins_emoji("a\u200db", 1)
    (True, False)
    """
    if text[place] != JOINER:
        return False
    before, after = text[max(0, place - 3) : place].rstrip(EMOJI_STYLE)[-1:], text[place + 1 : place + 2]
    return all(unicodedata.category(c or " ") == "So" for c in (before, after))


def render_diagnostics(diagnostics: Iterable[Diagnostic]) -> str:
    """All diagnostics as text: ``file:line:column: error: message``, the source line, a caret, a hint."""
    return "\n".join(_render(d) for d in diagnostics)


def _render(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    place = f"{printable(span.file)}:{span.line}:{span.column}: " if span else ""
    lines = [f"{place}{diagnostic.severity}: {printable(diagnostic.message)} [{diagnostic.code}]"]
    if span and span.text:
        lines += _source_lines(span)
    if diagnostic.hint:
        lines.append(f"   = {printable(diagnostic.hint)}")
    return "\n".join(lines)


def _source_lines(span: Span) -> list[str]:
    """The source line and the caret below it, cut to the terminal's width around the caret."""
    start = span.column - 1
    offset = max(0, start - SHOWN_COLUMNS // 2) if len(span.text) > SHOWN_COLUMNS else 0
    shown = span.text[offset : offset + SHOWN_COLUMNS]
    before, marked = shown[: start - offset], shown[start - offset : start - offset + span.length]
    gutter = f"{span.line:>4} | "
    lead = "…" if offset else ""
    tail = "…" if offset + SHOWN_COLUMNS < len(span.text) else ""
    caret = " " * _width(lead + _flat(before)) + "^" * max(1, _width(_flat(marked)))
    return [f"{gutter}{lead}{_flat(shown)}{tail}".rstrip(), f"{' ' * (len(gutter) - 2)}| {caret}"]


def _flat(text: str) -> str:
    return printable(text.replace("\t", " "))


def _width(text: str) -> int:
    """Terminal columns of printable text: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
