"""``planner explain``: one plan worked out by hand, every equation with its numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.physics.system import System
    from planner.plan import Evaluation
    from planner.report.planfile import StoredPlan

SAME = 1e-6  # relative difference of cost up to which the file and the recomputation agree


class ExplainFormat(StrEnum):
    """How the answer is printed."""

    text = "text"
    json = "json"


def explain(
    plans: Annotated[Path, typer.Argument(help="plans.json of planner solve.", metavar="PLANS", show_default=False)],
    rank: Annotated[int, typer.Option("--rank", min=1, help="Which plan.", metavar="N")] = 1,
    format_: Annotated[ExplainFormat, typer.Option("--format", "-f", help="How to print.")] = ExplainFormat.text,
) -> int:
    """Derive one plan, every equation in numbers.

    Ends with what is binding: the promises and supplies that hold the plan where it is.

    The plan is judged again, so a file that was changed by hand is noticed.
    """
    from planner.report.planfile import read_plan
    from planner.report.write import to_stdout

    stored = read_plan(plans, rank)
    system, found = _judged(plans, stored)
    if format_ is ExplainFormat.json:
        to_stdout(_as_json(system, found))
    else:
        from planner.report.derivation import to_text

        of = f"plan {stored.rank} of {stored.ranks}" if stored.ranks > 1 else "the plan"
        to_stdout(to_text(system, found, f"{stored.scenario.name} · {of} · {found.decision.architecture}"))
    return _report(stored, found)


def _judged(path: Path, stored: StoredPlan) -> tuple[System, Evaluation]:
    from planner.errors import Diagnostic, InputError
    from planner.evaluate import evaluate
    from planner.physics.system import System

    system = System(stored.scenario)
    named = [stored.decision.prefill_config, stored.decision.decode_config or stored.decision.prefill_config]
    for name in named:
        if name not in system.config_by_name:
            message = f"{path}: its scenario has no configuration {name[:40]!r}"
            raise InputError(Diagnostic("not-a-plan-file", message))
    return system, evaluate(system, stored.decision)


def _as_json(system: System, found: Evaluation) -> str:
    from dataclasses import asdict

    from planner.report.data import SCHEMA_VERSION, dumps
    from planner.report.derivation import binding_lines, derive

    sections = [
        {"title": s.title, "steps": [asdict(step) | {"kept": step.kept} for step in s.steps]}
        for s in derive(system, found)
    ]
    binding = [line.strip() for line in binding_lines(found)]
    return dumps(
        {"schema_version": SCHEMA_VERSION, "sections": sections, "binding": binding, "notes": list(found.notes)}
    )


def _report(stored: StoredPlan, found: Evaluation) -> int:
    """Say where the recomputation and the file differ; a plan that breaks a promise is an error."""
    from planner import __version__
    from planner.report.write import to_stderr

    if abs(found.usd_per_hour - stored.usd_per_hour) > SAME * abs(stored.usd_per_hour):
        to_stderr(
            f"warning: the file says ${stored.usd_per_hour:,.2f}/h, its own scenario and decision give "
            f"${found.usd_per_hour:,.2f}/h (written by planner {stored.planner_version[:20]!r}, this is {__version__})"
        )
    for broken in found.violations:
        to_stderr(f"error: {broken.rule} needs {broken.need:,.6g} {broken.unit}, has {broken.have:,.6g}")
    return 1 if found.violations else 0
