"""``planner sweep``: one plan for each of many variants."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.study import FormatOption, OutputOption, QuietOption, ScenarioArgument, VerboseOption

if TYPE_CHECKING:
    from planner.cli.session import Session
    from planner.cli.study import StudyFormat
    from planner.study.sweep import Runner, Sweep


PARQUET = (".parquet",)


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

    The answer goes to a table, Markdown, CSV, JSON or Parquet (-o sweep.parquet). After Ctrl-C the rows that are solved
    are shown, the exit code is 130, and the next run solves the rest; JSON, tables and Markdown say that rows are
    missing, while CSV and Parquet go to sweep.partial.csv instead of sweep.csv, which stays as it was.

    Exit codes: 0 some point has a plan, 1 none has, 2 bad input, 3 gave up, 130 interrupted.
    """
    gc.disable()
    from planner.cli.session import INFEASIBLE, INTERRUPTED, Session
    from planner.cli.study import check_output, named_in
    from planner.report import study_sweep as render
    from planner.scenario import load
    from planner.study.cache import Cache
    from planner.study.parquet import require_parquet
    from planner.study.sets import ignored_steps, parse_settings, points, without_effect
    from planner.study.sweep import sweep as compute

    session = Session(quiet=quiet, verbose=verbose)
    check_output(output, [scenario], PARQUET if format_ is None else ())
    if _is_parquet(format_, output):
        require_parquet()
    loaded = load(scenario)
    check_output(output, named_in(loaded), PARQUET)
    session.warn(loaded.warnings)
    settings = parse_settings(set_, loaded)
    for note in (*without_effect(settings, loaded), *(ignored_steps(settings) if sample is not None else ())):
        session.say(f"warning: {note}")
    variants = points(settings, sample, seed)
    store = Cache(None if no_cache else cache)
    with session.progress() as progress, session.interruptible() as stop:
        found = compute(loaded, variants, cache=store, runner=_runner(jobs, dask), progress=progress, stop=stop)
    _deliver(session, found, format_, output)
    session.say(render.summary_line(found))
    if store.lost:
        from planner.report.study_common import counted

        session.say(f"warning: {cache} cannot be written: {counted(store.lost, 'row')} will be solved again")
    if found.interrupted:
        from planner.report.write import to_stderr

        to_stderr(render.interrupted_line(found, kept=not no_cache))
        return INTERRUPTED
    return 0 if any(row["status"] in ("optimal", "feasible") for row in found.rows) else INFEASIBLE


def _deliver(session: Session, found: Sweep, format_: StudyFormat | None, output: Path | None) -> None:
    from planner.cli.study import StudyFormat, deliver, wanted_format
    from planner.report import study_sweep as render

    parquet = _is_parquet(format_, output)
    form = wanted_format(format_, output)
    if output is not None and str(output) != "-" and found.interrupted and (parquet or form is StudyFormat.csv):
        if not found.rows:
            return
        output = output.with_name(f"{output.stem}.partial{output.suffix}")  # neither can say that rows are missing
    if output is not None and parquet:
        from planner.study.parquet import write_parquet

        write_parquet(output, found.rows, found.columns)
        session.say(f"written: {output}")
        return
    deliver(
        session, form, output,
        table=lambda: render.to_table(found), data=lambda: render.to_data(found), csv=lambda: render.to_csv(found),
        markdown=lambda: render.to_markdown(found),
    )  # fmt: skip


def _is_parquet(format_: StudyFormat | None, output: Path | None) -> bool:
    return format_ is None and output is not None and output.suffix.lower() == ".parquet"


def _runner(jobs: int, dask: str | None) -> Runner | None:
    from planner.study.workers import dask_cluster, processes

    if dask:
        return dask_cluster(dask)
    return processes(jobs) if jobs > 1 else None
