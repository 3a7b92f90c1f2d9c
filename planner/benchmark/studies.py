"""Studies against what they replace: a sweep against separate solves, a frontier's solves, a large budget."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from planner.benchmark.table import Figure
from planner.scenario import Scenario, load, replace
from planner.study.budget_model import choose
from planner.study.columns import EMPTY, Column, Service, Wanted, services_of
from planner.study.frontier import frontier
from planner.study.sweep import sweep

SIDE = 10  # points of the sweep's grid along TTFT and along the load
SEPARATE = 10  # of its points that are timed as separate solves
SERVICES = 100
GAP = 1e-4


def studies(files: Sequence[Path]) -> Iterator[Figure]:
    """Measure the studies on the first scenario, and a budget of variants of all of them."""
    scenario = load(files[0])
    group = f"Studies of {files[0].stem}"
    together, apart = sweep_against_solves(scenario)
    yield Figure(group, f"sweep of {SIDE * SIDE} points", together, "s", "separate solves", together / apart,
                 "≤ 1/3", together <= apart / 3)  # fmt: skip
    for cell in frontier(scenario).cells:
        name = f"frontier, {cell.architecture}{' with tiers' if cell.tiered else ''}: solves"
        most = len(cell.vertices) + 2
        yield Figure(group, name, cell.solves, "", "vertices", cell.solves / max(len(cell.vertices), 1),
                     f"≤ {most}", cell.solves <= most)  # fmt: skip
    yield from _budgets(files)


def sweep_against_solves(scenario: Scenario) -> tuple[float, float]:
    """Seconds of a sweep over TTFT and load, and of as many separate solves (every tenth timed)."""
    ttft, rate = scenario.slo.ttft_ms, scenario.workload.requests_per_second
    points = [
        {"slo.ttft_ms": ttft * (0.7 + 0.06 * i), "workload.requests_per_second": rate * (0.7 + 0.06 * j)}
        for i, j in product(range(SIDE), repeat=2)
    ]
    return _sweep_seconds(scenario, points), _solve_seconds(scenario, points)


def _sweep_seconds(scenario: Scenario, points: Sequence[dict[str, float]]) -> float:
    started = time.perf_counter()
    sweep(scenario, points)
    return time.perf_counter() - started


def _solve_seconds(scenario: Scenario, points: Sequence[dict[str, float]]) -> float:
    from planner.optimize import solve_scenario

    timed = [points[i] for i in range(0, len(points), SEPARATE + 1)]  # a diagonal of the grid
    started = time.perf_counter()
    for changes in timed:
        solve_scenario(replace(scenario, changes))
    return (time.perf_counter() - started) * len(points) / len(timed)


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


def fleet(files: Sequence[Path], count: int = SERVICES) -> list[Scenario]:
    """Services made of scenario files, each with a load of its own between half and double its file's."""
    loaded = [load(path) for path in files]
    out = []
    for i in range(count):
        scenario = loaded[i % len(loaded)]
        rate = scenario.workload.requests_per_second * (0.5 + 1.5 * ((i * 37) % count) / count)
        out.append(replace(scenario, {"name": f"service-{i}", "workload.requests_per_second": rate}))
    return out


def _budgets(files: Sequence[Path]) -> Iterator[Figure]:
    group = f"Budget of {SERVICES} services, 20 columns each"
    services = random_services(SERVICES, 20)
    full = sum(max(c.usd_per_hour for c in s.columns) for s in services)
    limits = {"usd": 0.4 * full, "gpus": 0.18 * full, "dram": 1.2e5, "nvme": 1e6}
    started = time.perf_counter()
    found = choose(services, limits, gap=GAP)
    seconds = time.perf_counter() - started
    gap = found.relative_gap if found else float("nan")
    yield Figure(group, "random columns, four limits: the choice", seconds, "s", target="≤ 10 s", met=seconds <= 10)
    yield Figure(group, "its gap", gap, "", target="≤ 1e-4", met=gap <= GAP)
    started = time.perf_counter()
    services = services_of([Wanted(s.model_dump_json(), s.name) for s in fleet(files)])
    full = sum(s.columns[1].usd_per_hour for s in services if len(s.columns) > 1)
    choose(services, {"usd": 0.6 * full}, gap=GAP)
    seconds = time.perf_counter() - started
    yield Figure(group, f"variants of {len(files)} scenarios, columns built", seconds, "s", target="≤ 10 s",
                 met=seconds <= 10)  # fmt: skip
