"""``planner solve``: from a scenario file to proven, ranked plans."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planner.cli.session import Session
    from planner.plan import PlanSet
    from planner.scenario import Scenario


class Format(StrEnum):
    """How the answer is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file (YAML).", metavar="SCENARIO", show_default=False)]
AsFormat = Annotated[
    Format | None,
    typer.Option("--format", "-f", help="Default: by the ending of --output, else table.", show_default=False),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the answer there; - is stdout.", metavar="FILE")
]
Plans = Annotated[int | None, typer.Option(min=1, max=100, help="How many ranked plans.", metavar="N")]
Gap = Annotated[float | None, typer.Option(help="Proof target, relative: 1e-4 is 0.01 %.", metavar="G")]
TimeLimit = Annotated[float | None, typer.Option(help="Stop after S seconds, with what was found.", metavar="S")]
Verify = Annotated[bool, typer.Option("--verify", help="Solve again with other solver settings.")]
WriteLp = Annotated[Path | None, typer.Option(help="Write the optimisation model there, in LP format.", metavar="FILE")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write reports/<name>/plans.json.")]
Html = Annotated[bool, typer.Option("--html", help="Also write report.html, beside the plan file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Versions, and tracebacks.")]


def solve(
    scenario: ScenarioFile,
    format_: AsFormat = None,
    output: Output = None,
    plans: Plans = None,
    gap: Gap = None,
    time_limit: TimeLimit = None,
    verify: Verify = False,
    write_lp: WriteLp = None,
    no_report: NoReport = False,
    html: Html = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Find, prove and rank the cheapest designs.

    The first plan is the cheapest that keeps every promise, with the proof of it; the others differ from it in
    structure. Also: what colocated and disaggregated cost with and without tiers, and whether combining pays.

    Exit codes: 0 a plan, 1 impossible, 2 bad input, 3 gave up, 130 interrupted.
    """
    from planner.cli.session import Session, within
    from planner.cli.study import named_in
    from planner.scenario import load

    limits = {"gap": within("--gap", gap, 0.0, 0.5), "time_limit_s": within("--time-limit", time_limit, 0.001, 1e6)}
    session = Session(quiet=quiet, verbose=verbose)
    loaded = load(scenario)
    session.warn(loaded.warnings)
    inputs = [scenario, *named_in(loaded)]
    report = _report_path(loaded, inputs, no_report, output, write_lp)
    page = _page_path(loaded, inputs, format_, output) if html else None
    found = _solved(session, loaded, plans=plans, verify=verify, write_lp=write_lp and str(write_lp), **limits)
    plan_file = _plan_file(found, loaded)
    code = session.deliver(found, rendered(found, format_, output, plan_file, loaded), output, report, plan_file)
    if write_lp is not None and found.plans:
        session.say(f"written: {write_lp} (capacities and cost are scaled; its first lines say how)")
    if page is not None:
        _write_page(page, found, loaded)
        session.say(f"written: {page}")
    return code


def _report_path(loaded: Scenario, inputs: list[Path], no_report: bool, *others: Path | None) -> Path | None:
    """Where the plan file goes; all that will be written is known to be writable before the solve."""
    from planner.report.write import check_writable, report_folder

    report = None if no_report else report_folder(loaded.name) / "plans.json"
    if report is not None:
        check_writable(report, make_folder=True, inputs=inputs)
    for path in others:
        if path is not None and str(path) != "-":
            check_writable(path, inputs=inputs)
    return report


def _page_path(loaded: Scenario, inputs: list[Path], format_: Format | None, output: Path | None) -> Path:
    """Beside the plan file that was asked for, as ``planner report`` has it; else beside ``plans.json``."""
    from planner.report.write import check_writable, report_folder

    named = output is not None and str(output) != "-" and (format_ or _implied(output)) is Format.json
    page = (output.parent if named and output else report_folder(loaded.name)) / "report.html"
    check_writable(page, make_folder=True, inputs=inputs)
    return page


def _write_page(page: Path, found: PlanSet, loaded: Scenario) -> None:
    from planner.report.html import report_html
    from planner.report.reread import StoredSet
    from planner.report.write import write_text

    write_text(page, report_html(StoredSet(found, loaded, loaded.text)), make_folder=True)


def _solved(session: Session, loaded: Scenario, **options: Any) -> PlanSet:
    from planner.cli.session import settle
    from planner.optimize import solve_scenario

    settle()
    with session.progress() as progress, session.interruptible() as stop:
        return solve_scenario(loaded, progress=progress, stop=stop, **options)


def _plan_file(found: PlanSet, loaded: Scenario) -> str:
    """The plan file's text; a timing CSV of the user's by its whole path, to be found from any folder."""
    from planner.report.data import to_json
    from planner.scenario.loader import located

    return to_json(found, located(loaded).model_dump(mode="json", exclude_none=True), loaded.text)


def rendered(found: PlanSet, format_: Format | None, output: Path | None, plan_file: str, loaded: Scenario) -> str:
    """The answer in the format asked for, or in the one that the output's name implies."""
    to_file = output is not None and str(output) != "-"
    kind = format_ or _implied(output)
    if kind == Format.json:
        return plan_file
    if kind == Format.csv:
        from planner.report.csv_rows import to_csv

        return to_csv(found)
    if kind == Format.md:
        from planner.report.markdown import to_markdown
        from planner.report.reread import StoredSet

        return to_markdown(found, StoredSet(found, loaded, loaded.text))
    from planner.cli.session import colour_wanted
    from planner.report.grid import PAGE_COLUMNS, page_of, terminal_columns
    from planner.report.table import NARROWEST, to_table

    with page_of(PAGE_COLUMNS if to_file else max(NARROWEST, terminal_columns())):
        return to_table(found, colour=not to_file and colour_wanted(sys.stdout))


def _implied(output: Path | None) -> Format:
    endings = {".json": Format.json, ".csv": Format.csv, ".md": Format.md}
    return endings.get(output.suffix.lower(), Format.table) if output is not None else Format.table
