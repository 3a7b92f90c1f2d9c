"""``planner report``: the page that a budget meeting reads, from a plan file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.cli.session import Session
    from planner.report.html.parts import Chart, Picture
    from planner.report.reread import StoredSet

PAGES, DOCUMENTS = (".html", ".htm", ""), (".md", ".markdown")


class ReportFormat(StrEnum):
    """What is written."""

    html = "html"
    md = "md"


def report(
    plans: Annotated[
        list[Path],
        typer.Argument(help="plans.json of planner solve; several: side by side.", metavar="PLANS", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Default: report.html beside PLANS; - is stdout.", metavar="FILE"),
    ] = None,
    format_: Annotated[
        ReportFormat | None,
        typer.Option("--format", "-f", help="Default: by the ending of --output, else html.", show_default=False),
    ] = None,
    with_: Annotated[
        str, typer.Option("--with", help="Solve for more pictures: frontier, tornado, or both.", metavar="STUDIES")
    ] = "",
    picture: Annotated[
        list[Path] | None,
        typer.Option(help="Show this picture too (planner fit). Default: the SVG files beside PLANS.", metavar="SVG"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
) -> int:
    """One self-contained page: what to buy, what it costs, and what could change the answer.

    Nothing is solved again unless --with asks for it. The page needs no network and prints well.
    """
    from planner.cli.session import Session
    from planner.report.reread import read_plan_set
    from planner.report.write import check_writable, to_stdout, write_text

    session = Session(quiet=quiet)
    kind = format_ or _implied(output)
    _check(plans, kind, with_, picture or [])
    stored = [read_plan_set(path) for path in plans]  # first: a folder that is not there is the input's fault
    target = output or _default(plans, kind)
    if str(target) != "-":
        check_writable(target, inputs=[*plans, *(picture or [])])
    pictures = _pictures(plans, kind, picture, session)
    text = _rendered(stored, kind, _studies(with_), pictures, session)
    if str(target) == "-":
        to_stdout(text)
    else:
        write_text(target, text)
        session.say(f"written: {target}")
    return 0


def _implied(output: Path | None) -> ReportFormat:
    """The format that the name says; a name that says another one is refused."""
    from planner.errors import Diagnostic, InputError

    ending = "" if output is None or not output.suffix else output.suffix.lower()
    if ending in DOCUMENTS:
        return ReportFormat.md
    if ending in PAGES or (output is not None and output.exists() and not output.is_file()):
        return ReportFormat.html
    wrong = f"{output}: a report is a page (.html) or Markdown (.md)"
    raise InputError(Diagnostic("usage", wrong, hint="--format html or --format md writes it under any name"))


def _default(plans: list[Path], kind: ReportFormat) -> Path:
    if kind is ReportFormat.md:
        return Path("-")
    return plans[0].with_name("report.html") if len(plans) == 1 else Path("compare.html")


def _studies(with_: str) -> list[str]:
    return [name.strip() for name in with_.split(",") if name.strip()]


def _pictures(plans: list[Path], kind: ReportFormat, named: list[Path] | None, session: Session) -> list[Picture]:
    """Those that were named; else those beside the one plan file, as far as they can be shown."""
    if len(plans) > 1 or kind is ReportFormat.md:
        return []
    from planner.report.html.pictures import pictures_beside, read_picture

    if named is not None:
        return [read_picture(path) for path in named]
    found, left_out = pictures_beside(plans[0])
    for said in left_out:
        session.say(f"warning: {said}")
    return found


def _check(plans: list[Path], kind: ReportFormat, with_: str, pictures: list[Path]) -> None:
    """Refuse what cannot be meant before anything is read."""
    from planner.errors import Diagnostic, InputError
    from planner.report.html.studies import STUDIES

    unknown = [name for name in _studies(with_) if name not in STUDIES]
    if unknown:
        known = ", ".join(STUDIES)
        raise InputError(Diagnostic("unknown-study", f"--with {unknown[0][:40]!r}: there is {known}"))
    single = len(plans) == 1 and kind is ReportFormat.html
    if (with_ or pictures) and not single:
        raise InputError(Diagnostic("usage", "--with and --picture belong to the HTML report of one plan file"))


def _rendered(
    stored: list[StoredSet], kind: ReportFormat, studies: list[str], pictures: list[Picture], session: Session
) -> str:
    if kind is ReportFormat.md:
        from planner.report.markdown import several, to_markdown

        return several(stored) if len(stored) > 1 else to_markdown(stored[0].plan_set, stored[0])
    if len(stored) > 1:
        from planner.report.html.compare import compare_html

        return compare_html(stored)
    from planner.report.html import report_html

    return report_html(stored[0], _solved(stored[0], studies, session), pictures)


def _solved(stored: StoredSet, studies: list[str], session: Session) -> list[Chart]:
    """The charts that need more solves."""
    if not studies:
        return []
    from planner.report.format import safe
    from planner.report.html.studies import study_charts

    if not stored.plan_set.plans:
        name = safe(stored.plan_set.scenario_name, 60)
        session.say(f"warning: {name} has no plan, so the page is without {' and '.join(studies)}")
        return []
    with session.progress() as progress, session.interruptible() as stop:
        return study_charts(stored, studies, progress, stop)
