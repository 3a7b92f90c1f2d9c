"""``planner backtest``: predictions held against measurements."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class BacktestFormat(StrEnum):
    """How the answer is printed."""

    table = "table"
    json = "json"


def backtest_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Measurements (CSV) in the columns of the packaged file; default: the packaged ones.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[BacktestFormat, typer.Option("--format", "-f", help="How to print.")] = BacktestFormat.table,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the answer there; - is stdout.", metavar="FILE")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw predicted against measured there (SVG).", metavar="FILE")
    ] = None,
    published: Annotated[bool, typer.Option("--published", help="Published results beside ours instead.")] = False,
    peer: Annotated[bool, typer.Option("--peer", help="NVIDIA's configuration search beside ours instead.")] = False,
) -> int:
    """Predict measured rows (mean TTFT and TPOT at a concurrency) and say how far off the predictions are.

    Columns: backend (vllm, sglang, trtllm), backend_version, model_path, precision, mode (agg, disagg), isl, osl,
    concurrency (or batch_size), tp_size, attention_dp_size, moe_tp_size, moe_ep_size (disagg: each with prefill_ and
    decode_, and *_num_workers), silicon_ttft_ms, silicon_tpot_ms. Packaged rows are predicted by a fit that left out
    their configuration and shape, your own with the correction that the package holds for them.
    """
    from planner.report.data import SCHEMA_VERSION, dumps
    from planner.report.write import check_writable, to_stdout, write_text

    _check_usage(file, picture, published, peer)
    for target in (output, picture):
        if target is not None and str(target) != "-":
            check_writable(target, inputs=[file] if file else [])
    as_json = format_ is BacktestFormat.json
    if published or peer:
        text, data = _published() if published else _peer()
    else:
        text, data = _measured(file, picture)
    answer = dumps({"schema_version": SCHEMA_VERSION, **data}) if as_json else text
    if output is None or str(output) == "-":
        to_stdout(answer)
    else:
        write_text(output, answer)
    return 0


def _check_usage(file: Path | None, picture: Path | None, published: bool, peer: bool) -> None:
    """Nothing that was asked for is left out silently."""
    from planner.errors import Diagnostic, InputError

    wrong = ""
    if published and peer:
        wrong = "--published and --peer are two answers: ask for one at a time"
    elif (published or peer) and (file is not None or picture is not None):
        what = "FILE" if file is not None else "--picture"
        wrong = f"{what} belongs to measured rows, not to --{'peer' if peer else 'published'}"
    elif picture is not None and picture.suffix.lower() != ".svg":
        wrong = f"--picture writes SVG: {picture} does not end in .svg"
    if wrong:
        raise InputError(Diagnostic("usage", wrong, hint="see: planner backtest --help"))


def _measured(file: Path | None, picture: Path | None) -> tuple[str, dict[str, object]]:
    from planner.errors import Diagnostic, InputError
    from planner.fidelity.backtest import backtest
    from planner.fidelity.rows import read_rows
    from planner.fidelity.text import left_out, to_data, to_text
    from planner.scenario.catalog.corrections import MEASURED

    found = backtest(read_rows(file or MEASURED))
    if not found.outcomes:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in list(left_out(found).items())[:10])
        raise InputError(Diagnostic("no-rows", f"{file}: none of its rows can be predicted", hint=reasons))
    if picture is not None:
        from planner.fidelity.picture import to_svg
        from planner.report.write import write_text

        write_text(picture, to_svg(found))
    return to_text(found), to_data(found)


def _published() -> tuple[str, dict[str, object]]:
    from planner.fidelity.published import results
    from planner.fidelity.published_text import to_data, to_text

    found = results()
    return to_text(found), to_data(found)


def _peer() -> tuple[str, dict[str, object]]:
    from planner.fidelity.peer import compare, to_data, to_text

    found = compare()
    return to_text(found), to_data(found)
