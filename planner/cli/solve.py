"""``planner solve``: from a scenario file to proven, ranked plans."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.plan import PlanSet


class Format(StrEnum):
    """How the answer is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


def solve(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (YAML).", metavar="SCENARIO", show_default=False)],
    format_: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="Default: by the ending of --output, else table.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the answer there; - is stdout.", metavar="FILE")
    ] = None,
    plans: Annotated[int | None, typer.Option(min=1, max=100, help="How many ranked plans.", metavar="N")] = None,
    gap: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Proof target, relative: 1e-4 is 0.01 %.", metavar="G")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Stop after S seconds, with what was found.", metavar="S")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Solve again with other solver settings.")] = False,
    write_lp: Annotated[
        Path | None, typer.Option(help="Write the optimisation model there, in LP format.", metavar="FILE")
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write reports/<name>/plans.json.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Versions, and tracebacks.")] = False,
) -> int:
    """Find, prove and rank the cheapest designs.

    The first plan is the cheapest that keeps every promise, with the proof of it; the others differ from it in
    structure. Also: what colocated and disaggregated cost with and without tiers, and whether combining pays.

    Exit codes: 0 a plan, 1 impossible, 2 bad input, 3 gave up, 130 interrupted.
    """
    from planner.cli.session import Session, settle
    from planner.report.data import to_json
    from planner.report.write import check_writable, report_folder
    from planner.scenario import load

    session = Session(quiet=quiet, verbose=verbose)
    loaded = load(scenario)
    session.warn(loaded.warnings)
    report = None if no_report else report_folder(loaded.name) / "plans.json"
    if report is not None:
        check_writable(report, make_folder=True)
    for path in (output, write_lp):
        if path is not None and str(path) != "-":
            check_writable(path)
    from planner.optimize import solve_scenario

    settle()
    with session.progress() as progress, session.interruptible() as stop:
        found = solve_scenario(
            loaded,
            plans=plans,
            gap=gap,
            time_limit_s=time_limit,
            verify=verify,
            write_lp=None if write_lp is None else str(write_lp),
            progress=progress,
            stop=stop,
        )
    plan_file = to_json(found, loaded.model_dump(mode="json", exclude_none=True), loaded.text)
    return session.deliver(found, rendered(found, format_, output, plan_file), output, report, plan_file)


def rendered(found: PlanSet, format_: Format | None, output: Path | None, plan_file: str) -> str:
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

        return to_markdown(found)
    from planner.cli.session import colour_wanted
    from planner.report.table import to_table

    return to_table(found, colour=not to_file and colour_wanted(sys.stdout))


def _implied(output: Path | None) -> Format:
    endings = {".json": Format.json, ".csv": Format.csv, ".md": Format.md}
    return endings.get(output.suffix.lower(), Format.table) if output is not None else Format.table
