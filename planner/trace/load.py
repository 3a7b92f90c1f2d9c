"""Files to a trace: several files as one, in order of their timestamps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from planner.errors import Diagnostic, InputError
from planner.trace.intern import Interner
from planner.trace.readers import batches
from planner.trace.records import Batch, Floats, Ints, ProblemLog, ReadOptions
from planner.trace.sampling import Sampler, parts
from planner.trace.trace import Trace, assemble

Progress = Callable[[int, int], None]  # requests and block references read so far


def load_trace(
    paths: Sequence[str | Path],
    options: ReadOptions | None = None,
    progress: Progress | None = None,
    problems: ProblemLog | None = None,
) -> Trace:
    """Read files as one trace.

    Requests of several files are merged by timestamp; ties go by file name, then by row, so the order in which the
    files are given does not matter. Block ids mean the same in all of them.

    Raises:
        InputError: a file cannot be read, has no request, or has malformed rows that are not to be skipped.
    """
    options = options or ReadOptions()
    problems = problems or ProblemLog(options.skip_bad)
    ordered = sorted((Path(p) for p in paths), key=lambda p: (p.name, str(p)))
    collector = Collector(options, progress)
    for rank, path in enumerate(ordered):
        collector.take(batches(path, options, problems), rank)
    problems.close()
    trace = collector.trace(reorder=len(ordered) > 1 or options.sort_rows)
    _note_block_size(trace, problems)
    if trace.tree is None:
        problems.note("block ids are not prefix hashes (an id follows different blocks): exact, but slower")
    return trace


class Collector:
    """Gathers batches: ids into trees (of the sample, and of each of its parts), everything else into columns."""

    def __init__(self, options: ReadOptions, progress: Progress | None = None) -> None:
        """Start with nothing."""
        self.options, self.progress = options, progress
        self.sampler = Sampler(options.sample_rate)
        self.main = _Gatherer(options.sample_rate)
        self.parts = [(sampler, _Gatherer(sampler.rate)) for sampler in parts(options.sample_rate)]
        self.columns: list[tuple[Floats, Ints, Ints, Ints]] = []
        self.ranks: list[Ints] = []
        self.requests = 0

    def take(self, found: Iterable[Batch], rank: int = 0) -> None:
        """Take the batches of one file."""
        for batch in found:
            kept = self.sampler.sample(batch, self.options.block_tokens)
            self.main.add(kept)
            for sampler, gatherer in self.parts:
                gatherer.add(sampler.sample(kept, self.options.block_tokens))
            self.columns.append((batch.timestamp_ms, batch.input_tokens, batch.output_tokens, batch.session))
            self.ranks.append(np.full(len(batch), rank, np.int64))
            self.requests += len(batch)
            if self.progress:
                self.progress(self.requests, self.sampler.references)

    def trace(self, reorder: bool = False) -> Trace:
        """The trace of everything taken; ``reorder`` sorts it by timestamp, then by file."""
        if not self.columns:
            raise InputError(Diagnostic("empty-trace", "no request is left to look at"))
        stamps, prompts, outputs, session = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        self.columns.clear()
        columns = (stamps, prompts, outputs, session)
        order = np.lexsort((np.concatenate(self.ranks), stamps)) if reorder else None
        pieces = [gatherer.trace(columns, self.options.block_tokens, order) for _, gatherer in self.parts]
        whole = self.main.trace(columns, self.options.block_tokens, order)
        return replace(whole, references=self.sampler.references, parts=tuple(pieces))


class _Gatherer:
    """One tree and what it needs per request."""

    def __init__(self, rate: float) -> None:
        self.interner = Interner()
        self.rate = rate
        self.last_tokens: list[Ints] = []

    def add(self, batch: Batch) -> None:
        self.interner.add(batch.ids, batch.blocks)
        if batch.last_tokens is not None:
            self.last_tokens.append(batch.last_tokens)

    def trace(self, columns: tuple[Floats, Ints, Ints, Ints], block_tokens: int, order: Ints | None) -> Trace:
        trace = assemble(columns, self.interner, block_tokens)
        if self.last_tokens:
            trace = replace(trace, sample_rate=self.rate, last_tokens=np.concatenate(self.last_tokens))
        return trace if order is None else trace.pick(order)


def _note_block_size(trace: Trace, problems: ProblemLog) -> None:
    """Say so where the block size given does not fit the prompts' lengths."""
    some = trace.blocks > 4
    if trace.sample_rate < 1.0 or not some.any():
        return
    implied = float(np.median(trace.input_tokens[some] / (trace.blocks[some] - 0.5)))
    if not 0.7 < implied / trace.block_tokens < 1.5:
        problems.note(
            f"prompts have about {implied:,.0f} tokens a block, not {trace.block_tokens}: is --block-size right?"
        )
