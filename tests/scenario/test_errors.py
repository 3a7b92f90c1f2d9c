"""How diagnostics are shown."""

import pytest

from planner.errors import (
    Diagnostic,
    GaveUpError,
    InfeasibleError,
    InputError,
    PlannerError,
    Span,
    render_diagnostics,
)


def test_exit_codes() -> None:
    assert [e.exit_code for e in (InfeasibleError, InputError, GaveUpError, PlannerError)] == [1, 2, 3, 3]


def test_a_plain_message_is_a_diagnostic_too() -> None:
    assert GaveUpError("no plan in time").diagnostics == (Diagnostic("gave-up", "no plan in time"),)
    assert [e("m").diagnostics[0].code for e in (InputError, InfeasibleError)] == ["input", "infeasible"]


def test_diagnostics_are_sorted_by_place() -> None:
    late = Diagnostic("a", "late", Span("f", 9, 1))
    early = Diagnostic("b", "early", Span("f", 2, 5))
    nowhere = Diagnostic("c", "nowhere")
    error = InputError(late, early, nowhere)
    assert error.diagnostics == (nowhere, early, late)
    assert str(error) == render_diagnostics(error.diagnostics)


@pytest.mark.parametrize(
    ("text", "column", "length", "caret"),
    [
        ("slo: {ttft_ms: 5}", 16, 1, " " * 15 + "^"),
        ("聊天: bad", 5, 3, " " * 6 + "^^^"),
        ("e\u0301: bad", 5, 3, " " * 3 + "^^^"),
        ("\tkey: 1", 2, 3, " ^^^"),
    ],
)
def test_caret_stands_below_what_it_means(text: str, column: int, length: int, caret: str) -> None:
    shown = render_diagnostics([Diagnostic("x", "m", Span("f", 1, column, text, length))]).splitlines()
    assert shown[2] == f"     | {caret}"


def test_long_line_is_cut_around_the_caret() -> None:
    text = "a" * 500 + "BAD" + "c" * 500
    line, caret = render_diagnostics([Diagnostic("x", "m", Span("f", 1, 501, text, 3))]).splitlines()[1:]
    assert len(line) <= 110
    assert line[caret.index("^") : caret.rindex("^") + 1] == "BAD"


def test_terminal_escapes_are_harmless() -> None:
    span = Span("f\x1b[2J", 1, 1, "k: \x1b]0;title\x07\u202e", 1)
    shown = render_diagnostics([Diagnostic("x", "bad \x1b[31m", span, hint="\x9b1m")])
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "\\x1b[31m" in shown


def test_diagnostic_as_data() -> None:
    data = Diagnostic("unknown-key", "m", Span("f", 3, 7), "slo.x", "h").as_dict()
    assert data == {
        "code": "unknown-key", "severity": "error", "message": "m", "hint": "h", "path": "slo.x",
        "file": "f", "line": 3, "column": 7,
    }  # fmt: skip
    assert Diagnostic("x", "m").as_dict()["line"] is None
