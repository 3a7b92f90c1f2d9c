"""``planner sensitivity``: which inputs change the plan, which only its price."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from planner.cli.study import FormatOption, OutputOption, QuietOption, ScenarioArgument, VerboseOption


def sensitivity(
    scenario: ScenarioArgument,
    range_: Annotated[
        list[str] | None,
        typer.Option("--range", help="KEY=LOW:HIGH, or KEY=VALUE against today's; x2 is twice.", metavar="KEY=ENDS"),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only the inputs given by --range.")] = False,
    format_: FormatOption = None,
    output: OutputOption = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Do not write reports/<name>/sensitivity.json.")
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Move each input to both ends of its range, solve again, and say what keeping today's plan would cost.

    Also: timing.prefill, timing.decode and reuse.hits, as factors of today's. Exit codes as of solve; 130 where it was
    interrupted, with the inputs moved by then.
    """
    gc.disable()
    from planner.cli.session import INTERRUPTED, Session
    from planner.cli.study import check_output, deliver, named_in, wanted_format
    from planner.errors import Diagnostic, InputError
    from planner.report import study_sensitivity as render
    from planner.report.data import dumps
    from planner.report.write import report_folder, write_text
    from planner.scenario import load
    from planner.study.sensitivity import sensitivity as compute

    if only and not range_:
        raise InputError(Diagnostic("usage", "--only keeps the inputs given by --range, and there is none"))
    session = Session(quiet=quiet, verbose=verbose)
    check_output(output, [scenario])
    loaded = load(scenario)
    check_output(output, named_in(loaded))
    session.warn(loaded.warnings)
    with session.progress() as progress, session.interruptible() as stop:
        found = compute(loaded, ranges=tuple(range_ or ()), only_stated=only, progress=progress, stop=stop)
    deliver(
        session, wanted_format(format_, output), output,
        table=lambda: render.to_table(found), data=lambda: render.to_data(found), csv=lambda: render.to_csv(found),
        markdown=lambda: render.to_markdown(found),
    )  # fmt: skip
    if not no_report:
        write_text(report_folder(loaded.name) / "sensitivity.json", dumps(render.to_data(found)), make_folder=True)
    session.say(f"{2 * len(found.bars)} variants solved ({found.seconds:.1f} s)")
    if session.interrupted:
        session.say("interrupted: the answer is what was known by then")
        return INTERRUPTED
    return 0
