"""``planner fit``: from prompt traces to the reuse curve and the workload of a scenario."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.errors import Diagnostic, InputError

if TYPE_CHECKING:
    from planner.trace.study import TraceStudy

PROGRESS_EVERY_S = 0.2
TICKS = {"ms": 1.0, "s": 1000.0, "us": 0.001, "ns": 1e-6}


class FitFormat(StrEnum):
    """How the answer is printed."""

    table = "table"
    json = "json"
    yaml = "yaml"


class TimeUnit(StrEnum):
    """What one unit of a numeric timestamp is."""

    ms = "ms"
    s = "s"
    us = "us"
    ns = "ns"


def fit(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Traces: JSON lines, CSV, Parquet; plain, gzip or zstd.", metavar="TRACE...", show_default=False
        ),
    ],
    model: Annotated[
        str | None, typer.Option(help="Catalog model: shows capacities in bytes of its KV.", metavar="M")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the workload there, for `planner init --from`.", metavar="FILE"),
    ] = None,
    format_: Annotated[FitFormat, typer.Option("--format", "-f", help="How to print.")] = FitFormat.table,
    picture: Annotated[
        Path | None, typer.Option(help="Draw curve, fits and windows there (SVG).", metavar="FILE")
    ] = None,
    block_size: Annotated[int, typer.Option(min=1, help="Tokens per block of the trace.", metavar="N")] = 512,
    at_blocks: Annotated[
        str | None, typer.Option(help="Exact hit tokens at these capacities in blocks: 97,193,…", metavar="LIST")
    ] = None,
    split: Annotated[
        int | None, typer.Option(min=2, max=1024, help="Measure routing over N caches.", metavar="N")
    ] = None,
    classes: Annotated[int, typer.Option(min=1, max=16, help="Request classes by prompt length.", metavar="N")] = 3,
    windows: Annotated[int, typer.Option(min=1, max=100, help="Windows of time to compare.", metavar="N")] = 4,
    points: Annotated[int, typer.Option(min=2, max=64, help="Points of the measured table.", metavar="N")] = 16,
    lead: Annotated[float, typer.Option(min=0.0, help="Seconds that a prefetch needs.", metavar="S")] = 5.0,
    sample: Annotated[float, typer.Option(help="Keep this share of the prefixes (0 to 1).", metavar="RATE")] = 1.0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave malformed rows out.")] = False,
    sort: Annotated[bool, typer.Option("--sort", help="Accept rows out of order; sort them by timestamp.")] = False,
    time_unit: Annotated[TimeUnit, typer.Option(help="Unit of numeric timestamps.")] = TimeUnit.ms,
    chars_per_token: Annotated[float, typer.Option(min=0.1, help="For prompts given as text.", metavar="X")] = 4.0,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json for prompts given as text.", metavar="FILE")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and errors.")] = False,
) -> int:
    """Measure reuse in prompt traces: the exact LRU hit curve at every capacity, laws, classes, arrivals.

    Rows have timestamp, input_length, output_length and hash_ids (as Mooncake's), or a prompt as token ids or text.
    """
    gc.disable()  # rows make many objects and no cycles
    from planner.cli.session import Session
    from planner.report.write import check_writable, to_stdout, write_text
    from planner.trace.records import ReadOptions
    from planner.trace.study import StudyOptions, study_files

    if not 0 < sample <= 1:
        raise _wrong(f"--sample must be above 0 and at most 1, not {sample:g}")
    if str(output) == "-":
        format_, output = FitFormat.yaml, None
    capacities = _capacities(at_blocks)
    kv_bytes = _kv_bytes(model) if model else None
    for target in (output, picture):
        if target is not None:
            check_writable(target, make_folder=True, inputs=traces)
    read = ReadOptions(
        block_size, skip_bad, sort, TICKS[time_unit], chars_per_token, str(tokenizer) if tokenizer else None, sample
    )
    wanted = StudyOptions(classes, windows, points, lead, split, capacities)
    session = Session(quiet=quiet)
    with session.progress() as progress:
        study = study_files(traces, read, wanted, _throttled(progress))
    to_stdout(_answer(study, format_, kv_bytes, capacities is not None))
    for target, text in _files(study, output, picture):
        write_text(target, text, make_folder=True)
        session.say(f"written: {target}")
    return 0


def _answer(study: TraceStudy, format_: FitFormat, kv_bytes: float | None, exact: bool) -> str:
    if format_ is FitFormat.json:
        from planner.report.data import dumps
        from planner.trace.data import study_data

        return dumps(study_data(study))
    if format_ is FitFormat.yaml:
        from planner.trace.fragment import fragment_text

        return fragment_text(study)
    from planner.trace.table import study_text

    return study_text(study, kv_bytes, exact)


def _files(study: TraceStudy, output: Path | None, picture: Path | None) -> list[tuple[Path, str]]:
    """What to write besides the answer."""
    from planner.trace.fragment import fragment_text

    files = [(output, fragment_text(study))] if output is not None else []
    if picture is not None:
        from planner.trace.picture import study_svg

        files.append((picture, study_svg(study)))
    return files


def _capacities(text: str | None) -> tuple[int, ...] | None:
    """The list of ``--at-blocks``."""
    if text is None:
        return None
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise _wrong(f"--at-blocks must be whole numbers parted by commas, not {text!r}") from None
    if min(found) < 0 or max(found) > 2**62:
        raise _wrong("--at-blocks must not be negative nor beyond 2^62")
    return found


def _kv_bytes(model: str) -> float:
    """KV bytes per token of a catalog model."""
    from planner.physics.kv import bytes_per_token
    from planner.scenario import catalog
    from planner.scenario.filled import did_you_mean
    from planner.scenario.schema import ModelSpec

    if model not in catalog.names("model"):
        hint = did_you_mean(model, catalog.names("model")) or "see: planner catalog"
        raise InputError(Diagnostic("unknown-name", f"the catalog has no model {model[:80]!r}", hint=hint))
    return bytes_per_token(ModelSpec.model_validate(catalog.model(model)))


def _wrong(message: str) -> InputError:
    return InputError(Diagnostic("usage", message, hint="see: planner fit --help"))


def _throttled(show: Callable[[str], None] | None) -> Callable[[int, int], None] | None:
    """Progress of reading, a few times a second."""
    if show is None:
        return None
    started = last = time.monotonic()

    def told(requests: int, references: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_EVERY_S:
            last = now
            pace = references / (now - started) / 1e6
            show(f"read {requests:,} requests, {references:,} block references ({pace:.1f} million/s)")

    return told
