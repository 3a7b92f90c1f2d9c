"""``planner init``: a scenario from a measured workload, a model and hardware."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.scenario import Scenario

TTFT_STEP_MS = 500.0


def init(
    fragment: Annotated[
        Path,
        typer.Option(
            "--from", help="The workload that `planner fit -o` wrote.", metavar="FRAGMENT", show_default=False
        ),
    ],
    model: Annotated[str, typer.Option(help="Catalog model.", metavar="M", show_default=False)],
    hardware: Annotated[str, typer.Option(help="Catalog hardware.", metavar="H")] = "h200-sxm",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Scenario file; default: stdout.", metavar="FILE")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Default: the output's name.", metavar="NAME")] = None,
    ttft_ms: Annotated[
        float | None,
        typer.Option(min=0.001, help="TTFT target; default: 1500, or twice the fastest prefill.", metavar="MS"),
    ] = None,
    tpot_ms: Annotated[float | None, typer.Option(min=0.001, help="TPOT target; default 60.", metavar="MS")] = None,
    requests_per_second: Annotated[
        float | None, typer.Option(min=1e-9, help="Load to plan for; default: the trace's.", metavar="R")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
) -> int:
    """Merge a measured workload with a model and hardware into a scenario that `planner solve` takes at once."""
    from planner.errors import Diagnostic, InputError
    from planner.report.write import check_writable, to_stderr, to_stdout, write_text
    from planner.scenario import loads
    from planner.trace.fragment import scenario_text

    to_file = output is not None and str(output) != "-"
    if to_file and output is not None:
        if output.exists() and not force:
            raise InputError(Diagnostic("exists", f"{output} exists", hint="--force replaces it"))
        check_writable(output, make_folder=True, inputs=[fragment])
    title = name or (output.stem if to_file and output is not None else fragment.stem)
    slo = {key: value for key, value in (("ttft_ms", ttft_ms), ("tpot_ms", tpot_ms)) if value is not None}
    source = str(output if to_file else fragment)
    text = scenario_text(fragment, title, model, hardware, slo, requests_per_second)
    scenario = loads(text, source)
    if ttft_ms is None and (reachable := reachable_ttft_ms(scenario)) > scenario.slo.ttft_ms:
        text = scenario_text(fragment, title, model, hardware, {**slo, "ttft_ms": reachable}, requests_per_second)
        loads(text, source)
        if not quiet:
            to_stderr(f"slo.ttft_ms: {reachable:g}, twice the fastest prefill of the longest class")
    if to_file and output is not None:
        write_text(output, text, make_folder=True)
        if not quiet:
            to_stderr(f"written: {output}")
    else:
        to_stdout(text)
    return 0


def reachable_ttft_ms(scenario: Scenario) -> float:
    """Twice the fastest prefill of the longest prompt, rounded up: leaves room for a queue and a fetch."""
    import math

    from planner.physics.timing import engine_configs

    longest = max(kind.prompt_tokens for kind in scenario.workload.classes)
    fastest_s = min(config.timing.prefill_s(longest, 0) for config in engine_configs(scenario))
    return math.ceil(2000.0 * fastest_s / TTFT_STEP_MS) * TTFT_STEP_MS
