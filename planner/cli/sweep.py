"""``planner sweep``: one plan for each of many variants."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.study import FormatOption, OutputOption, QuietOption, ScenarioArgument, VerboseOption

if TYPE_CHECKING:
    from planner.study.sweep import Runner


def sweep(
    scenario: ScenarioArgument,
    set_: Annotated[
        list[str],
        typer.Option(
            "--set", help="KEY=LOW:HIGH:STEP, KEY=A,B,C, or KEY=LOW:HIGH with --sample.", metavar="KEY=VALUES"
        ),
    ],
    sample: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="N points of a Latin hypercube.", metavar="N")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the sample.", metavar="N")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, help="Processes.", metavar="N")] = 1,
    dask: Annotated[str | None, typer.Option(help="A Dask scheduler: tcp://host:8786.", metavar="ADDRESS")] = None,
    cache: Annotated[Path, typer.Option(help="Where solved points are kept.", metavar="DIR")] = Path("reports/.points"),
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Solve everything again.")] = False,
    format_: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Vary scenario values over a grid or a sample; solved points are kept, so that a second run costs nothing.

    The answer goes to a table, CSV, JSON or Parquet (-o sweep.parquet). Exit codes as of solve.
    """
    gc.disable()
    from planner.cli.session import INFEASIBLE, INTERRUPTED, Session
    from planner.cli.study import check_output, deliver, wanted_format
    from planner.report import study_sweep as render
    from planner.scenario import load
    from planner.study.cache import Cache
    from planner.study.sets import grid, latin_hypercube, parse_setting
    from planner.study.sweep import sweep as compute

    session = Session(quiet=quiet, verbose=verbose)
    check_output(output)
    loaded = load(scenario)
    session.warn(loaded.warnings)
    settings = [parse_setting(text, loaded) for text in set_]
    variants = latin_hypercube(settings, sample, seed) if sample else grid(settings)
    with session.progress() as progress, session.interruptible() as stop:
        found = compute(
            loaded, variants, cache=Cache(None if no_cache else cache), runner=_runner(jobs, dask), progress=progress,
            stop=stop,
        )  # fmt: skip
    if output is not None and output.suffix == ".parquet" and format_ is None:
        from planner.study.parquet import write_parquet

        write_parquet(output, found.rows)
        session.say(f"written: {output}")
    else:
        deliver(
            session, wanted_format(format_, output), output,
            table=lambda: render.to_table(found), data=lambda: render.to_data(found), csv=lambda: render.to_csv(found),
        )  # fmt: skip
    session.say(render.summary_line(found))
    if session.interrupted:
        return INTERRUPTED
    return 0 if any(row["status"] in ("optimal", "feasible") for row in found.rows) else INFEASIBLE


def _runner(jobs: int, dask: str | None) -> Runner | None:
    from planner.study.workers import dask_cluster, processes

    if dask:
        return dask_cluster(dask)
    return processes(jobs) if jobs > 1 else None
