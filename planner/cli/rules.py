"""``planner rules``: the optimisation model's formulation, generated from the code that builds it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class RulesFormat(StrEnum):
    """How the answer is printed."""

    text = "text"
    md = "md"
    json = "json"


def rules(
    format_: Annotated[RulesFormat, typer.Option("--format", "-f", help="How to print.")] = RulesFormat.text,
) -> int:
    """Show the optimisation model, rule by rule.

    Each rule has its formula, its unit and the scenario key that relaxes it, read from the code that builds it.
    """
    from planner.milp.rules import RULES
    from planner.report import formulation
    from planner.report.data import SCHEMA_VERSION, dumps
    from planner.report.write import to_stdout

    rows = formulation.rule_rows(RULES)
    if format_ is RulesFormat.json:
        to_stdout(dumps({"schema_version": SCHEMA_VERSION, "rules": formulation.as_data(rows)}))
    elif format_ is RulesFormat.md:
        to_stdout(formulation.to_markdown(rows))
    else:
        to_stdout(formulation.to_text(rows))
    return 0
