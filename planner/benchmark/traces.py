"""The hit curve at every capacity against libcachesim at twelve, on one file made here; and a large trace in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.benchmark.table import Figure

DEFAULT_REFERENCES = 10_000_000
CHILD = (
    "import json, sys; from pathlib import Path; from planner.trace.bench import time_curve; "
    "print(json.dumps(time_curve(Path(sys.argv[1]), compare=sys.argv[2] == '1').as_dict()))"
)


def curves(references: int = DEFAULT_REFERENCES, files: Sequence[Path] = ()) -> Iterator[Figure]:
    """Time a made-up trace of ``references`` block references, then ``files``; each in a process of its own."""
    from planner.trace.bench import write_synthetic

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "synthetic.jsonl"
        write_synthetic(made, references)
        for path in (made, *files):
            yield from _figures(path)


def _figures(path: Path) -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-c", CHILD, str(path), "1"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    group = f"Hit curve of {found['file']}: {found['block_references']:,} references, {found['unique_blocks']:,} blocks"
    speed = found["references_per_s"] / 1e6
    yield Figure(group, "read and whole curve", found["read_s"] + found["curve_s"], "s")
    large = found["block_references"] >= 1_000_000  # in a small file the cost per line, not per reference, decides
    target, met = ("≥ 5 M references/s", speed >= 5) if large else ("", None)
    yield Figure(group, "speed", speed, "M/s", target=target, met=met)
    yield Figure(group, "peak memory", found["peak_mb"], "MB", target="≤ 2,000 MB", met=found["peak_mb"] <= 2000)
    if found["libcachesim_twelve_s"] is None:
        yield Figure(group, "libcachesim is not installed: not compared", 0, "")
        return
    ratio = found["speedup"]
    yield Figure(group, "libcachesim, one capacity", found["libcachesim_one_s"], "s")
    yield Figure(group, "libcachesim, twelve capacities", found["libcachesim_twelve_s"], "s", "ours", ratio,
                 "slower than the curve", ratio > 1)  # fmt: skip
