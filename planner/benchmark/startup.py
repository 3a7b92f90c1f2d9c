"""Whole-process times, side by side in one run: start-up, check, solve, against a bare import of the libraries."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.benchmark.table import Figure

IMPORTS = "import pyomo.core, highspy, numpy, pydantic, yaml, typer"
RUNS = 7


def whole_process(scenarios: Sequence[Path]) -> Iterator[Figure]:
    """Median wall times of whole processes, interleaved so that all see the same machine."""
    commands = {
        "baseline": [sys.executable, "-c", IMPORTS],
        "planner --help": [sys.executable, "-m", "planner", "--help"],
        f"planner check {scenarios[0].name}": [sys.executable, "-m", "planner", "check", str(scenarios[0])],
    }
    for path in scenarios:
        commands[f"planner solve {path.name}"] = [
            sys.executable, "-m", "planner", "solve", str(path), "--no-report", "-q",
        ]  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            times[name].append(_seconds(command))
    base = statistics.median(times["baseline"])
    group = f"Whole processes (median of {RUNS}, interleaved; baseline: python -c '{IMPORTS}')"
    yield Figure(group, "baseline", base, "s")
    for name, values in times.items():
        if name == "baseline":
            continue
        seconds = statistics.median(values)
        target, met = "", None
        if "--help" in name:
            target, met = "≤ 0.15 s", seconds <= 0.15
        elif "check" in name:
            target, met = "≤ 0.3 s", seconds <= 0.3
        elif name.endswith("chat.yaml"):
            target, met = "≤ 3 ×", seconds <= 3 * base
        yield Figure(group, name, seconds, "s", "baseline", seconds / base, target, met)


def memory(scenarios: Sequence[Path]) -> Iterator[Figure]:
    """Peak resident memory of one solve per scenario."""
    group = "Peak memory of a solve"
    for path in scenarios:
        command = [sys.executable, "-m", "planner", "solve", str(path), "--no-report", "-q"]
        megabytes = _peak_megabytes(command)
        yield Figure(group, path.name, megabytes, "MB", target="≤ 300 MB", met=megabytes <= 300)


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def _peak_megabytes(command: list[str]) -> float:
    """Peak memory of one child, read from the usage that the system reports when it ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    scale = 1024 if sys.platform != "darwin" else 1
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_maxrss * scale / 1e6
