"""Studies against what they replace: a sweep against separate solves, a frontier's solves, a large budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planner.benchmark.table import Figure
from planner.scenario import load
from planner.study.bench import POINTS, budget_seconds, sweep_against_solves
from planner.study.frontier import frontier


def studies(path: Path) -> Iterator[Figure]:
    """Measure the studies on the scenario ``path``."""
    scenario = load(path)
    together, apart = sweep_against_solves(scenario)
    group = f"Studies of {path.stem}"
    yield Figure(group, f"sweep of {POINTS} points", together, "s", "separate solves", together / apart,
                 "≤ 1/3", together <= apart / 3)  # fmt: skip
    for cell in frontier(scenario).cells:
        name = f"frontier, {cell.architecture}{' with tiers' if cell.tiered else ''}: solves"
        most = len(cell.vertices) + 2
        yield Figure(group, name, cell.solves, "", "vertices", cell.solves / max(len(cell.vertices), 1),
                     f"≤ {most}", cell.solves <= most)  # fmt: skip
    seconds, gap = budget_seconds()
    yield Figure(group, "budget of 100 services, 20 columns each", seconds, "s", target="≤ 10 s", met=seconds <= 10)
    yield Figure(group, "its gap", gap, "", target="≤ 1e-4", met=gap <= 1e-4)
