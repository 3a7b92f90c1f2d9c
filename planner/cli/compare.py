"""``planner compare``: what differs between scenarios or plans, and why."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.study import FormatOption, OutputOption, QuietOption, VerboseOption

if TYPE_CHECKING:
    from planner.cli.session import Session

DIFFERS = 4
NO_PAGES = (".yaml", ".yml", ".json", ".csv", ".md", ".svg", ".pdf", ".txt")


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Scenarios (YAML) or plan files (JSON), two or more.", metavar="FILE...", show_default=False
        ),
    ],
    verdict: Annotated[
        bool | None,
        typer.Option(
            "--verdict/--no-verdict", help="Does combining pay? Default: with three or more.", show_default=False
        ),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 4 where a plan differs from the first.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page side by side to this file.", metavar="FILE")
    ] = None,
    format_: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Inputs that differ, outcomes that differ, and why: each input alone, the bill, the rule that became binding.

    Exit codes: 0 compared, 1 one of them has no plan (also with --exit-code), 2 bad input, 3 gave up on one,
    4 plans differ (--exit-code): another structure, or a capacity by more than 2 %.
    """
    gc.disable()
    from planner.cli.session import GAVE_UP, INFEASIBLE, Session
    from planner.cli.study import NO_TEXT, check_output, deliver, wanted_format
    from planner.errors import InputError
    from planner.report import study_compare as render
    from planner.study.compare import compare as compute

    if len(files) < 2:
        raise InputError("compare needs two files or more")
    session = Session(quiet=quiet, verbose=verbose)
    _check_page(html)
    check_output(output, files)
    check_output(html, files, NO_TEXT)
    with session.progress() as progress:
        found = compute(files, with_verdict=len(files) > 2 if verdict is None else verdict, progress=progress)
    deliver(
        session, wanted_format(format_, output), output,
        table=lambda: render.to_table(found), data=lambda: render.to_data(found), csv=lambda: render.to_csv(found),
        markdown=lambda: render.to_markdown(found),
    )  # fmt: skip
    if html is not None:
        _write_page(session, files, html)
    if found.without_plan:
        return GAVE_UP if all(side.gave_up for side in found.without_plan) else INFEASIBLE
    return DIFFERS if exit_code and found.differs else 0


def _check_page(html: Path | None) -> None:
    """``--html A.yaml B.yaml`` takes A.yaml for the page; what it meant is said."""
    from planner.errors import Diagnostic, InputError

    if html is not None and html.suffix.lower() in NO_PAGES:
        wrong = f"--html takes the page to write: {html} is no name for one"
        raise InputError(Diagnostic("usage", wrong, hint="planner compare FILE FILE --html compare.html"))


def _write_page(session: Session, files: list[Path], path: Path) -> None:
    from planner.report.html.compare import compare_files
    from planner.report.write import write_text

    with session.progress() as progress:
        page = compare_files(files, progress)
    write_text(path, page)
    session.say(f"written: {path}")
