"""``--verify`` tells where another solver setting ends elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner import optimize
from planner.scenario import load

PAPER = Path(__file__).resolve().parents[2] / "scenarios" / "paper.yaml"


def test_the_same_cost_is_confirmed() -> None:
    found = optimize.solve_scenario(load(PAPER), plans=1, verify=True, with_verdict=False)
    assert found.certificate is not None
    assert len(found.certificate.verified_by) == len(optimize.VERIFY)
    assert not any("not verified" in w for w in found.warnings)


def test_another_cost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = optimize.solve_cell

    def wrong(system, architecture, tiered, settings, **options):  # type: ignore[no-untyped-def]
        cell = honest(system, architecture, tiered, settings, **options)
        if settings.presolve == "off":
            cell.proof = replace(cell.proof, cost=cell.proof.cost * 0.9, bound=cell.proof.bound * 0.9)
        return cell

    monkeypatch.setattr(optimize, "solve_cell", wrong)
    found = optimize.solve_scenario(load(PAPER), plans=1, verify=True, with_verdict=False)
    assert found.certificate is not None
    assert found.certificate.verified_by == ("random seed 7",)
    assert any("not verified: with presolve off" in w for w in found.warnings)
    assert found.status == "feasible"
