"""How quick the hit curve is, beside libcachesim at one capacity at a time on the same references.

``planner`` reads the JSON file and computes the whole curve; of libcachesim only ``process_trace`` is timed, on a
binary file prepared before. libcachesim has no prefix semantics, so only the times compare, not the hits.
"""

from __future__ import annotations

import importlib
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from planner.trace.curve import hit_curve
from planner.trace.load import load_trace
from planner.trace.readers import batches
from planner.trace.records import ProblemLog, ReadOptions
from planner.trace.stack import reuse_runs

CAPACITY_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
ORACLE_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
BLOCK_TOKENS = 512


@dataclass(frozen=True)
class CurveTiming:
    """One run of the whole curve on one file."""

    file: str
    requests: int
    block_references: int
    unique_blocks: int
    read_s: float
    curve_s: float
    references_per_s: float
    peak_mb: float
    libcachesim_one_s: float | None  # process_trace at the median of the twelve capacities
    libcachesim_twelve_s: float | None
    speedup: float | None  # libcachesim's twelve capacities over the whole curve, reading included

    def as_dict(self) -> dict[str, object]:
        """The measurement as plain data."""
        return asdict(self)


def time_curve(path: Path, compare: bool = True) -> CurveTiming:
    """Read a file, compute its curve, and time libcachesim on it where that is installed."""
    start = time.perf_counter()
    trace = load_trace([path])
    read = time.perf_counter()
    hit_curve(trace, reuse_runs(trace))
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 / 1024 if sys.platform != "darwin" else 2**-20)
    others = libcachesim_seconds(path, trace.unique_blocks) if compare else None
    total = sum(others) if others else None
    return CurveTiming(
        path.name, len(trace), trace.references, trace.unique_blocks, read - start, done - read,
        trace.references / (done - start), peak, sorted(others)[len(others) // 2] if others else None, total,
        total / (done - start) if total else None,
    )  # fmt: skip


def libcachesim_seconds(path: Path, unique_blocks: int) -> list[float] | None:
    """Seconds of ``process_trace`` at each of twelve capacities, or None where libcachesim is missing."""
    try:
        libcachesim = importlib.import_module("libcachesim")
    except ImportError:
        return None
    flat = path.with_name(path.name + ".oracleGeneral")
    write_references(path, flat)
    seconds = []
    try:
        for share in CAPACITY_SHARES:
            cache = libcachesim.LRU(cache_size=max(1, round(unique_blocks * share)))
            reader = libcachesim.TraceReader(str(flat), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
            start = time.perf_counter()
            cache.process_trace(reader)
            seconds.append(time.perf_counter() - start)
    finally:
        flat.unlink()
    return seconds


def write_references(path: Path, target: Path) -> None:
    """All block references of a file, last block of a request first, as libcachesim's binary records."""
    clock = 0
    with target.open("wb") as out:
        for batch in batches(path, ReadOptions(), ProblemLog()):
            ends = np.cumsum(batch.blocks)
            starts = np.repeat(ends - batch.blocks, batch.blocks)
            place = np.arange(len(batch.ids))
            mirrored = starts + np.repeat(ends, batch.blocks) - 1 - place
            records = np.zeros(len(batch.ids), ORACLE_RECORD)
            records["time"], records["id"], records["size"] = clock, batch.ids[mirrored] + 1, 1
            records["next"] = -2
            records.tofile(out)
            clock += 1


def write_synthetic(path: Path, references: int, seed: int = 0) -> None:
    """A made-up chat service: sessions under a few shared system prompts, each turn longer than the last.

    Args:
        path: the JSON-lines file to write.
        references: block references to reach.
        seed: of the generator; the same seed gives the same file.
    """
    rng = np.random.default_rng(seed)
    systems = [",".join(map(str, range(k * 4, k * 4 + 4))) for k in range(8)]
    sessions: list[tuple[str, int]] = []
    next_id, written, clock = 32, 0, 0
    with path.open("w") as out:
        while written < references:
            draws, growth = rng.random((4096, 2)), rng.geometric(1 / 12, 4096)
            for (fresh, pick), more in zip(draws.tolist(), growth.tolist(), strict=True):
                place = int(pick * len(sessions))
                old, blocks = sessions[place] if sessions and fresh > 0.25 else (systems[int(pick * 8)], 4)
                text = f"{old},{','.join(map(str, range(next_id, next_id + more)))}"
                next_id, blocks, clock = next_id + more, blocks + more, clock + 25
                out.write(f'{{"timestamp":{clock},"input_length":{blocks * BLOCK_TOKENS - 100},"output_length":200,')
                out.write(f'"hash_ids":[{text}]}}\n')
                written += blocks
                if fresh <= 0.25 and len(sessions) < 4000:
                    sessions.append((text, blocks))
                elif sessions:
                    sessions[place] = (text, blocks) if blocks < 200 else (systems[place % 8], 4)
