"""The solver against independent ones: brute force over every design, and SCIP, on the same random instances.

The oracles live beside the tests, so this part runs from a checkout (``tests/oracle``) and says so elsewhere.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from planner.benchmark.table import Figure
from planner.cells import SolveSettings, solve_cell
from planner.errors import InputError
from planner.interaction import KEYS
from planner.physics.system import System
from planner.scenario import Scenario, loads

FIRST_SEED = 5000


def available() -> bool:
    """Whether the oracles of the test suite can be imported; adds the checkout to the import path."""
    root = Path.cwd()
    if not (root / "tests" / "oracle" / "brute.py").is_file():
        return False
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return True


def instances(count: int) -> Iterator[tuple[int, dict[str, Any], Scenario]]:
    """``count`` random small scenarios that the loader accepts."""
    from tests.oracle.generate import scenario

    seed, made = FIRST_SEED, 0
    while made < count:
        doc = scenario(seed)
        seed += 1
        try:
            loaded = loads(yaml.safe_dump(doc))
        except InputError:
            continue
        made += 1
        yield seed - 1, doc, loaded


def against_brute_force(count: int) -> Iterator[Figure]:
    """Four cells of ``count`` random scenarios: largest difference of cost, and both times."""
    from tests.oracle import brute

    ours = theirs = worst = 0.0
    cells = wrong = 0
    for _, doc, scenario in instances(count):
        started = time.perf_counter()
        reference = brute.cells(doc)
        theirs += time.perf_counter() - started
        system = System(scenario)
        for architecture, tiered in KEYS:
            if architecture not in scenario.deployment.architectures:
                continue
            started = time.perf_counter()
            found = solve_cell(system, architecture, tiered, SolveSettings(), use_model=tiered).proof
            ours += time.perf_counter() - started
            known = reference[architecture]["tiered" if tiered else "hbm_only"]
            usd = math.inf if known is None else float(known["usd_per_hour"])
            cells += 1
            if math.isinf(usd) or math.isinf(found.cost):
                wrong += usd != found.cost
                continue
            worst = max(worst, abs(found.cost - usd) / usd)
            wrong += abs(found.cost - usd) > 2e-4 * usd or found.bound > usd * (1 + 1e-6)
    group = f"Against brute force ({count} random scenarios, {cells} cells)"
    yield Figure(group, "brute force", theirs, "s")
    yield Figure(group, "planner, model built for every tiered cell", ours, "s", "brute force", ours / theirs)
    yield Figure(group, "largest difference of cost", worst, "", target="≤ 2e-4", met=worst <= 2e-4)
    yield Figure(group, "cells that disagree", wrong, "", target="0", met=wrong == 0)


def against_scip(count: int) -> Iterator[Figure]:
    """The last model of every tiered cell, written as an LP file and proven again by SCIP."""
    try:
        import pyscipopt
    except ImportError:
        yield Figure("Against SCIP: install pyscipopt (test extra)", "skipped", 0, "")
        return
    highs = scip = worst = 0.0
    models = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.lp")
        for _, _, scenario in instances(count):
            system = System(scenario)
            for architecture in scenario.deployment.architectures:
                found = solve_cell(system, architecture, True, SolveSettings(), use_model=True)
                if found.prover is None or found.best is None:
                    continue
                models += 1
                started = time.perf_counter()
                bound = found.prover.solver.solve(60.0).bound  # of the model as it is now, with its last tangents
                highs += time.perf_counter() - started
                status, value, seconds = _scip(pyscipopt, found.prover.model, path)
                scip += seconds
                off = abs(value - bound) / value if status == "optimal" else math.inf
                worst = max(worst, off)
                wrong += off > 2e-5
    group = f"The same models by SCIP ({count} random scenarios, {models} models)"
    yield Figure(group, "SCIP", scip, "s")
    yield Figure(group, "HiGHS through Pyomo, solved again", highs, "s", "SCIP", highs / scip if scip else None)
    yield Figure(group, "largest difference of bound", worst, "", target="≤ 2e-5", met=worst <= 2e-5)
    yield Figure(group, "bounds that disagree", wrong, "", target="0", met=wrong == 0)


def _scip(pyscipopt: Any, model: Any, path: str) -> tuple[str, float, float]:
    from planner.milp.build import write_lp

    write_lp(model, path)
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.setParam("limits/gap", 1e-6)
    scip.readProblem(path)
    started = time.perf_counter()
    scip.optimize()
    seconds = time.perf_counter() - started
    status = "optimal" if scip.getStatus() in ("optimal", "gaplimit") else scip.getStatus()
    return status, scip.getObjVal() if status == "optimal" else math.nan, seconds
