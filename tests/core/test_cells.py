"""Every cell against an independent brute force, and what a certificate must promise."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from planner.interaction import KEYS
from planner.scenario import load
from tests.core.instances import GAP, cell, small
from tests.oracle import brute
from tests.oracle.generate import scenario as random_scenario

SHARED = Path(__file__).resolve().parents[3] / "shared" / "reference" / "cases"
CASES = sorted(SHARED.glob("*.yaml"))


@pytest.mark.skipif(not CASES, reason="reference cases are not in this checkout")
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_reference_case(case: Path) -> None:
    scenario = load(case)
    want = json.loads(case.with_suffix(".json").read_text())
    for architecture, tiered in KEYS:
        usd = want[architecture]["tiered" if tiered else "hbm_only"]["usd_per_hour"]
        found = cell(scenario, architecture, tiered)
        assert found.proof.cost == pytest.approx(usd, rel=1e-4)
        assert found.proof.bound <= usd * (1 + 1e-6)
        assert found.proof.gap <= GAP


@pytest.mark.parametrize("seed", range(1000, 1040))
def test_brute_force_agrees(seed: int) -> None:
    scenario = small(seed)
    if scenario is None:
        pytest.skip("the generator made a scenario that the loader refuses")
    reference = brute.cells(random_scenario(seed))
    for architecture, tiered in KEYS:
        if architecture not in scenario.deployment.architectures:
            continue
        known = reference[architecture]["tiered" if tiered else "hbm_only"]
        found = cell(scenario, architecture, tiered, use_model=tiered)
        if known is None:
            assert found.best is None
            continue
        assert found.proof.cost == pytest.approx(known["usd_per_hour"], rel=2 * GAP)
        assert found.proof.bound <= known["usd_per_hour"] * (1 + 1e-6)
        assert found.proof.gap <= GAP


@pytest.mark.parametrize("seed", [0, 2, 5, 16])
def test_scip_solves_the_exact_nonlinear_model(seed: int) -> None:
    """Power laws as powers, no tangents: SCIP's optimum is the plan's cost."""
    pytest.importorskip("pyscipopt")
    from tests.oracle import scip_model

    scenario = small(seed)
    assert scenario is not None
    for architecture in scenario.deployment.architectures:
        proven = scip_model.optimum(random_scenario(seed), architecture, tiered=True)
        found = cell(scenario, architecture, True)
        if proven["usd_per_hour"] is None:
            assert found.best is None
            continue
        assert found.proof.cost == pytest.approx(proven["usd_per_hour"], rel=2 * GAP)
        assert found.proof.bound <= proven["usd_per_hour"] * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_plans_keep_every_promise(seed: int) -> None:
    scenario = small(seed)
    if scenario is None:
        pytest.skip("the generator made a scenario that the loader refuses")
    for architecture in scenario.deployment.architectures:
        found = cell(scenario, architecture, True)
        plan = found.best
        if plan is None:
            assert math.isinf(found.proof.cost)
            continue
        assert plan.feasible
        assert found.proof.bound <= found.proof.cost * (1 + 1e-9)
        assert all(p.total_s <= scenario.slo.ttft_ms / 1e3 * (1 + 1e-6) for p in plan.paths if p.in_use)
        assert plan.tpot_s <= scenario.slo.tpot_ms / 1e3 * (1 + 1e-6)
        assert sum(line.usd_per_hour for line in plan.costs) == pytest.approx(plan.usd_per_hour, rel=1e-12)
        for name in {p.class_name for p in plan.paths}:
            assert sum(p.probability for p in plan.paths if p.class_name == name) == pytest.approx(1.0)


def test_a_rejected_design_never_lifts_the_bound() -> None:
    """A bound stays where the judge rejected the first answer: another plan of that design may exist."""
    from planner.milp import solve

    scenario = load(Path(__file__).resolve().parents[2] / "scenarios" / "paper.yaml")
    honest = cell(scenario, "disaggregated", True)
    original = solve.evaluate
    rejected = []

    def harsh(system, decision):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        from planner.plan import Violation

        judged = original(system, decision)
        if len(rejected) < 2:
            rejected.append(decision)
            return replace(judged, violations=(Violation("test", 1.0, 0.0, "-"),))
        return judged

    solve.evaluate = harsh
    try:
        found = cell(scenario, "disaggregated", True)
    finally:
        solve.evaluate = original
    assert rejected
    assert found.proof.bound <= honest.proof.cost * (1 + 1e-9)
