"""What studies cost, measured: ``python -m planner.study.bench SCENARIO``.

A hundred-point sweep against a hundred separate solves, the solves of a frontier against its vertices, and a budget of
a hundred services with twenty columns each.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence

from planner.scenario import Scenario, load, replace
from planner.study.budget_model import choose
from planner.study.columns import EMPTY, Column, Service
from planner.study.frontier import frontier
from planner.study.sweep import sweep

POINTS = 100
SEPARATE = 10  # of the hundred separate solves that are timed


def sweep_against_solves(scenario: Scenario) -> tuple[float, float]:
    """Seconds of a 100-point sweep over TTFT, and of 100 separate solves of its points (ten timed, times ten)."""
    from planner.optimize import solve_scenario

    today = scenario.slo.ttft_ms
    points = [{"slo.ttft_ms": today * (0.7 + 0.006 * i)} for i in range(POINTS)]
    started = time.perf_counter()
    sweep(scenario, points)
    together = time.perf_counter() - started
    started = time.perf_counter()
    for changes in points[:: POINTS // SEPARATE]:
        solve_scenario(replace(scenario, changes))
    return together, (time.perf_counter() - started) * POINTS / SEPARATE


def random_services(count: int, columns: int, seed: int = 0) -> list[Service]:
    """Services whose columns trade money, GPUs, DRAM and NVMe, four levels each."""
    source = random.Random(seed)
    out = []
    for s in range(count):
        load_mtok = source.uniform(1, 100)
        rows = [EMPTY]
        for c in range(columns):
            level = (1.0, 0.75, 0.5, 0.25)[c % 4]
            usd = level * load_mtok * source.uniform(0.5, 1.5)
            sizes = (("dram", source.uniform(0, 5000) * level), ("nvme", source.uniform(0, 40000) * level))
            rows.append(Column(level, usd, round(usd / 2) + 1, sizes, load_mtok * level))
        out.append(Service(f"service-{s}", 1.0, load_mtok, tuple(rows)))
    return out


def budget_seconds() -> tuple[float, float]:
    """Seconds for a hundred services of twenty columns under four limits, and the gap proven."""
    services = random_services(100, 20)
    full = sum(max(c.usd_per_hour for c in s.columns) for s in services)
    limits = {"usd": 0.4 * full, "gpus": 0.18 * full, "dram": 1.2e5, "nvme": 1e6}
    started = time.perf_counter()
    found = choose(services, limits, gap=1e-4)
    return time.perf_counter() - started, found.relative_gap if found else float("nan")


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    scenario = load(arguments[0])
    together, apart = sweep_against_solves(scenario)
    print(
        f"sweep of {POINTS} points {together:.2f} s; apart {apart:.2f} s; ratio {together / apart:.3f}"
    )
    found = frontier(scenario)
    for cell in found.cells:
        name = f"{cell.architecture}{', tiers' if cell.tiered else ''}"
        print(f"frontier {name}: {len(cell.vertices)} vertices, {cell.solves} solves")
    seconds, gap = budget_seconds()
    print(f"budget of 100 services, 20 columns each: {seconds:.2f} s, proven within {gap:.1e}")


if __name__ == "__main__":
    main(sys.argv[1:])
