"""Exact LRU stack distances of prefixes: one pass serves every capacity.

Semantics: a request looks all its blocks up on the state left by the request before; block i is a hit only if blocks
0..i are all resident; then its blocks are touched last one first, so that the first is the most recent and a block
never outlives its parent. A reference is a hit at capacity C if its distance is at most C.

With chained ids, what is left of an earlier request is always its deepest blocks, in one piece: whoever touched one
of its blocks later touched everything above. So recency is kept per request, not per block: a Fenwick tree counts the
blocks that each request was the last to touch, and the blocks that a prompt shares with one earlier request (a *run*)
have consecutive distances, ``first, first + 1, …``. A prompt falls into few runs, each one query and one update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.trace.compiled import compiled, worth
from planner.trace.intern import Nodes
from planner.trace.records import Ints
from planner.trace.trace import Trace

BUFFER_RUNS = 1 << 20
COLUMNS = 5  # request, owner, first distance, blocks, whether the request's last block is in it


@dataclass(frozen=True)
class Runs:
    """Every reuse of a trace: ``blocks`` blocks of ``request`` that ``owner`` was the last to touch before.

    The j-th block of a run (from 0) is a hit at capacity C if ``first + j <= C``.
    """

    request: Nodes
    owner: Nodes
    first: Nodes
    blocks: Nodes
    ends: npt.NDArray[np.bool_]  # the run contains the request's last block

    def pick(self, which: npt.NDArray[np.bool_]) -> Runs:
        """Some of the runs."""
        return Runs(self.request[which], self.owner[which], self.first[which], self.blocks[which], self.ends[which])

    def tokens(self, trace: Trace) -> Ints:
        """Tokens of each run; a partial last block counts its own."""
        whole = self.blocks.astype(np.int64) * trace.block_tokens
        return whole - np.where(self.ends, trace.block_tokens - trace.last_block_tokens()[self.request], 0)


def reuse_runs(trace: Trace) -> Runs:
    """All runs of a trace, with an empty cache before its first request."""
    if not len(trace) or not trace.blocks.any():
        empty = np.empty(0, np.int32)
        return Runs(empty, empty, empty, empty, empty.astype(np.bool_))
    if trace.tree is None:
        return _flat_runs(trace)
    parent, length = trace.tree.parent, trace.tree.blocks
    parts: list[Nodes] = []
    longest = _longest_path(trace)
    fast = worth(len(trace) * 8 + len(parent))
    step: Callable[..., tuple[int, int, int]] = compiled(scan_requests) if fast else scan_requests
    state = _State.of(trace, longest)
    columns: list[Any] = [trace.leaf, parent, length, trace.blocks, state.owner, state.tree, state.path]
    if not fast:
        columns = [column.tolist() for column in columns]
    room = max(BUFFER_RUNS if fast else len(parent) + len(trace) + longest, longest)
    buffer: Any = np.empty(COLUMNS * room, np.int32) if fast else [0] * (COLUMNS * room)
    position, live = 0, 0
    while position < len(trace):
        position, live, filled = step(*columns, buffer, room, position, live)
        parts.append(np.array(buffer[: COLUMNS * filled], np.int32).reshape(-1, COLUMNS))
    return _as_runs(parts)


@dataclass(frozen=True)
class _State:
    owner: Nodes
    tree: Nodes
    path: Nodes

    @staticmethod
    def of(trace: Trace, longest: int) -> _State:
        assert trace.tree is not None
        return _State(
            np.full(len(trace.tree.parent), -1, np.int32),
            np.zeros(len(trace) + 1, np.int32),
            np.zeros(longest + 1, np.int32),
        )


def _longest_path(trace: Trace) -> int:
    """The largest number of segments in a prompt, at most: its blocks."""
    return int(trace.blocks.max()) + 1


def _as_runs(parts: list[Nodes]) -> Runs:
    rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
    request, owner, first, blocks, ends = (np.ascontiguousarray(rows[:, i]) for i in range(COLUMNS))
    return Runs(request, owner, first, blocks, ends.astype(np.bool_))


def scan_requests(
    leaf: Any, parent: Any, length: Any, blocks: Any, owner: Any, tree: Any, path: Any,
    buffer: Any, room: int, position: int, live: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Requests from ``position`` on, until all are done or the buffer might not hold the next one's runs.

    ``owner[s]`` is the last request that touched segment s, ``tree`` the Fenwick tree of live blocks per request,
    ``live`` their sum. Returns the next position, the live blocks and the number of runs written. Written for both
    routes: arrays under numba, lists under plain Python.
    """
    filled = 0
    size = len(tree) - 1
    total = len(leaf)
    while position < total:
        depth = 0
        segment = leaf[position]
        while segment >= 0:
            path[depth] = segment
            depth += 1
            segment = parent[segment]
        if filled + depth > room:
            break
        begin = filled
        at = depth - 1
        covered = 0
        while at >= 0:
            last = owner[path[at]]
            if last < 0:
                break
            run = 0
            while at >= 0 and owner[path[at]] == last:
                run += length[path[at]]
                at -= 1
            newer = live
            i = last + 1
            while i > 0:
                newer -= tree[i]
                i &= i - 1
            covered += run
            base = 5 * filled
            buffer[base] = position
            buffer[base + 1] = last
            buffer[base + 2] = newer + 1
            buffer[base + 3] = run
            buffer[base + 4] = 1 if covered == blocks[position] else 0
            filled += 1
        for done in range(begin, filled):
            i = buffer[5 * done + 1] + 1
            run = buffer[5 * done + 3]
            while i <= size:
                tree[i] -= run
                i += i & -i
        live += blocks[position] - covered
        i = position + 1
        added = blocks[position]
        while i <= size:
            tree[i] += added
            i += i & -i
        for at in range(depth):
            owner[path[at]] = position
        position += 1
    return position, live, filled


def _flat_runs(trace: Trace) -> Runs:
    """Runs of one block each, for ids that are no prefix hashes: the effective distance is the largest above it."""
    assert trace.flat is not None
    assert trace.start is not None
    references = int(trace.blocks.sum())
    fast = worth(references)
    slot = np.zeros(trace.unique_blocks, np.int64)
    holder = np.full(trace.unique_blocks, -1, np.int32)
    tree = np.zeros(references + 1, np.int32)
    out = np.empty(COLUMNS * references, np.int32)
    columns: list[Any] = [trace.flat, trace.start, trace.blocks, slot, holder, tree, out]
    if not fast:
        columns = [column.tolist() for column in columns]
    filled = (compiled(scan_references) if fast else scan_references)(*columns)
    return _as_runs([np.array(columns[-1][: COLUMNS * filled], np.int32).reshape(-1, COLUMNS)])


def scan_references(flat: Any, start: Any, blocks: Any, slot: Any, holder: Any, tree: Any, out: Any) -> int:
    """One block at a time: ``slot[b]`` is block b's place in time (0: never seen), ``tree`` counts the live places."""
    size = len(tree) - 1
    live, clock, filled = 0, 0, 0
    for request in range(len(blocks)):
        far = 0
        first = start[request]
        count = blocks[request]
        for offset in range(count):
            block = flat[first + offset]
            place = slot[block]
            if place == 0:
                break
            newer = live
            i = place - 1
            while i > 0:
                newer -= tree[i]
                i &= i - 1
            far = max(far, newer)
            base = 5 * filled
            out[base] = request
            out[base + 1] = holder[block]
            out[base + 2] = far
            out[base + 3] = 1
            out[base + 4] = 1 if offset == count - 1 else 0
            filled += 1
        for offset in range(count - 1, -1, -1):
            block = flat[first + offset]
            i = slot[block]
            if i == 0:
                live += 1
            while 0 < i <= size:
                tree[i] -= 1
                i += i & -i
            clock += 1
            slot[block] = clock
            holder[block] = request
            i = clock
            while i <= size:
                tree[i] += 1
                i += i & -i
    return filled
