"""The closed form, the curve's own optimum, and the optimisation model with continuous GPUs land on one capacity."""

from __future__ import annotations

import math
import re
from dataclasses import replace as replace_decision

import numpy as np
import pytest

from planner.cells import SolveSettings
from planner.judge.state import judged_state
from planner.physics.reuse import HillLaw, MeasuredLaw, PowerLaw
from planner.physics.system import System
from planner.scenario import replace
from planner.study.breakeven import breakeven
from planner.study.closed_form import Trade, closed_form, elasticity, optimum, power_fit
from planner.study.continuous import continuous_optimum
from planner.study.keep import kept
from planner.study.next_tb import next_tb
from planner.study.points import cheapest

GPU_USD, DELTA_S, GPUS, BUSY, RATE = 2.8, 0.3, 8, 0.8, 40.0
VALUE = DELTA_S * GPUS * GPU_USD / 3600 / BUSY  # dollars per hit


def rent_below_the_ceiling(law: PowerLaw) -> float:
    rent = 1e-13
    while closed_form(law, RATE, VALUE, rent) > 0.5 * law.capacity_for(law.ceiling):
        rent *= 2
    return rent


@pytest.mark.parametrize("beta", [0.2, 0.4, 0.6, 0.8])
def test_the_model_with_continuous_gpus_lands_on_the_closed_form(beta):
    law = PowerLaw(beta, 0.35, 2e12, 0.95)
    rent = rent_below_the_ceiling(law)
    saved = RATE * DELTA_S * GPUS / BUSY
    found = continuous_optimum(
        law, gpus_without_hits=1.3 * saved, gpus_saved=saved, gpu_usd_per_hour=GPU_USD, usd_per_byte_hour=rent
    )
    assert found.capacity_bytes == pytest.approx(closed_form(law, RATE, VALUE, rent), rel=1e-4)
    assert found.bound <= found.usd_per_hour * (1 + 1e-9)
    assert found.usd_per_hour == pytest.approx(found.bound, rel=1e-6)


@pytest.mark.parametrize("beta", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_curve_s_own_optimum_is_the_closed_form_for_a_power_law(beta):
    law = PowerLaw(beta, 0.35, 2e12, 0.95)
    rent = rent_below_the_ceiling(law)
    assert optimum(law, Trade(RATE, VALUE, rent)) == pytest.approx(closed_form(law, RATE, VALUE, rent), rel=1e-4)
    nearer = PowerLaw(beta + 1e-6, 0.35, 2e12, 0.95)
    slope = (math.log(closed_form(nearer, RATE, VALUE, rent)) - math.log(closed_form(law, RATE, VALUE, rent))) / 1e-6
    assert elasticity(law, RATE, VALUE, rent) == pytest.approx(slope, rel=1e-3)


def test_the_optimum_stops_at_the_ceiling():
    law = PowerLaw(0.4, 0.35, 2e12, 0.8)
    assert optimum(law, Trade(RATE, VALUE, 1e-15)) == pytest.approx(law.capacity_for(0.8), rel=1e-6)


@pytest.mark.parametrize(
    "law",
    [
        HillLaw(0.03, 0.75, 2e12, 2.0),
        HillLaw(0.1, 0.6, 1e12, 0.8),
        MeasuredLaw(((1e12, 0.02), (2e12, 0.05), (3e12, 0.5), (6e12, 0.55))),
    ],
)
def test_nothing_on_a_fine_grid_is_better(law):
    for rent in (1e-14, 1e-12, 1e-11, 1e-10):
        best = optimum(law, Trade(RATE, VALUE, rent))

        def net(k, rent=rent):
            return rent * k - 3600 * RATE * VALUE * law.hit_rate(k)

        others = [net(10 ** (9 + 6 * i / 5000)) for i in range(5001)]
        assert net(best) <= min(*others, net(0.0)) + 1e-9 * abs(net(best))


def test_poor_fits_and_steep_laws_are_refused(scenario):
    rag = breakeven(scenario("rag"))
    assert rag.rows
    assert all(not row.trusted and "points" in row.why for row in rag.rows)
    steep = breakeven(replace(scenario("chat"), {"workload.reuse.beta": 0.92}))
    assert all(not row.trusted and "explodes" in row.why for row in steep.rows)
    chat = breakeven(scenario("chat"))
    assert all(row.trusted for row in chat.rows)


def test_explosion_and_retention(scenario):
    found = breakeven(scenario("chat"))
    dram = next(r for r in found.rows if r.tier == "dram")
    sizes = [k for _, k in dram.explosion]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 1e6 * sizes[0]
    system = System(scenario("chat"))
    fresh = system.prompt_bytes_per_s - sum(system.reuse_bytes_per_s) * found.plan.effective_hit_rate
    assert dram.plan_minutes == pytest.approx(dram.plan_bytes / fresh / 60)


def test_fit_of_a_power_law_is_itself():
    law = PowerLaw(0.37, 0.4, 3e12, 0.9)
    assert power_fit(law).law is law
    points = MeasuredLaw(tuple((k * 1e11, PowerLaw(0.4, 0.4, 3e12, 1.0).hit_rate(k * 1e11)) for k in range(1, 60)))
    fitted = power_fit(points)
    assert fitted.law.beta == pytest.approx(0.4, abs=0.011)
    assert fitted.worst_error < 0.03  # the chord from the origin to the first point


def test_command(invoke, path):
    data = invoke("breakeven", path("chat"), "--format", "json").data
    assert [t["tier"] for t in data["tiers"]] == ["dram", "nvme"]
    assert data["tiers"][0]["capped_by_ceiling"]
    text = invoke("breakeven", path("chat")).out
    assert "closed form" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert invoke("breakeven", path("chat"), "-f", "csv").out.startswith("tier,")


def narrowed(cost, low, high):
    """The lowest point of ``cost`` by grids alone, each within the best stretch of the one before."""
    grid = np.unique(np.concatenate([[0.0], np.geomspace(high * 1e-9, high, 3000), np.linspace(low, high, 3000)]))
    for _ in range(4):
        values = [cost(k) for k in grid]
        best = int(np.argmin(values))
        grid, before = np.linspace(grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)], 200), values[best]
    return before


@pytest.mark.parametrize("name", ["chat", "rag", "agent"])
def test_optimum_of_every_tier_by_another_search(scenario, name):
    loaded = scenario(name)
    system, found = System(loaded), breakeven(loaded)
    law = system.partition_law(0, found.plan.decision.architecture, found.plan.decision.prefill_instances)
    for row in found.rows:
        saved = 3600 * system.rate * row.usd_per_hit

        def cost(k, saved=saved, rent=row.usd_per_byte_hour):
            return rent * k - saved * law.hit_rate(k)

        in_hbm = saved * law.hit_rate(found.plan.decision.hbm_bytes[0])
        for best, limit in ((row.optimum, saved / row.usd_per_byte_hour), (row.within, row.limit_bytes)):
            assert best.size_bytes <= limit * (1 + 1e-9)
            assert cost(best.size_bytes) == pytest.approx(narrowed(cost, 0.0, limit), rel=1e-6)
            assert best.usd_per_hour == pytest.approx(-cost(best.size_bytes) - in_hbm)
        assert row.within.usd_per_hour <= row.optimum.usd_per_hour + 1e-9


def test_what_comes_with_the_nodes_is_free_and_what_hbm_holds_is_not_bought_again():
    law = HillLaw(0.0, 0.7, 2e12, 1.5)
    for included, beside in ((0.0, 0.0), (3e12, 0.0), (0.0, 1e12), (3e12, 1e12)):
        trade = Trade(RATE, VALUE, 5e-13, included, beside)
        best = optimum(law, trade)
        assert trade.net_usd_per_hour(law, best) == pytest.approx(
            narrowed(lambda k, t=trade: t.net_usd_per_hour(law, k), 0.0, 4e14), rel=1e-6
        )
        assert best >= included * (1 - 1e-6)
    assert optimum(law, Trade(RATE, VALUE, 5e-13), limit=1e12) == pytest.approx(1e12)


def test_a_terabyte_more_at_the_plan_and_in_fractions(scenario):
    found = breakeven(scenario("paper"))
    system = System(scenario("paper"))
    nvme = next(r for r in found.rows if r.tier == "nvme")
    rent = 1e12 * nvme.usd_per_byte_hour
    assert nvme.next_tb.plan_usd_per_hour == pytest.approx(-rent)  # GPUs are whole: nothing is given back
    law = system.laws[0]
    gained = law.hit_rate(nvme.plan_bytes + 1e12) - law.hit_rate(nvme.plan_bytes)
    assert nvme.next_tb.fractional_usd_per_hour == pytest.approx(
        3600 * system.rate * nvme.usd_per_hit * gained - rent, rel=1e-6
    )
    assert nvme.next_tb.fractional_usd_per_hour > 0
    dram = next(r for r in breakeven(scenario("chat")).rows if r.tier == "dram")
    assert dram.next_tb.room_bytes < 1e12
    assert dram.next_tb.plan_usd_per_hour is None  # the nodes are full


def test_purchase_steps_and_capacity_that_is_given_back(scenario):
    rented = {"tiers[0].included_gb_per_node": 0, "tiers[1].included_gb_per_node": 0, "tiers[1].step_gb": 3840}
    loaded = replace(scenario("cloud"), rented)
    system = System(loaded)
    plan = cheapest(system, SolveSettings()).plan
    assert {t.role for t in plan.tiers[1:]} == {"sync"}
    larger = replace_decision(plan.decision, capacity_bytes=((plan.decision.capacity_bytes[0][0] + 5e12,),
                                                             plan.decision.capacity_bytes[1]))  # fmt: skip
    wasteful = kept(system, larger)
    assert wasteful.feasible
    state = judged_state(system, wasteful.decision)
    found = next_tb(system, wasteful, state, state.laws[0], 1, 0, 1e-3)
    assert found.added_bytes == pytest.approx(3.84e12)
    rents = [tier.usd_per_byte_hour for tier in system.tiers]
    assert found.plan_usd_per_hour == pytest.approx(5e12 * rents[0] - 3.84e12 * rents[1], rel=0.02)
    ideal = next_tb(system, plan, judged_state(system, plan.decision), state.laws[0], 1, 0, 1e-3)
    assert ideal.plan_usd_per_hour <= loaded.solve.gap * plan.usd_per_hour  # nothing is saved at a cheapest plan


def test_free_tiers_have_nothing_to_break_even(scenario, invoke, path):
    assert breakeven(scenario("cloud")).free == ("dram", "nvme")
    assert "nothing to break even" in invoke("breakeven", path("cloud")).out
    some = breakeven(replace(scenario("cloud"), {"tiers[0].included_gb_per_node": 500}))
    assert [r.tier for r in some.rows] == ["dram"]
    assert some.rows[0].optimum.size_bytes >= 500e9 * some.plan.prefill.nodes * (1 - 1e-9)


def test_pictures_where_a_power_law_describes_the_curve(invoke, path, tmp_path):
    chat = invoke("breakeven", path("chat")).out
    assert "(today)" in chat
    assert all(mark in chat for mark in ("│░", ">", "does not fit"))
    assert chat.count("β nears 1") == 2
    rag = invoke("breakeven", path("rag")).out
    assert "β nears 1" not in rag
    assert "no picture" in rag
    steep = path("chat").read_text(encoding="utf-8").replace("beta: 0.4", "beta: 0.93")
    (tmp_path / "steep.yaml").write_text(steep, encoding="utf-8")
    text = invoke("breakeven", tmp_path / "steep.yaml").out
    assert "refused" in text
    assert "β nears 1" in text  # the picture is why


def test_words_have_the_sign_of_the_numbers(invoke, path):
    done = invoke("breakeven", path("paper"), "-f", "json").data
    nvme = next(t for t in done["tiers"] if t["tier"] == "nvme")
    text = " ".join(invoke("breakeven", path("paper")).out.split())
    assert nvme["next_at_plan_usd_per_hour"] < 0 < nvme["next_fractional_usd_per_hour"]
    assert f"roles kept, costs ${-nvme['next_at_plan_usd_per_hour']:.4f}/h more than it saves" in text
    assert f"saves ${nvme['next_fractional_usd_per_hour']:.2f}/h more than it costs" in text
    assert re.search(r"one more TB, saved less paid, \$/h at the plan, whole GPUs −", text)


def test_each_class_with_its_own_cache_keeps_its_kv_for_its_own_time(scenario):
    law = {"law": "power", "beta": 0.3, "hit_rate": 0.3, "at_gb": 1000, "ceiling": 0.7}
    found = breakeven(replace(scenario("chat"), {"workload.classes[1].reuse": law}))
    system = System(replace(scenario("chat"), {"workload.classes[1].reuse": law}))
    assert {r.partition for r in found.rows} == {k.name for k in system.classes}
    for row in found.rows:
        k = next(k for k in system.classes if k.name == row.partition)
        law_of = system.laws[k.partition]
        fresh = k.rate * (k.prompt - law_of.hit_rate(row.optimum.size_bytes) * k.reusable) * system.kv_per_token
        assert row.optimum.minutes == pytest.approx(row.optimum.size_bytes / fresh / 60)


def test_a_purchase_step_is_told_with_its_size_and_per_terabyte(invoke, path):
    nvme = next(t for t in invoke("breakeven", path("chat"), "-f", "json").data["tiers"] if t["tier"] == "nvme")
    assert nvme["next_gb"] == pytest.approx(3840)
    assert nvme["next_at_plan_usd_per_hour_per_tb"] == pytest.approx(nvme["next_at_plan_usd_per_hour"] / 3.84)
    assert nvme["next_at_plan_usd_per_hour_per_tb"] == pytest.approx(-1000 * nvme["usd_per_gb_hour"])
    text = invoke("breakeven", path("chat")).out
    assert re.search(r"the next to buy, TB +1\.00 +3\.84\n", text)
    assert text.count("    per TB") == 2
    assert "one more TB, saved less paid" not in text


def test_a_closed_form_beyond_the_ceiling_is_called_the_ceiling(invoke, path):
    dram = invoke("breakeven", path("chat"), "-f", "json").data["tiers"][0]
    assert dram["formula_gb"] > dram["ceiling_gb"] == pytest.approx(dram["closed_form_gb"])
    for form in ("table", "md"):
        text = " ".join(invoke("breakeven", path("chat"), "--format", form).out.replace("\\", "").split())
        assert re.search(r"is [0-9.]+ TB \(the curve's ceiling; the formula alone [0-9.,e]+\)", text)
        assert "the closed form holds" not in text
