"""What the study commands share: the format flag, and where an answer goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planner.cli.session import Session
    from planner.scenario import Scenario


class StudyFormat(StrEnum):
    """How the answer is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


NO_TEXT = (".xlsx", ".xls", ".ods", ".parquet", ".html", ".htm", ".pdf", ".svg", ".png", ".docx", ".yaml", ".yml")

FormatOption = Annotated[
    StudyFormat | None,
    typer.Option("--format", "-f", help="Default: by the ending of --output, else table.", show_default=False),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the answer there; - is stdout.", metavar="FILE")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and errors.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Tracebacks.")]
ScenarioArgument = Annotated[Path, typer.Argument(help="Scenario file (YAML).", metavar="SCENARIO", show_default=False)]


def wanted_format(format_: StudyFormat | None, output: Path | None) -> StudyFormat:
    """The format asked for, or the one that the output's name implies."""
    endings = {".json": StudyFormat.json, ".csv": StudyFormat.csv, ".md": StudyFormat.md}
    implied = endings.get(output.suffix.lower(), StudyFormat.table) if output is not None else StudyFormat.table
    return format_ or implied


def deliver(
    session: Session,
    format_: StudyFormat,
    output: Path | None,
    *,
    table: Callable[[], str],
    data: Callable[[], Mapping[str, Any]],
    csv: Callable[[], str],
    markdown: Callable[[], str] | None = None,
) -> None:
    """Render the answer in one format and write it to the file or stdout."""
    from planner.errors import Diagnostic, InputError
    from planner.report.data import dumps
    from planner.report.grid import PAGE_COLUMNS, page_of, terminal_columns
    from planner.report.write import to_stdout, write_text

    to_file = output is not None and str(output) != "-"
    if format_ is StudyFormat.json:
        text = dumps(data())
    elif format_ is StudyFormat.md:
        if markdown is None:
            raise InputError(Diagnostic("usage", "this answer has no Markdown; --format is table, json or csv"))
        text = markdown()
    elif format_ is StudyFormat.csv:
        text = csv()
    else:
        with page_of(PAGE_COLUMNS if to_file else terminal_columns()):
            text = table()
    if output is not None and str(output) != "-":
        write_text(output, text)
        session.say(f"written: {output}")
    else:
        to_stdout(text)


def check_output(output: Path | None, inputs: Sequence[Path] = (), also: Sequence[str] = ()) -> None:
    """Find out before a long run that the output cannot be written, is one of the inputs, or is named as no text is.

    ``also`` are endings of files that are no text and that the command writes.
    """
    from planner.errors import Diagnostic, InputError
    from planner.report.write import check_writable

    if output is not None and str(output) != "-":
        check_writable(output, inputs=inputs)
        if (ending := output.suffix.lower()) in NO_TEXT and ending not in also:
            hint = f"name it .csv (spreadsheets open that), .json, .md{', .parquet' if also else ''} or .txt"
            raise InputError(Diagnostic("usage", f"{output}: no {ending} is written here", hint=hint))


def named_in(loaded: Scenario) -> list[Path]:
    """Files that a scenario reads besides itself: its timing table."""
    from planner.scenario.loader import timing_name

    timing = timing_name(loaded)
    return [Path(timing)] if timing.lower().endswith(".csv") else []
