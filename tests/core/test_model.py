"""The optimisation model itself: its rows are scaled, its cuts lie above the law, SCIP proves the same bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cells import SimplestPlans
from planner.derive import candidates
from planner.milp.build import build, write_lp
from planner.milp.data import ModelData
from planner.milp.rules import RULES
from planner.physics.system import System
from planner.scenario import load, replace
from tests.core.instances import cell, small
from tests.core.test_properties import LAWS

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def models(seeds: range):  # type: ignore[no-untyped-def]
    for seed in seeds:
        scenario = small(seed)
        if scenario is None:
            continue
        system = System(scenario)
        for architecture in scenario.deployment.architectures:
            simplest = SimplestPlans(system)
            found = candidates(system, architecture, True, keep=2, judge=simplest.cost)
            if found.designs:
                scale = simplest.best.usd_per_hour if simplest.best else found.designs[0].usd_floor
                yield seed, architecture, ModelData(found, scale)


@pytest.mark.parametrize("block", range(10))
def test_coefficients_stay_in_range(block: int) -> None:
    """500 random scenarios: no coefficient outside 1e-4 … 1e5, objective near 100."""
    from pyomo.contrib.solver.solvers.highs import Highs

    checked = 0
    for seed, architecture, data in models(range(block * 50, block * 50 + 50)):
        solver = Highs()
        solver.set_instance(build(data))
        lp = solver._solver_model.getLp()
        values = np.abs(np.array(lp.a_matrix_.value_))
        values = values[values > 0]
        assert values.min() >= 1e-4 * (1 - 1e-9), (seed, architecture)
        assert values.max() <= 1e5, (seed, architecture)
        prices = np.abs(np.array(lp.col_cost_))
        assert prices.max() <= 1e5, (seed, architecture)
        checked += 1
    assert checked > 20


@settings(max_examples=150, deadline=None)
@given(LAWS, st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_cuts_lie_above_the_law(law, where, probe) -> None:  # type: ignore[no-untyped-def]
    """Tangents on concave stretches, chords on convex ones: never below the law within their stretch."""
    limit = 3 * law.capacity_for(law.base + 0.9 * (law.top - law.base)) + 1e6
    shell = ModelData.__new__(ModelData)
    shell.unit = limit / 10
    for region in law.regions(limit):
        from planner.milp.data import Segment

        segment = Segment(region.lo / shell.unit, region.hi / shell.unit, region.concave)
        width = segment.hi - segment.lo
        if width <= 0:
            continue
        if region.concave:
            shell.add_tangent(law, segment, segment.lo + where * width)
        else:
            shell.set_chord(law, segment)
        for a, b in segment.cuts:
            k = segment.lo + probe * width
            assert a + b * k >= law.hit_rate(k * shell.unit) - 1e-8


def test_rules_are_named_and_documented() -> None:
    assert len({r.name for r in RULES}) == len(RULES)
    for entry in RULES:
        assert entry.title
        assert entry.formula
        assert entry.unit
        assert entry.body.__doc__
        assert entry.kind in {"choice", "promise", "supply", "physics"}


def test_every_rule_is_exercised() -> None:
    """Some scenario of the random ones makes each rule produce a row."""
    seen: set[str] = set()
    for _, _, data in models(range(120)):
        model = build(data)
        seen |= {r.name for r in RULES if len(getattr(model, r.name)) > 0}
    tight = replace(load(SCENARIOS / "chat.yaml"), {"deployment.max_gpus": 80})  # some pairs of pools exceed it
    seen |= {r.name for r in RULES if len(getattr(cell(tight, "disaggregated", True).prover.model, r.name)) > 0}
    assert seen == {r.name for r in RULES}


@pytest.mark.parametrize("name", ["chat", "paper", "rag"])
def test_scip_proves_the_same_bound(name: str, tmp_path: Path) -> None:
    """The last model that HiGHS solved, written as an LP file and solved by SCIP."""
    scip = pytest.importorskip("pyscipopt")
    for architecture in ("colocated", "disaggregated"):
        found = cell(load(SCENARIOS / f"{name}.yaml"), architecture, True)
        assert found.prover is not None
        path = tmp_path / f"{architecture}.lp"
        write_lp(found.prover.model, str(path), found.prover.data)
        model = scip.Model()
        model.hideOutput()
        model.readProblem(str(path))
        model.optimize()
        assert model.getStatus() == "optimal"
        again = found.prover.solver.solve(60.0)  # the model as it is now, with its last tangents
        assert model.getObjVal() == pytest.approx(again.bound, rel=2e-5)
        assert found.proof.bound <= found.proof.cost
