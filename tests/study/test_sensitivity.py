"""The tornado: every end is its own solve, and keeping today's plan is judged as it is."""

from __future__ import annotations

import pytest

from planner.cells import SolveSettings
from planner.errors import InfeasibleError, InputError
from planner.evaluate import evaluate
from planner.physics.system import System
from planner.scenario import replace
from planner.study.keep import at_full_hits, kept
from planner.study.knobs import knobs_of
from planner.study.points import cheapest
from planner.study.sensitivity import sensitivity


@pytest.fixture(scope="module")
def chat(scenario):
    loaded = scenario("chat")
    return loaded, sensitivity(loaded)


def test_every_end_is_its_own_solve(chat):
    loaded, found = chat
    settings = SolveSettings(loaded.solve.gap)
    for bar in found.bars:
        if "." not in bar.knob.name or bar.knob.kind in ("timing", "reuse"):
            continue
        for end in (bar.low, bar.high):
            alone = cheapest(System(replace(loaded, {bar.knob.name: end.value})), settings)
            assert end.usd_per_hour == pytest.approx(alone.usd_per_hour, rel=2e-4)


def test_widest_first_and_every_default_named(chat):
    _, found = chat
    spreads = [bar.spread for bar in found.bars]
    assert spreads == sorted(spreads, reverse=True)
    kinds = {bar.knob.kind for bar in found.bars}
    assert kinds == {"price", "load", "reuse", "bandwidth", "timing"}


def test_a_gpu_price_changes_only_the_price(chat):
    bar = next(b for b in chat[1].bars if b.knob.name == "prices.gpu_usd_per_hour")
    assert bar.effect == "price"
    assert bar.low.regret_usd_per_hour == pytest.approx(0, abs=0.05)


def test_regret_is_what_keeping_costs_more(chat):
    for bar in chat[1].bars:
        for end in (bar.low, bar.high):
            if end.regret_usd_per_hour is not None:
                assert end.regret_usd_per_hour == pytest.approx(
                    max(0.0, end.keep_usd_per_hour - end.usd_per_hour), abs=1e-9
                )
                assert not end.breaks
            else:
                assert end.breaks or end.plan is None
    load = next(b for b in chat[1].bars if b.knob.kind == "load")
    assert load.high.breaks
    assert load.low.regret_usd_per_hour > 0


def test_slower_timing_never_costs_less(chat):
    for bar in chat[1].bars:
        if bar.knob.kind == "timing":
            assert bar.low.usd_per_hour <= bar.high.usd_per_hour * (1 + 2e-4)


def test_kept_hardware_takes_the_hits_that_the_law_gives(scenario):
    for name in ("paper", "rag", "cloud", "chat"):
        system = System(scenario(name))
        plan = cheapest(system, SolveSettings()).plan
        full = at_full_hits(system, plan.decision)
        assert not [v for v in full.violations if "hit_law" in v.rule or "inclusion" in v.rule or "bandwidth" in v.rule]
        again = kept(system, plan.decision)
        assert again.feasible
        assert again.usd_per_hour == pytest.approx(plan.usd_per_hour)
        assert max(p.total_s for p in again.paths) <= max(p.total_s for p in plan.paths) * (1 + 1e-6)
        assert evaluate(system, again.decision).feasible


def test_stated_ranges(scenario):
    rag = scenario("rag")
    system = System(rag)
    (knob,) = knobs_of(system, ("tiers[nvme].usd_per_gb_hour=x1:x3",), only_stated=True)
    assert knob.high == pytest.approx(3 * knob.low)
    (knob,) = knobs_of(system, ("prices.gpu_usd_per_hour=x2",), only_stated=True)
    assert (knob.low, knob.high) == (pytest.approx(2.8), pytest.approx(5.6))
    (knob,) = knobs_of(system, ("timing.prefill=0.8:1.3",), only_stated=True)
    assert (knob.low, knob.high) == (0.8, 1.3)
    with pytest.raises(InputError):
        knobs_of(system, ("engine.timing=a:b",))
    with pytest.raises(InputError):
        knobs_of(system, ("timing.prefill=slow",))


def test_nothing_to_move_from(scenario):
    with pytest.raises(InfeasibleError):
        sensitivity(replace(scenario("rag"), {"slo.ttft_ms": 1.0}))


def test_command(invoke, path):
    done = invoke("sensitivity", path("rag"), "--format", "json", "--no-report")
    assert done.code == 0
    assert {"nothing", "price", "size", "plan"} >= {bar["effect"] for bar in done.data["bars"]}
    text = invoke("sensitivity", path("chat"), "--only", "--range", "tiers.dram.usd_per_gb_hour=x2").out
    assert "only its price" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert invoke("sensitivity", path("rag"), "-f", "csv", "--no-report").out.startswith("input,end,value")
