"""Times inside one process: cells, ranking and verdict of the shipped scenarios, as shares of the whole solve."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from planner.benchmark.table import Figure
from planner.optimize import solve_scenario
from planner.scenario import load

RUNS = 5


def in_process(scenarios: Sequence[Path]) -> Iterator[Figure]:
    """Warm solve times: everything, without the verdict, and one plan instead of five."""
    group = f"Solving in one process, warm (median of {RUNS})"
    for path in scenarios:
        scenario = load(path)
        solve_scenario(scenario)
        whole = _median(partial(solve_scenario, scenario))
        bare = _median(partial(solve_scenario, scenario, with_verdict=False))
        one = _median(partial(solve_scenario, scenario, with_verdict=False, plans=1))
        yield Figure(group, f"{path.stem}: cells, five ranked plans, verdict", whole, "s")
        yield Figure(group, f"{path.stem}: without the verdict", bare, "s", "whole", bare / whole)
        yield Figure(group, f"{path.stem}: one plan, without the verdict", one, "s", "whole", one / whole)


def _median(run: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
