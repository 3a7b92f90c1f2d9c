"""Block ids to small numbers in order of first appearance, and each block's parent.

Chained ids make a tree: a block's parent, the block before it, is the same in every request. A request is then told
by its last block alone, and a trace takes memory for its requests and its distinct blocks, not for its references.
:class:`Interner` checks the chain at every reference; where it breaks (ids that are not prefix hashes) all references
are kept as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from planner.trace.compiled import available, compiled
from planner.trace.records import Ints

Nodes = npt.NDArray[np.int32]

ROOT = -1  # the parent of a first block, and the last block of an empty request
DENSE_IDS = 1 << 22  # ids below this are looked up in a plain array
DENSE_FACTOR = 4  # ... and so are larger ones while the array has at most so many entries per reference
HASH_FACTOR = 0x9E3779B97F4A7C15  # 2^64 / golden ratio
MAX_LOAD = 0.6


class Interner:
    """Numbers blocks as they appear; :meth:`add` takes the batches of a trace one after another."""

    def __init__(self) -> None:
        """Begin with no block."""
        self.count = 0
        self.references = 0
        self.parent: Nodes = np.empty(1 << 12, np.int32)
        self.index: _Index = DenseIndex()
        self.last: list[Nodes] = []  # per batch: the last block of each request
        self.blocks: list[Nodes] = []  # per batch: how many blocks each request has
        self.flat: list[Nodes] | None = None  # per batch: all references, once the chain is known to be broken

    def add(self, ids: Ints, blocks: Ints) -> None:
        """Number the blocks of a batch of requests."""
        self.references += len(ids)
        if isinstance(self.index, DenseIndex) and not self.index.fits(ids, self.references):
            self.index = self.index.as_hashed(self.count)
        nodes, fresh = self.index.nodes(ids, self.count)
        ends = np.cumsum(blocks)
        previous = np.empty_like(nodes)
        previous[1:] = nodes[:-1]
        previous[(ends - blocks)[blocks > 0]] = ROOT
        self._set_parents(previous[fresh])
        chained = bool((self.parent[nodes] == previous).all())
        last = np.full(len(blocks), ROOT, np.int32)
        last[blocks > 0] = nodes[ends[blocks > 0] - 1]
        if not chained and self.flat is None:
            self.flat = [expand(self.parent, e, b) for e, b in zip(self.last, self.blocks, strict=True)]
        if self.flat is not None:
            self.flat.append(nodes)
        self.last.append(last)
        self.blocks.append(blocks.astype(np.int32))

    def _set_parents(self, parents: Nodes) -> None:
        """Record the parents of the blocks seen for the first time, in order of appearance."""
        end = self.count + len(parents)
        if end > len(self.parent):
            self.parent.resize(max(end, len(self.parent) * 3 // 2), refcheck=False)
        self.parent[self.count : end] = parents
        self.count = end

    def parents(self) -> Nodes:
        """The parent of every block; the lookup table is let go."""
        self.index = DenseIndex()
        self.parent.resize(self.count, refcheck=False)
        return self.parent


def expand(parent: Nodes, last: Nodes, blocks: Nodes) -> Nodes:
    """All references of requests that are told by their last block."""
    out = np.empty(int(blocks.sum()), np.int32)
    cursor = np.cumsum(blocks, dtype=np.int64) - 1
    node, left = last.copy(), blocks.copy()
    active = np.flatnonzero(left > 0)
    while len(active):
        out[cursor[active]] = node[active]
        node[active] = parent[node[active]]
        cursor[active] -= 1
        left[active] -= 1
        active = active[left[active] > 0]
    return out


class _Index(ABC):
    """What finds a block's number by its id."""

    @abstractmethod
    def nodes(self, ids: Ints, count: int) -> tuple[Nodes, Ints]:
        """Number all references; also the positions of first appearances, which get ``count``, ``count + 1`` and on."""


class DenseIndex(_Index):
    """A plain array over the ids: for ids that were renumbered from 0, as published traces are."""

    def __init__(self) -> None:
        """Begin empty."""
        self.table: Nodes = np.full(1 << 12, ROOT, np.int32)

    @staticmethod
    def fits(ids: Ints, references: int) -> bool:
        """Whether the largest id is small enough for an array."""
        if not len(ids):
            return True
        return bool(ids.min() >= 0 and ids.max() < max(DENSE_IDS, DENSE_FACTOR * references))

    def nodes(self, ids: Ints, count: int) -> tuple[Nodes, Ints]:
        """See :class:`_Index`; a first appearance is where the last writer in reverse order wrote."""
        top = int(ids.max()) + 1 if len(ids) else 0
        if top > len(self.table):
            old = len(self.table)
            self.table.resize(max(top, old * 3 // 2), refcheck=False)
            self.table[old:] = ROOT
        nodes = self.table[ids]
        unknown = np.flatnonzero(nodes == ROOT)
        if not len(unknown):
            return nodes, unknown
        wanted, marks = ids[unknown], np.arange(len(unknown), dtype=np.int32)
        self.table[wanted[::-1]] = marks[::-1]
        first = self.table[wanted] == marks
        fresh = unknown[first]
        self.table[ids[fresh]] = np.arange(count, count + len(fresh), dtype=np.int32)
        nodes[unknown] = self.table[wanted]
        return nodes, fresh

    def as_hashed(self, count: int) -> _Index:
        """The same numbers in a hash table."""
        known = np.flatnonzero(self.table != ROOT)
        ids = np.empty(count, np.int64)
        ids[self.table[known]] = known
        hashed: HashIndex | DictIndex = HashIndex() if available() else DictIndex()
        hashed.nodes(ids, 0)
        return hashed


class DictIndex(_Index):
    """A dictionary: for ids of any size, where nothing compiled is at hand."""

    def __init__(self) -> None:
        """Begin empty."""
        self.table: dict[int, int] = {}

    def nodes(self, ids: Ints, count: int) -> tuple[Nodes, Ints]:
        """See :class:`_Index`."""
        table = self.table
        nodes = np.fromiter((table.setdefault(key, len(table)) for key in ids.tolist()), np.int32, len(ids))
        return nodes, _first_of_new(nodes, count)


class HashIndex(_Index):
    """An open-addressing table of block numbers: 4 bytes per slot and 8 per block."""

    def __init__(self) -> None:
        """Begin empty."""
        self.table: Nodes = np.full(1 << 12, ROOT, np.int32)
        self.ids: Ints = np.empty(1 << 12, np.int64)
        self.count = 0

    def nodes(self, ids: Ints, count: int) -> tuple[Nodes, Ints]:
        """See :class:`_Index`."""
        nodes = np.empty(len(ids), np.int32)
        done = 0
        while done < len(ids):
            step = ids[done : done + (1 << 20)]
            self._reserve(self.count + len(step))
            self.count = compiled(intern_ids)(step, self.table, self.ids, self.count, nodes[done:])
            done += len(step)
        return nodes, _first_of_new(nodes, count)

    def _reserve(self, count: int) -> None:
        """Make room; the table is rebuilt from the ids, so old and new never stand side by side."""
        if count > len(self.ids):
            self.ids.resize(max(count, len(self.ids) * 3 // 2), refcheck=False)
        if count > MAX_LOAD * len(self.table):
            size = len(self.table)
            while count > MAX_LOAD * size:
                size *= 2
            self.table = np.empty(0, np.int32)
            self.table = np.full(size, ROOT, np.int32)
            scratch = np.empty(min(self.count, 1 << 20), np.int32)
            for start in range(0, self.count, 1 << 20):
                part = self.ids[start : min(self.count, start + (1 << 20))]
                compiled(intern_ids)(part.copy(), self.table, self.ids, start, scratch)


def _first_of_new(nodes: Nodes, count: int) -> Ints:
    """Positions where a number of ``count`` or more appears for the first time: a new maximum."""
    if not len(nodes):
        return np.empty(0, np.int64)
    before = np.empty(len(nodes), np.int32)
    before[0] = count - 1
    np.maximum(np.maximum.accumulate(nodes[:-1]), count - 1, out=before[1:])
    return np.flatnonzero(nodes > before)


def intern_ids(ids: Ints, table: Nodes, known: Ints, count: int, out: Nodes) -> int:
    """Number each id by linear probing; returns the new count. ``known`` holds the id of each number."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(ids)):
        key = ids[i]
        mixed = np.uint64(key) * np.uint64(HASH_FACTOR)
        place = (mixed ^ (mixed >> np.uint64(32))) & mask
        while True:
            node = table[place]
            if node < 0:
                table[place] = count
                known[count] = key
                out[i] = count
                count += 1
                break
            if known[node] == key:
                out[i] = node
                break
            place = (place + np.uint64(1)) & mask
    return count
