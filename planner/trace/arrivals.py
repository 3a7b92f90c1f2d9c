"""Arrivals: mean and peak rate, coefficient of variation, index of dispersion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.trace.records import Floats
from planner.trace.trace import Trace

PEAK_WINDOW_S = 60.0
DISPERSION_WINDOWS_S = (1.0, 10.0, 60.0, 300.0)
MIN_WINDOWS = 8  # fewer counts say nothing about their variance
CLOCK_STEPS = 10
TIED_SHARE = 0.2  # of gaps that are zero: above, the log's clock is coarser than its arrivals


@dataclass(frozen=True)
class Arrivals:
    """How requests arrive; rates in requests per second."""

    requests: int
    span_s: float
    requests_per_second: float
    peak_requests_per_second: float
    peak_window_s: float
    cv_gaps: float  # of the gaps as logged
    arrival_cv: float  # what a scenario should use
    arrival_cv_source: str
    tied_share: float
    dispersion: tuple[tuple[float, float], ...]  # (window in seconds, variance over mean of the counts)


def arrivals(trace: Trace) -> Arrivals:
    """Arrival statistics of a trace in order of time.

    A Poisson process has a coefficient of variation and an index of dispersion of 1. Where many requests carry the
    same timestamp, gaps only show the clock's step; then the CV is the root of the index of dispersion at a window of
    ten steps, which for a renewal process tends to the squared CV.
    """
    stamps = np.sort(trace.timestamp_ms) / 1000.0
    span = float(stamps[-1] - stamps[0])
    gaps = np.diff(stamps)
    mean = float(gaps.mean()) if len(gaps) else 0.0
    cv = float(gaps.std() / mean) if mean > 0 else 1.0
    tied = float((gaps == 0).mean()) if len(gaps) else 0.0
    windows = [w for w in DISPERSION_WINDOWS_S if span / w >= MIN_WINDOWS]
    dispersion = tuple((w, dispersion_index(stamps, w)) for w in windows)
    used, source = cv, "gaps between arrivals"
    if tied > TIED_SHARE:
        step = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 0.0
        if step > 0 and span / (CLOCK_STEPS * step) >= MIN_WINDOWS:
            used = float(np.sqrt(dispersion_index(stamps, CLOCK_STEPS * step)))
            source = f"counts per {CLOCK_STEPS * step:.4g} s, as the log's clock has steps of about {step:.4g} s"
    window = min(PEAK_WINDOW_S, span) if span > 0 else 0.0
    mean = len(stamps) / span if span > 0 else 0.0  # a log's first and last arrival bound its span: peak >= mean
    return Arrivals(
        len(stamps), span, mean, max(mean, peak_rate(stamps, window)), window,
        cv, used, source, tied, dispersion,
    )  # fmt: skip


def dispersion_index(stamps_s: Floats, window_s: float) -> float:
    """Variance over mean of the arrivals per window; whole windows only.

    >>> import numpy as np
    >>> dispersion_index(np.arange(0.0, 100.0), 10.0)
    0.0
    """
    whole = int((stamps_s[-1] - stamps_s[0]) / window_s)
    index = ((stamps_s - stamps_s[0]) / window_s).astype(np.int64)
    counts = np.bincount(index[index < whole], minlength=whole)
    return float(counts.var() / counts.mean()) if whole and counts.mean() > 0 else 0.0


def peak_rate(stamps_s: Floats, window_s: float) -> float:
    """The largest number of arrivals in any window that begins with an arrival, per second."""
    if window_s <= 0:
        return 0.0
    inside = np.searchsorted(stamps_s, stamps_s + window_s, side="left") - np.arange(len(stamps_s))
    return float(inside.max() / window_s)
