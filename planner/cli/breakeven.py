"""``planner breakeven``: how much of each tier pays for itself."""

from __future__ import annotations

import gc

from planner.cli.study import FormatOption, OutputOption, QuietOption, ScenarioArgument, VerboseOption


def breakeven(
    scenario: ScenarioArgument,
    format_: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Per tier: the closed form and whether to believe it, the optimum on the actual curve, the next TB, retention.

    Exit codes: 0 found, 1 impossible, 2 bad input, 3 gave up.
    """
    gc.disable()
    from planner.cli.session import Session
    from planner.cli.study import check_output, deliver, named_in, wanted_format
    from planner.report import study_breakeven as render
    from planner.scenario import load
    from planner.study.breakeven import breakeven as compute

    session = Session(quiet=quiet, verbose=verbose)
    check_output(output, [scenario])
    loaded = load(scenario)
    check_output(output, named_in(loaded))
    session.warn(loaded.warnings)
    found = compute(loaded)
    deliver(
        session, wanted_format(format_, output), output,
        table=lambda: render.to_table(found), data=lambda: render.to_data(found), csv=lambda: render.to_csv(found),
        markdown=lambda: render.to_markdown(found),
    )  # fmt: skip
    return 0
