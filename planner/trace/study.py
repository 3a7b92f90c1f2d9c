"""Everything that a trace tells a planner, in one pass over its requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.trace.arrivals import Arrivals, arrivals
from planner.trace.classes import Classes, request_classes
from planner.trace.curve import HitCurve, concavity_gaps, hit_curve
from planner.trace.gaps import ReuseGaps, reuse_gaps
from planner.trace.laws import TABLE_POINTS, LawFit, closed_form_refusal, fit_laws
from planner.trace.load import Progress, load_trace
from planner.trace.records import Floats, ProblemLog, ReadOptions
from planner.trace.sampling import standard_error
from planner.trace.split import SplitStudy, split_study
from planner.trace.stack import reuse_runs
from planner.trace.trace import Trace
from planner.trace.windows import Stationarity, stationarity

CURVE_POINTS = 48  # of the curve as reported


@dataclass(frozen=True)
class StudyOptions:
    """What to look at."""

    classes: int = 3
    windows: int = 4
    table_points: int = TABLE_POINTS
    lead_s: float = 5.0
    split: int | None = None
    at_blocks: tuple[int, ...] | None = None


@dataclass(frozen=True)
class TraceStudy:
    """A trace, read and measured."""

    files: tuple[str, ...]
    block_tokens: int
    requests: int
    references: int
    unique_blocks: int  # of the sample, where the trace is sampled
    input_tokens: int
    output_tokens: int
    sample_rate: float
    skipped_rows: int
    notes: tuple[str, ...]
    curve: HitCurve
    capacity_blocks: tuple[int, ...]  # where the curve is reported
    error_bar: tuple[float, ...]  # standard error of the hit rate there; empty where exact
    laws: tuple[LawFit, ...]
    closed_form_refusal: str | None
    concavity: tuple[tuple[float, float, float], ...]  # (from tokens, to tokens, largest gap)
    arrivals: Arrivals
    classes: Classes
    gaps: ReuseGaps
    lead_s: float
    stationarity: Stationarity
    split: SplitStudy | None


def study_files(
    paths: Sequence[Path], read: ReadOptions, options: StudyOptions, progress: Progress | None = None
) -> TraceStudy:
    """Read files as one trace and measure it.

    Raises:
        InputError: a file cannot be read as a trace.
    """
    problems = ProblemLog(read.skip_bad)
    trace = load_trace(paths, read, progress, problems)
    return study_trace(trace, options, tuple(str(path) for path in paths), problems)


def study_trace(
    trace: Trace, options: StudyOptions | None = None, files: tuple[str, ...] = (), problems: ProblemLog | None = None
) -> TraceStudy:
    """Measure a trace."""
    options, problems = options or StudyOptions(), problems or ProblemLog()
    runs = reuse_runs(trace)
    curve = hit_curve(trace, runs)
    laws = fit_laws(curve, options.table_points)
    grid = curve.grid()
    gaps = concavity_gaps((grid * curve.block_tokens).astype(np.float64), curve.rates(grid))
    reported = options.at_blocks or tuple(curve.grid(CURVE_POINTS).tolist())
    return TraceStudy(
        files=files,
        block_tokens=trace.block_tokens,
        requests=len(trace),
        references=trace.references,
        unique_blocks=trace.unique_blocks,
        input_tokens=trace.total_input_tokens,
        output_tokens=int(trace.output_tokens.sum()),
        sample_rate=trace.sample_rate,
        skipped_rows=problems.count,
        notes=tuple(problems.notes),
        curve=curve,
        capacity_blocks=reported,
        error_bar=tuple(_error_bar(trace, reported).tolist()),
        laws=laws,
        closed_form_refusal=closed_form_refusal(laws),
        concavity=tuple(gaps),
        arrivals=arrivals(trace),
        classes=request_classes(trace, runs, options.classes),
        gaps=reuse_gaps(trace, runs, options.lead_s),
        lead_s=options.lead_s,
        stationarity=stationarity(trace, runs, curve, options.windows),
        split=split_study(trace, runs, curve, options.split, options.at_blocks, _floor(laws))
        if options.split
        else None,
    )


def _floor(laws: Sequence[LawFit]) -> float:
    """What any cache holds at once, as the hill law sees it."""
    return next((fit.parameters["floor"] for fit in laws if fit.law == "hill"), 0.0)


def _error_bar(trace: Trace, capacities: Sequence[int]) -> Floats:
    """Standard error of a sampled curve; nothing for an exact one."""
    if not trace.parts:
        return np.empty(0)
    return standard_error([hit_curve(part) for part in trace.parts], capacities)
