"""The closed form, the curve's own optimum, and the optimisation model with continuous GPUs land on one capacity."""

from __future__ import annotations

import math

import pytest

from planner.physics.reuse import HillLaw, MeasuredLaw, PowerLaw
from planner.physics.system import System
from planner.scenario import replace
from planner.study.breakeven import breakeven
from planner.study.closed_form import Trade, closed_form, elasticity, optimum, power_fit
from planner.study.continuous import continuous_optimum

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
