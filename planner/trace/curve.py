"""The hit curve: hit tokens of an LRU cache at every capacity, exact, from one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner.trace.records import Floats, Ints
from planner.trace.stack import Runs, reuse_runs
from planner.trace.trace import Trace

GRID_POINTS = 400


@dataclass(frozen=True)
class HitCurve:
    """``hit_tokens[c]`` at a capacity of c blocks; constant from the last entry on.

    A sampled trace has the distances of its sample: they, and the tokens, are scaled by ``1 / sample_rate``.
    """

    hit_tokens: Ints
    input_tokens: int
    block_tokens: int
    sample_rate: float = 1.0
    shift_tokens: float = 0.0  # sampling: expected minus sampled tokens, credited to distance 1

    @property
    def saturation_blocks(self) -> int:
        """The smallest capacity with every hit that an unlimited cache has."""
        return round((len(self.hit_tokens) - 1) / self.sample_rate)

    @property
    def ceiling(self) -> float:
        """The hit rate of an unlimited cache, in tokens."""
        return float(self.rates([self.saturation_blocks])[0])

    @property
    def unlimited_tokens(self) -> int:
        """Hit tokens of an unlimited cache."""
        return int(self.tokens_at([self.saturation_blocks])[0])

    def tokens_at(self, capacities: Iterable[float]) -> Ints:
        """Hit tokens at capacities in blocks (fractions of a block hold nothing)."""
        blocks = np.asarray(list(capacities), np.float64)
        if self.sample_rate >= 1.0:
            return self.hit_tokens[np.clip(blocks, 0, len(self.hit_tokens) - 1).astype(np.int64)]
        own = np.clip(blocks * self.sample_rate, 0, len(self.hit_tokens) - 1)
        low = own.astype(np.int64)
        high = np.minimum(low + 1, len(self.hit_tokens) - 1)
        between = self.hit_tokens[low] + (own - low) * (self.hit_tokens[high] - self.hit_tokens[low])
        scaled = between / self.sample_rate + np.where(blocks >= 1, self.shift_tokens, 0.0)
        return np.clip(np.rint(scaled), 0, self.input_tokens).astype(np.int64)

    def rates(self, capacities: Iterable[float]) -> Floats:
        """Token hit rates at capacities in blocks."""
        return self.tokens_at(capacities) / max(1, self.input_tokens)

    def grid(self, points: int = GRID_POINTS) -> Ints:
        """Capacities spread evenly in their logarithm from one block to saturation, which is one of them."""
        top = max(1, self.saturation_blocks)
        return np.unique(np.rint(np.geomspace(1, top, points)).astype(np.int64))

    def even_rates(self, points: int) -> Ints:
        """Capacities at which the hit tokens first reach evenly spaced levels."""
        levels = np.linspace(0, float(self.hit_tokens[-1]), points + 1)[1:]
        own = np.searchsorted(self.hit_tokens, levels, side="left")
        return np.unique(np.rint(np.maximum(1, own) / self.sample_rate).astype(np.int64))


def hit_curve(trace: Trace, runs: Runs | None = None, counted: slice | None = None) -> HitCurve:
    """The curve of a trace; ``counted`` limits what is counted (not what is touched) to some of its requests.

    Args:
        trace: the requests.
        runs: their runs, where they are at hand already.
        counted: requests to count, for windows with a warm cache; all by default.
    """
    found = reuse_runs(trace) if runs is None else runs
    total = trace.total_input_tokens
    if counted is not None:
        low, high, _ = counted.indices(len(trace))
        found = found.pick((found.request >= low) & (found.request < high))
        total = int(trace.input_tokens[low:high].sum())
    last_tokens = trace.last_block_tokens()
    hits = _tokens_by_capacity(found, trace.block_tokens, last_tokens)
    if trace.sample_rate >= 1.0:
        return HitCurve(hits, total, trace.block_tokens)
    sampled = int((trace.blocks.astype(np.int64) * trace.block_tokens).sum())
    sampled -= int((trace.block_tokens - last_tokens)[trace.blocks > 0].sum())
    shift = total - sampled / trace.sample_rate if counted is None else 0.0
    return HitCurve(hits, total, trace.block_tokens, trace.sample_rate, shift)


def _tokens_by_capacity(runs: Runs, block_tokens: int, last_tokens: Ints) -> Ints:
    """Sum over runs, by differences: +block at ``first``, -block after the run, less what a partial block lacks."""
    top = int((runs.first.astype(np.int64) + runs.blocks).max()) if len(runs.first) else 1
    hits = np.zeros(top + 1, np.int64)
    np.add.at(hits, runs.first, block_tokens)
    np.add.at(hits, runs.first.astype(np.int64) + runs.blocks, -block_tokens)
    np.cumsum(hits, out=hits)
    ending = runs.pick(runs.ends)
    lacking = block_tokens - last_tokens[ending.request]
    np.subtract.at(hits, ending.first.astype(np.int64) + ending.blocks - 1, lacking)
    np.cumsum(hits, out=hits)
    return hits[:-1]


def concavity_gaps(capacity: Floats, rate: Floats, smallest: float = 0.005) -> list[tuple[float, float, float]]:
    """Stretches where a curve lies below its concave envelope by more than ``smallest``.

    Returns:
        ``(from capacity, to capacity, largest gap)`` per stretch; the origin belongs to the curve.
    """
    x, y = np.concatenate(([0.0], capacity)), np.concatenate(([0.0], rate))
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and _turns_up(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    gap = np.interp(x, x[hull], y[hull]) - y
    found = []
    for low, high in pairwise(hull):
        deepest = float(gap[low : high + 1].max())
        if deepest > smallest:
            found.append((float(x[low]), float(x[high]), deepest))
    return found


def _turns_up(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[b]) <= (y[c] - y[b]) * (x[b] - x[a]))
