"""The marks on the hit curve are what ``planner breakeven`` says, and the notes say why a plan differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.physics.system import System
from planner.report.html.breakeven import HEAD, Marks, break_evens
from planner.report.html.chart_hits import hits_chart
from planner.report.reread import stored_set
from planner.scenario import replace as changed
from planner.study.breakeven import at_plan, breakeven
from tests.report_html import made


@pytest.mark.parametrize("name", ["chat", "agent", "steady"])
def test_marks_are_the_commands(name: str) -> None:
    stored = stored_set(made.plan_data(name))
    assert stored.scenario is not None
    assert stored.system is not None
    told = breakeven(stored.scenario)
    found = break_evens(stored.system, stored.plan_set.plans[0].evaluation)
    wanted = [(r.tier, r.within.size_bytes) for r in told.rows if r.within.pays]
    assert [m.tier for m in found.marks] == [tier for tier, _ in wanted]
    assert [m.capacity_bytes for m in found.marks] == pytest.approx([size for _, size in wanted], rel=1e-6)
    assert all(
        m.capacity_bytes <= r.limit_bytes * (1 + 1e-9) for m in found.marks for r in told.rows if r.tier == m.tier
    )
    assert (HEAD in found.notes) == bool(wanted)
    assert hits_chart(stored.system, stored.plan_set.plans[0].evaluation).notes == found.notes


def test_what_is_included_or_cannot_pay_has_no_mark_and_says_so() -> None:
    stored = stored_set(made.plan_data("chat"))
    best = stored.plan_set.plans[0].evaluation
    assert stored.scenario is not None
    dear = System(changed(stored.scenario, {"tiers[0].usd_per_gb_hour": 10.0, "tiers[1].usd_per_gb_hour": 10.0}))
    found = break_evens(dear, best)
    assert not found.marks
    assert found.notes == tuple(
        f"{t}: no capacity of it saves more than it costs: what pays is in free HBM already." for t in ("dram", "nvme")
    )
    brought = changed(stored.scenario, {f"tiers[{n}].included_gb_per_node": 1e6 for n in (0, 1)})
    assert break_evens(System(brought), best) == Marks()


def test_reasons_are_the_plans() -> None:
    chat, agent = (stored_set(made.plan_data(name)) for name in ("chat", "agent"))
    notes = " ".join(break_evens(chat.system, chat.plan_set.plans[0].evaluation).notes)  # type: ignore[arg-type]
    assert "nvme: the plan leaves it out (would wear out: " in notes
    best = agent.plan_set.plans[0].evaluation
    if "nvme_endurance" in best.binding:
        notes = " ".join(break_evens(agent.system, best).notes)  # type: ignore[arg-type]
        assert ": writes use the drives' whole endurance." in notes


def test_an_exclusive_hierarchy_is_marked_beside_its_hbm() -> None:
    stored = stored_set(made.plan_data("chat"))
    best = stored.plan_set.plans[0].evaluation
    assert stored.scenario is not None
    system = System(changed(stored.scenario, {"deployment.hierarchy": "exclusive"}))
    known = at_plan(system, best)
    hbm = known.plan.decision.hbm_bytes[0]
    assert hbm > 0
    for mark in break_evens(system, best).marks:
        assert mark.reached_bytes == mark.capacity_bytes + hbm
        assert mark.hit_rate == system.laws[0].hit_rate(mark.reached_bytes)


def test_a_plan_of_another_scenario_has_no_marks() -> None:
    stored = stored_set(made.plan_data("chat"))
    best = stored.plan_set.plans[0].evaluation
    foreign = replace(best, decision=replace(best.decision, prefill_config="tp99"))
    assert not break_evens(stored.system, foreign).marks  # type: ignore[arg-type]
