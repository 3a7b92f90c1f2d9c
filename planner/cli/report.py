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

MOST_PICTURE_BYTES = 2_000_000
MOST_BESIDE = 4  # pictures that are shown without being named


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
    target = output or _default(plans, kind)
    if str(target) != "-":
        check_writable(target)
    stored = [read_plan_set(path) for path in plans]
    pictures = _beside(plans, kind) if picture is None else picture
    text = _rendered(stored, kind, _studies(with_), pictures, session)
    if str(target) == "-":
        to_stdout(text)
    else:
        write_text(target, text)
        session.say(f"written: {target}")
    return 0


def _implied(output: Path | None) -> ReportFormat:
    return ReportFormat.md if output is not None and output.suffix.lower() == ".md" else ReportFormat.html


def _default(plans: list[Path], kind: ReportFormat) -> Path:
    if kind is ReportFormat.md:
        return Path("-")
    return plans[0].with_name("report.html") if len(plans) == 1 else Path("compare.html")


def _studies(with_: str) -> list[str]:
    return [name.strip() for name in with_.split(",") if name.strip()]


def _beside(plans: list[Path], kind: ReportFormat) -> list[Path]:
    """The pictures in a plan file's own folder."""
    if len(plans) > 1 or kind is ReportFormat.md:
        return []
    found = sorted(plans[0].parent.glob("*.svg")) if plans[0].parent.is_dir() else []
    return [path for path in found if path.is_file() and path.stat().st_size <= MOST_PICTURE_BYTES][:MOST_BESIDE]


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
    stored: list[StoredSet], kind: ReportFormat, studies: list[str], pictures: list[Path], session: Session
) -> str:
    if kind is ReportFormat.md:
        from planner.report.markdown import several, to_markdown

        return several(stored) if len(stored) > 1 else to_markdown(stored[0].plan_set, stored[0])
    if len(stored) > 1:
        from planner.report.html.compare import compare_html

        return compare_html(stored)
    from planner.report.html import report_html

    return report_html(stored[0], _solved(stored[0], studies, session), [_picture(path) for path in pictures])


def _solved(stored: StoredSet, studies: list[str], session: Session) -> list[Chart]:
    """The charts that need more solves."""
    if not studies:
        return []
    from planner.report.html.studies import study_charts

    with session.progress() as progress, session.interruptible() as stop:
        return study_charts(stored, studies, progress, stop)


def _picture(path: Path) -> Picture:
    from planner.errors import Diagnostic, InputError
    from planner.report.html.parts import Picture

    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_PICTURE_BYTES + 1)
    except OSError as error:
        raise InputError(Diagnostic("unreadable-file", f"cannot read {path}: {error.strerror}")) from None
    if len(data) > MOST_PICTURE_BYTES or b"<svg" not in data[:2000]:
        raise InputError(Diagnostic("not-a-picture", f"{path}: not an SVG of at most 2 MB"))
    return Picture(path.name, data)
