"""Spatial sampling of prefixes (SHARDS) for traces beyond memory.

A block is kept if a hash of its id falls below ``rate``; a block's id stands for its whole prefix, so what is sampled
is prefixes, and the kept blocks of a request are again a chain. Distances in the sample are ``rate`` times the true
ones. The difference between the expected and the sampled number of tokens is credited to the smallest distance
(SHARDS-adj), which takes out most of the error that a few very hot prefixes make.

Source: Waldspurger et al., Efficient MRC Construction with SHARDS, FAST'15.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from planner.trace.curve import HitCurve
from planner.trace.records import Batch, Floats, Ints
from planner.trace.trace import last_block_tokens

GROUPS = 8  # parts of the sample whose spread gives the error bar


def mixed(ids: Ints) -> npt.NDArray[np.uint64]:
    """A hash of each id, uniform over 64 bits (the finaliser of SplitMix64)."""
    z = ids.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Sampler:
    """Keeps the blocks of a batch whose hash is in ``[low, low + rate)`` of the hashes' range."""

    def __init__(self, rate: float, low: float = 0.0) -> None:
        """Fix the part of the range."""
        self.rate = rate
        self.low = np.uint64(int(low * 2**64))
        self.high = np.uint64(min(2**64 - 1, int((low + rate) * 2**64)))
        self.references = 0

    def sample(self, batch: Batch, block_tokens: int) -> Batch:
        """The batch with only the blocks that are in the sample, and the tokens of each request's last one."""
        self.references += len(batch.ids)
        if self.rate >= 1.0:
            return batch
        hashes = mixed(batch.ids)
        keep = (hashes >= self.low) & (hashes < self.high)
        counts = np.concatenate(([0], np.cumsum(keep)))
        ends = np.cumsum(batch.blocks)
        last_kept = np.zeros(len(batch), np.bool_)
        some = batch.blocks > 0
        last_kept[some] = keep[ends[some] - 1]
        before = batch.last_tokens
        if before is None:
            before = last_block_tokens(batch.input_tokens, batch.blocks, block_tokens)
        return replace(
            batch,
            blocks=counts[ends] - counts[ends - batch.blocks],
            ids=batch.ids[keep],
            last_tokens=np.where(last_kept, before, block_tokens),
        )


def parts(rate: float) -> list[Sampler]:
    """Samplers that cut a sample into ``GROUPS`` parts by hash; none where everything is kept."""
    return [] if rate >= 1.0 else [Sampler(rate / GROUPS, k * rate / GROUPS) for k in range(GROUPS)]


def standard_error(curves: Sequence[HitCurve], capacities: Iterable[float]) -> Floats:
    """Standard error of the sampled hit rate at capacities in blocks: the parts' spread over the root of their number.

    It covers which prefixes fell into the sample; the trace itself is taken as given.
    """
    blocks = list(capacities)
    rates = np.array([curve.rates(blocks) for curve in curves])
    return np.asarray(rates.std(axis=0, ddof=1) / np.sqrt(len(curves)), np.float64)
