"""``planner schema``: JSON Schema of a scenario file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def schema(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it there.", metavar="FILE")] = None,
) -> int:
    """Print the JSON Schema of a scenario file.

    It has every key with its meaning, unit, range and default.

    An editor uses it where a scenario's first line is: # yaml-language-server: $schema=schema.json
    """
    from planner.report.data import dumps
    from planner.report.write import to_stdout, write_text
    from planner.scenario.jsonschema import json_schema

    text = dumps(json_schema())
    if output is None or str(output) == "-":
        to_stdout(text)
    else:
        write_text(output, text)
    return 0
