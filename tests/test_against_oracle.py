"""The product's cells against a brute force that shares no code with it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.optimize import solve_scenario
from planner.scenario import loads
from tests.oracle.brute import cells
from tests.oracle.generate import scenario

CASES = Path(__file__).resolve().parents[2] / "shared" / "reference" / "cases"
FILES = sorted(CASES.glob("*.yaml")) if CASES.is_dir() else []
GAP = 1e-4


def solved(doc: dict[str, Any]) -> dict[tuple[str, str], tuple[float, float] | None]:
    """Cost and lower bound per cell."""
    plans = solve_scenario(loads(yaml.safe_dump(doc, sort_keys=False)), gap=GAP, with_verdict=False)
    out: dict[tuple[str, str], tuple[float, float] | None] = {}
    for cell in plans.cells:
        key = (cell.architecture, "tiered" if cell.tiered else "hbm_only")
        out[key] = None
        if cell.evaluation is not None and cell.certificate is not None:
            assert cell.evaluation.feasible
            out[key] = (cell.evaluation.usd_per_hour, cell.certificate.usd_per_hour_lower_bound)
    return out


def compare(doc: dict[str, Any], want: dict[str, dict[str, Any]]) -> None:
    """Each cell: feasible together, cost within the gap, never below the optimum, bound never above it."""
    found = solved(doc)
    for architecture, pair in want.items():
        for which, design in pair.items():
            got = found.get((architecture, which))
            assert (got is None) == (design is None), (architecture, which)
            if got is not None:
                usd, bound = got
                assert usd == pytest.approx(design["usd_per_hour"], rel=1.05 * GAP), (architecture, which)
                assert usd >= design["usd_per_hour"] * (1 - 1e-6), (architecture, which)
                assert bound <= design["usd_per_hour"] * (1 + 1e-6), (architecture, which)


@pytest.mark.parametrize("seed", range(24))
def test_random_scenarios_with_one_shared_cache(seed: int) -> None:
    doc = scenario(seed, partitions=False)
    compare(doc, cells(doc))


@pytest.mark.parametrize("seed", range(8))
def test_random_scenarios_with_a_class_of_its_own_law(seed: int) -> None:
    doc = scenario(seed, partitions=True)
    compare(doc, cells(doc))


@pytest.mark.skipif(not FILES, reason="the reference cases are not at hand")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_published_optima(path: Path) -> None:
    published = json.loads(path.with_suffix(".json").read_text())
    compare(yaml.safe_load(path.read_text()), {k: v for k, v in published.items() if isinstance(v, dict)})
