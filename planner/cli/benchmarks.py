"""``planner benchmarks``: speed and trust, measured on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.benchmark.table import Figure

PARTS = ("start", "memory", "solve", "studies", "traces", "brute", "scip")
LONG = ("fuzz",)  # an hour; only where asked for


def benchmarks(
    only: Annotated[list[str] | None, typer.Option(help=f"Parts: {', '.join(PARTS)} (the default), fuzz.")] = None,
    count: Annotated[int, typer.Option(help="Random scenarios for brute force and SCIP.", min=1)] = 200,
    inputs: Annotated[int, typer.Option(help="Mutated scenarios of the fuzz run.", min=1)] = 20_000,
    references: Annotated[int, typer.Option(help="Block references of the made-up trace.", min=1000)] = 10_000_000,
    traces: Annotated[list[Path] | None, typer.Option(help="Traces to time too (Mooncake JSONL).")] = None,
    scenarios: Annotated[Path, typer.Option(help="Folder of scenario files.")] = Path("scenarios"),
) -> None:
    """Measure start-up, solve, memory, and agreement with brute force and SCIP, side by side in one run."""
    from planner.benchmark.table import rendered
    from planner.errors import PlannerError

    unknown = set(only or ()) - {*PARTS, *LONG}
    if unknown:
        raise PlannerError(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS + LONG)}")
    missed = 0
    for part in only or PARTS:
        figures = list(_part(part, inputs if part == "fuzz" else count, scenarios, references, traces))
        missed += sum(f.met is False for f in figures)
        typer.echo(rendered(figures) + "\n")
    if missed:
        typer.echo(f"{missed} targets missed", err=True)
        raise typer.Exit(3)


def _fuzz(count: int) -> Iterator[Figure]:
    from planner.errors import PlannerError

    try:
        from planner.benchmark.fuzz import figures
    except ModuleNotFoundError as error:
        raise PlannerError(f"the fuzz run needs {error.name}: pip install {error.name}") from error
    yield from figures(count)


def _part(part: str, count: int, folder: Path, references: int, traces: list[Path] | None) -> Iterator[Figure]:
    from planner.benchmark.table import Figure

    files = sorted(folder.glob("*.yaml"), key=lambda p: (p.stem != "chat", p.stem))
    if part in ("start", "memory", "solve", "studies") and not files:
        yield Figure(f"No scenarios in {folder}/: run from a checkout", part, 0, "", target="run", met=False)
        return
    if part == "start":
        from planner.benchmark.startup import whole_process

        yield from whole_process(files)
    elif part == "memory":
        from planner.benchmark.startup import memory

        yield from memory(files)
    elif part == "solve":
        from planner.benchmark.library import in_process

        yield from in_process(files[:3])
    elif part == "studies":
        from planner.benchmark.studies import studies

        yield from studies(files)
    elif part == "traces":
        from planner.benchmark.traces import curves

        yield from curves(references, traces or ())
    elif part == "fuzz":
        yield from _fuzz(count)
    else:
        from planner.benchmark import oracles

        if not oracles.available():
            yield Figure("Brute force and SCIP live beside the tests: run from a checkout", part, 0, "")
            return
        yield from oracles.against_brute_force(count) if part == "brute" else oracles.against_scip(count)
