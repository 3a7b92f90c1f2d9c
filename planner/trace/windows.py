"""Non-stationarity: the curve per window of time, what moves it, and what a longer trace would change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from planner.trace.curve import HitCurve, hit_curve
from planner.trace.laws import fit_power
from planner.trace.records import Floats, Ints
from planner.trace.split import affinity
from planner.trace.stack import Runs, reuse_runs
from planner.trace.trace import Trace

COMPARED_AT = 60  # capacities
STEADY_POINTS = 2.0  # a window that stays this close to the whole has not moved
EXPLAINED = 0.5  # a correction explains a move if it leaves less than this part of it
MIN_REQUESTS = 50  # in a window


@dataclass(frozen=True)
class Window:
    """One window; ``warm`` counts it with the cache that the trace has built up, ``cold`` with an empty one."""

    from_s: float
    to_s: float
    requests: int
    requests_per_second: float
    tokens_per_second: float
    ceiling_cold: float
    ceiling_warm: float
    beta: float | None  # of the power law on the cold curve
    off_points: float  # largest distance of the warm curve from the whole trace's
    off_after_load: float  # ... after K is rescaled by the token rate
    off_after_ceiling: float  # ... after the ceilings are made equal
    off_after_both: float
    moves: str  # steady | warm-up | load | ceiling | load and ceiling | content
    curve: HitCurve
    warm: HitCurve


@dataclass(frozen=True)
class HalfLoad:
    """Half of the conversations alone: how well the whole curve tells theirs, read as it is and per load."""

    token_share: float
    off_points: float  # h(K)
    off_rescaled: float  # h(K / share)


@dataclass(frozen=True)
class Stationarity:
    """All windows, the warm half against the whole, and how far the ceiling is from settling."""

    windows: tuple[Window, ...]
    half_off_points: float
    ceiling_of_half: float  # the first half, cold
    ceiling_warm_half: float  # the second half, cache warmed by the first
    ceiling: float
    half_load: HalfLoad | None
    warnings: tuple[str, ...]


def stationarity(trace: Trace, runs: Runs, whole: HitCurve, count: int = 4) -> Stationarity:
    """Compare windows of equal duration, and the second half, with the whole trace."""
    cuts = _cuts(trace, count)
    windows = tuple(
        _window(trace, runs, whole, slice(low, high)) for low, high in pairwise(cuts)
        if high - low >= MIN_REQUESTS
    )  # fmt: skip
    middle = int(_cuts(trace, 2)[1])
    first = hit_curve(trace.pick(np.arange(middle)))
    second = hit_curve(trace, runs, slice(middle, len(trace)))
    at = _capacities(whole)
    off = _largest(second.rates(at), whole.rates(at))
    found = Stationarity(windows, off, first.ceiling, second.ceiling, whole.ceiling, half_load(trace, runs, whole), ())
    return replace(found, warnings=tuple(_warnings(found, trace.span_s)))


def half_load(trace: Trace, runs: Runs, whole: HitCurve) -> HalfLoad | None:
    """Thin the trace to about half of its conversations, and predict their curve from the whole one."""
    half = trace.pick(np.flatnonzero(affinity(trace, runs, 2) == 0))
    share = half.total_input_tokens / max(1, trace.total_input_tokens)
    if len(half) < MIN_REQUESTS or share <= 0:
        return None
    at = _capacities(whole)
    rate = hit_curve(half).rates(at)
    return HalfLoad(share, _largest(rate, whole.rates(at)), _largest(rate, rescaled(whole, at, 1.0, share)))


def _cuts(trace: Trace, count: int) -> Ints:
    """Indices of the first request of each of ``count`` windows of equal duration, and the end."""
    start, end = trace.timestamp_ms[0], trace.timestamp_ms[-1]
    inner = np.searchsorted(trace.timestamp_ms, start + (end - start) * np.arange(1, count) / count, side="left")
    return np.concatenate(([0], inner, [len(trace)])).astype(np.int64)


def _capacities(whole: HitCurve) -> Floats:
    top = max(2, whole.saturation_blocks)
    return np.geomspace(max(1.0, top / 1000), top, COMPARED_AT)


def _largest(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).max() * 100.0)


def _window(trace: Trace, runs: Runs, whole: HitCurve, part: slice) -> Window:
    """One window against the whole: as it is, with K per load, with equal ceilings."""
    own = trace.pick(np.arange(part.start, part.stop))
    cold, warm = hit_curve(own, reuse_runs(own)), hit_curve(trace, runs, part)
    at = _capacities(whole)
    rate, reference = warm.rates(at), whole.rates(at)
    span = max(own.span_s, 1e-9)
    pace = own.total_input_tokens / span
    usual = trace.total_input_tokens / max(trace.span_s, 1e-9)
    per_load = rescaled(whole, at, usual, pace)
    ratio = whole.ceiling / warm.ceiling if warm.ceiling > 0 else 1.0
    off, after_ceiling = _largest(rate, reference), _largest(rate * ratio, reference)
    after_load, after_both = _largest(rate, per_load), _largest(rate * ratio, per_load)
    return Window(
        from_s=float(own.timestamp_ms[0] - trace.timestamp_ms[0]) / 1000.0,
        to_s=float(own.timestamp_ms[-1] - trace.timestamp_ms[0]) / 1000.0,
        requests=len(own), requests_per_second=len(own) / span, tokens_per_second=pace,
        ceiling_cold=cold.ceiling, ceiling_warm=warm.ceiling,
        beta=fit_power(cold).parameters["beta"] if cold.ceiling > 0 else None,
        off_points=off, off_after_load=after_load, off_after_ceiling=after_ceiling,
        off_after_both=after_both, curve=cold, warm=warm,
        moves=_moves(off, after_load, after_ceiling, after_both, first=part.start == 0),
    )  # fmt: skip


def rescaled(curve: HitCurve, capacities: Floats, seen_rate: float, rate: float) -> Floats:
    """A curve seen at one arrival rate, read at another: ``h(K · seen / rate)``."""
    return curve.rates(capacities * seen_rate / max(rate, 1e-12))


def _moves(off: float, after_load: float, after_ceiling: float, after_both: float, first: bool) -> str:
    """The correction that takes most of the distance away; content, if none takes half of it."""
    if off <= STEADY_POINTS:
        return "steady"
    if first:
        return "warm-up"
    if min(after_load, after_ceiling) <= EXPLAINED * off:
        return "load" if after_load <= after_ceiling else "ceiling"
    return "load and ceiling" if after_both <= EXPLAINED * off else "content"


def _warnings(found: Stationarity, span_s: float) -> list[str]:
    """What a reader must know before trusting the curve."""
    rise = (found.ceiling_warm_half - found.ceiling_of_half) * 100.0
    notes = [
        f"the ceiling {found.ceiling:.1%} is a lower bound: the trace spans {_duration(span_s)}, and every prefix "
        f"first seen before it began counts as new (first half alone {found.ceiling_of_half:.1%}, "
        f"second half with a warm cache {found.ceiling_warm_half:.1%}, {rise:+.1f} points)"
    ]
    moved = [window for window in found.windows if window.moves not in ("steady", "warm-up")]
    if moved:
        worst = max(moved, key=lambda window: window.off_points)
        notes.append(
            f"the curve moves: {len(moved)} of {len(found.windows)} windows are off the whole by more than "
            f"{STEADY_POINTS:g} points, by up to {worst.off_points:.1f} ({worst.moves})"
        )
    return notes


def _duration(seconds: float) -> str:
    """A duration in the unit that suits it.

    >>> _duration(1800), _duration(9168)
    ('30 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
