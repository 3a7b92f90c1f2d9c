"""Straightforward counterparts of the trace code: an LRU cache simulated block by block, and made-up traces."""

from __future__ import annotations

import json
import random
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.trace.intern import Interner
from planner.trace.load import load_trace
from planner.trace.records import ReadOptions
from planner.trace.trace import Trace, assemble

Row = dict[str, Any]


def weights(row: Row, block_tokens: int) -> list[int]:
    """Tokens of each block of a request."""
    count = len(row["hash_ids"])
    tokens = [block_tokens] * count
    if count:
        tokens[-1] = max(0, min(block_tokens, row["input_length"] - block_tokens * (count - 1)))
    return tokens


def simulated_hits(rows: Sequence[Row], capacity: int, block_tokens: int, root_first: bool = False) -> int:
    """Hit tokens of one LRU cache of ``capacity`` blocks; ``root_first`` touches blocks in the wrong order."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for row in rows:
        for block, tokens in zip(row["hash_ids"], weights(row, block_tokens), strict=True):
            if block not in cache:
                break
            hits += tokens
        for block in row["hash_ids"] if root_first else reversed(row["hash_ids"]):
            cache[block] = None
            cache.move_to_end(block)
            if root_first:
                while len(cache) > capacity:
                    cache.popitem(last=False)
        while len(cache) > capacity:
            cache.popitem(last=False)
    return hits


def chat(requests: int, seed: int, block_tokens: int = 16, rate: float = 2.0) -> list[Row]:
    """Conversations that grow turn by turn under three system prompts, with partial last blocks."""
    rng = random.Random(seed)
    rows: list[Row] = []
    talks: list[list[int]] = []
    next_id, clock = 6, 0.0
    while len(rows) < requests:
        clock += rng.expovariate(rate) * 1000
        if talks and rng.random() < 0.7:
            talk = talks.pop(min(len(talks) - 1, int(rng.expovariate(0.2))))
        else:
            system = rng.randrange(3)
            talk = [2 * system, 2 * system + 1]
        fresh = rng.randint(1, 6)
        partial = list(range(next_id, next_id + fresh))
        next_id += fresh
        ids = talk + partial
        tokens = block_tokens * (len(ids) - 1) + rng.randint(1, block_tokens)
        rows.append(
            {"timestamp": round(clock), "input_length": tokens, "output_length": rng.randint(1, 99), "hash_ids": ids}
        )
        if rng.random() < 0.9:
            talks.insert(0, ids[:-1] if tokens % block_tokens else ids)
    return rows


def trace_of(rows: Sequence[Row], block_tokens: int = 16, batch: int = 7) -> Trace:
    """A trace made without a file, in batches of a few requests."""
    interner = Interner()
    for at in range(0, len(rows), batch):
        part = rows[at : at + batch]
        ids = np.array([block for row in part for block in row["hash_ids"]], np.uint64).view(np.int64)
        interner.add(ids, np.array([len(row["hash_ids"]) for row in part], np.int64))
    columns = [np.array([row[key] for row in rows]) for key in ("timestamp", "input_length", "output_length")]
    stamps, prompts, outputs = columns[0].astype(np.float64), columns[1].astype(np.int64), columns[2].astype(np.int64)
    return assemble((stamps, prompts, outputs, np.full(len(rows), -1, np.int64)), interner, block_tokens)


def write(path: Path, rows: Sequence[Row]) -> Path:
    """A JSON-lines file."""
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    return path


def read(path: Path, **options: Any) -> Trace:
    """Read one file with 16-token blocks."""
    return load_trace([path], ReadOptions(**{"block_tokens": 16, **options}))
