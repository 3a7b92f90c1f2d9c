"""``planner frontier``: what more of a promise costs."""

from __future__ import annotations

import gc
from enum import StrEnum
from typing import Annotated

import typer

from planner.cli.study import FormatOption, OutputOption, QuietOption, ScenarioArgument, VerboseOption


class X(StrEnum):
    """What cost is traded against."""

    ttft = "ttft"
    tpot = "tpot"
    requests = "requests"
    gpus = "gpus"


def frontier(
    scenario: ScenarioArgument,
    x: Annotated[X, typer.Option("--x", help="Time to first token, time per token, load, or GPUs.")] = X.ttft,
    low: Annotated[
        float | None, typer.Option("--from", min=0.0, help="Low end, in the axis's unit.", metavar="X")
    ] = None,
    high: Annotated[
        float | None, typer.Option("--to", min=0.0, help="High end, in the axis's unit.", metavar="X")
    ] = None,
    step: Annotated[
        float | None, typer.Option(min=1e-9, help="Spacing of the values shown between two turns.", metavar="X")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0.001, help="Stop after S seconds, with what was found.", metavar="S")
    ] = 600.0,
    format_: FormatOption = None,
    output: OutputOption = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write reports/<name>/frontier.json.")] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """The cheapest plan for every value of a promise, in all four cells.

    Turns and jumps are located exactly, and every value between two of them has its own exact cost, shown every
    --step. The last line says how near the optimum all of it is proven to be.

    Stopped early, by --time-limit or Ctrl-C, it shows what was found and says how far each cell was looked at: "not
    reached" is not "impossible", and no plan is called the cheapest where a cell is missing.

    Exit codes: 0 found (also some of it, at the time limit), 1 impossible everywhere in the range, 2 bad input, 3 gave
    up (nothing found within the time limit), 130 interrupted.
    """
    gc.disable()
    from planner.cli.session import GAVE_UP, INFEASIBLE, INTERRUPTED, Session
    from planner.cli.study import check_output, deliver, named_in, wanted_format
    from planner.errors import InputError
    from planner.report import study_frontier as render
    from planner.report.data import dumps
    from planner.report.study_frontier_data import to_csv, to_data
    from planner.report.study_frontier_markdown import to_markdown
    from planner.report.write import report_folder, write_text
    from planner.scenario import load
    from planner.study.frontier import frontier as compute

    if low is not None and high is not None and low >= high:
        raise InputError(f"--from {low:g} must lie below --to {high:g}")
    session = Session(quiet=quiet, verbose=verbose)
    check_output(output, [scenario])
    loaded = load(scenario)
    check_output(output, named_in(loaded))
    session.warn(loaded.warnings)
    with session.progress() as progress, session.interruptible() as stop:
        found = compute(
            loaded, x.value, low=low, high=high, step=step, time_limit_s=time_limit, progress=progress, stop=stop
        )
    deliver(
        session, wanted_format(format_, output), output,
        table=lambda: render.to_table(found), data=lambda: to_data(found), csv=lambda: to_csv(found),
        markdown=lambda: to_markdown(found),
    )  # fmt: skip
    if not no_report:
        write_text(report_folder(loaded.name) / "frontier.json", dumps(to_data(found)), make_folder=True)
    session.say(render.solves_line(found))
    if session.interrupted:
        return INTERRUPTED
    if any(cell.vertices for cell in found.cells):
        return 0
    return GAVE_UP if found.interrupted else INFEASIBLE
