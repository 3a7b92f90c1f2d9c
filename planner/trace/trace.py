"""A trace in memory: requests as columns, and their prompts as paths in a tree of segments.

A *segment* is a longest run of blocks that every request has either whole or not at all, so a prompt is a path of
few segments however many blocks it has, and an LRU pass costs per segment, not per block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.trace.intern import Interner, Nodes
from planner.trace.records import Floats, Ints


@dataclass(frozen=True)
class SegmentTree:
    """The distinct blocks of a trace; segment s has ``blocks[s]`` of them and hangs under ``parent[s]`` (-1: root)."""

    parent: Nodes
    blocks: Nodes


@dataclass(frozen=True)
class Trace:
    """Requests in order of arrival.

    ``leaf[i]`` is the last segment of request i (-1: no block). Where the ids are no prefix hashes, ``tree`` is None
    and ``flat`` holds every reference, request i's from ``start[i]`` on.
    """

    timestamp_ms: Floats
    input_tokens: Ints
    output_tokens: Ints
    session: Ints
    blocks: Nodes
    leaf: Nodes
    tree: SegmentTree | None
    unique_blocks: int
    block_tokens: int
    flat: Nodes | None = None
    start: Ints | None = None
    sample_rate: float = 1.0  # the share of prefixes kept when reading
    references: int = 0  # before sampling
    last_tokens: Ints | None = None  # of each request's last block, where sampling left blocks out
    parts: tuple[Trace, ...] = ()  # the parts of a sample, for its error bar

    def __len__(self) -> int:
        """The number of requests."""
        return len(self.timestamp_ms)

    @property
    def span_s(self) -> float:
        """Seconds between the first and the last request."""
        return float(self.timestamp_ms[-1] - self.timestamp_ms[0]) / 1000.0 if len(self) else 0.0

    @property
    def total_input_tokens(self) -> int:
        """Prompt tokens of all requests."""
        return int(self.input_tokens.sum())

    def last_block_tokens(self) -> Ints:
        """Tokens of each request's last block (see :func:`last_block_tokens`)."""
        if self.last_tokens is not None:
            return self.last_tokens
        return last_block_tokens(self.input_tokens, self.blocks, self.block_tokens)

    def pick(self, which: Ints) -> Trace:
        """The trace of some of its requests, in the order given."""
        return replace(
            self,
            timestamp_ms=self.timestamp_ms[which],
            input_tokens=self.input_tokens[which],
            output_tokens=self.output_tokens[which],
            session=self.session[which],
            blocks=self.blocks[which],
            leaf=self.leaf[which],
            start=None if self.start is None else self.start[which],
            last_tokens=None if self.last_tokens is None else self.last_tokens[which],
            parts=tuple(part.pick(which) for part in self.parts),
        )


def last_block_tokens(input_tokens: Ints, blocks: Ints | Nodes, block_tokens: int) -> Ints:
    """What is left of each prompt for its last block: at most a whole block, at least nothing.

    >>> import numpy as np
    >>> last_block_tokens(np.array([1000, 1024, 1100]), np.array([2, 2, 2]), 512).tolist()
    [488, 512, 512]
    """
    return np.clip(input_tokens - block_tokens * (blocks.astype(np.int64) - 1), 0, block_tokens)


def segment_tree(parent: Nodes, last: Nodes) -> tuple[SegmentTree, Nodes]:
    """Cut the tree of blocks into segments; returns it with the leaf segment of each request.

    A segment begins where a block's parent is not the block numbered just before it, after a block that ends some
    request, and after a block that has a second child.

    >>> import numpy as np
    >>> chain = np.array([-1, 0, 1, 0], np.int32)          # 0-1-2 and 0-3
    >>> tree, leaf = segment_tree(chain, np.array([2, 3], np.int32))
    >>> tree.blocks.tolist(), tree.parent.tolist(), leaf.tolist()
    ([1, 2, 1], [-1, 0, 0], [1, 2])
    """
    count = len(parent)
    begins = np.zeros(count + 1, np.bool_)
    chunk = 1 << 22
    for low in range(0, count, chunk):
        here = parent[low : low + chunk]
        other = here != np.arange(low - 1, low - 1 + len(here), dtype=np.int32)
        begins[low : low + len(here)] |= other
        begins[here[other] + 1] = True
    begins[last[last >= 0] + 1] = True
    begins[0], begins[count] = count > 0, False
    first = np.flatnonzero(begins)
    above = parent[first]
    tree_parent = np.where(above < 0, -1, np.searchsorted(first, above, side="right") - 1).astype(np.int32)
    leaf = np.where(last < 0, -1, np.searchsorted(first, last, side="right") - 1).astype(np.int32)
    return SegmentTree(tree_parent, np.diff(first, append=count).astype(np.int32)), leaf


def assemble(columns: tuple[Floats, Ints, Ints, Ints], interner: Interner, block_tokens: int) -> Trace:
    """The trace of everything that was read."""
    stamps, prompts, outputs, session = columns
    blocks = np.concatenate(interner.blocks)
    references = interner.references
    if interner.flat is None:
        last = np.concatenate(interner.last)
        tree, leaf = segment_tree(interner.parents(), last)
        flat, start = None, None
    else:
        tree, leaf = None, np.full(len(blocks), -1, np.int32)
        flat = np.concatenate(interner.flat)
        ends = np.cumsum(blocks, dtype=np.int64)
        start = ends - blocks
    return Trace(
        stamps, prompts, outputs, session, blocks, leaf, tree, interner.count, block_tokens, flat, start,
        references=references,
    )  # fmt: skip
