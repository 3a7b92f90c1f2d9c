"""Small fully specified scenarios for tests, and shortcuts to solve them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import yaml

from planner.cells import CellResult, SolveSettings, solve_cell
from planner.errors import InputError
from planner.interaction import KEYS
from planner.physics.system import System
from planner.scenario import Scenario, loads
from tests.oracle.generate import scenario as random_scenario

GAP = 1e-4


@lru_cache(maxsize=256)
def small(seed: int) -> Scenario | None:
    """Random small scenario ``seed``; None where the generator made one that the loader rightly refuses."""
    try:
        return loads(yaml.safe_dump(random_scenario(seed)))
    except InputError:
        return None


def from_dict(doc: dict[str, Any]) -> Scenario:
    return loads(yaml.safe_dump(doc))


def cell(scenario: Scenario, architecture: str, tiered: bool, use_model: bool = True) -> CellResult:
    return solve_cell(System(scenario), architecture, tiered, SolveSettings(GAP), use_model=use_model)  # type: ignore[arg-type]


def cheapest(scenario: Scenario) -> float:
    """Least cost over the scenario's architectures, tiers allowed; infinite where nothing fits."""
    return min(cell(scenario, a, True).proof.cost for a in scenario.deployment.architectures)


def four_costs(scenario: Scenario) -> dict[tuple[str, bool], float]:
    return {key: cell(scenario, *key, use_model=key[1]).proof.cost for key in KEYS}


def no_dearer(after: float, before: float) -> bool:
    """``after <= before`` up to the gap that both were proven to."""
    return after <= before * (1 + 2 * GAP) or math.isinf(before)
