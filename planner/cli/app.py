"""The commands and what they share: the version flag and the option types."""

from __future__ import annotations

from typing import Annotated

import typer

from planner import __version__
from planner.cli.backtest import backtest_command
from planner.cli.benchmarks import benchmarks
from planner.cli.breakeven import breakeven
from planner.cli.budget import budget
from planner.cli.catalog import catalog
from planner.cli.check import check
from planner.cli.compare import compare
from planner.cli.explain import explain
from planner.cli.fit import fit
from planner.cli.frontier import frontier
from planner.cli.init import init
from planner.cli.report import report
from planner.cli.rules import rules
from planner.cli.schema import schema
from planner.cli.sensitivity import sensitivity
from planner.cli.solve import solve
from planner.cli.sweep import sweep

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Chooses GPUs, memory tiers and capacities for LLM serving, and proves what it chose.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"planner {__version__}")
        raise typer.Exit


@app.callback()
def planner(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Chooses GPUs, memory tiers and capacities for LLM serving, and proves what it chose."""


for command in (
    solve,
    frontier,
    sweep,
    sensitivity,
    compare,
    breakeven,
    budget,
    report,
    check,
    explain,
    fit,
    init,
    catalog,
    rules,
    schema,
    benchmarks,
):
    app.command()(command)
app.command("backtest")(backtest_command)
