"""The tornado: every end is its own solve, and keeping today's plan is judged as it is."""

from __future__ import annotations

import re

import pytest

from planner.cells import SolveSettings
from planner.errors import InfeasibleError, InputError, StoppedError
from planner.evaluate import evaluate
from planner.optimize import solve_scenario
from planner.physics.system import System
from planner.report.study_sensitivity import to_table
from planner.scenario import replace
from planner.study.keep import at_full_hits, kept
from planner.study.knobs import knobs_of
from planner.study.points import cheapest
from planner.study.sensitivity import SAME_PRICE, sensitivity


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


def test_ends_are_what_solve_says(chat):
    """The same scenario through the whole pipeline: four cells, certificate and ranking."""
    loaded, found = chat
    for name in ("workload.requests_per_second", "tiers[0].usd_per_gb_hour", "workload.reuse.beta"):
        bar = next(b for b in found.bars if b.knob.name == name)
        for end in bar.ends:
            whole = solve_scenario(replace(loaded, {name: end.value}), plans=1)
            assert end.usd_per_hour == pytest.approx(whole.plans[0].evaluation.usd_per_hour, rel=2e-4)


def test_regret_is_the_judges_word_on_the_same_hardware(chat):
    loaded, found = chat
    for bar in found.bars:
        for end in (e for e in bar.ends if not e.left_out):
            there = bar.knob.move(System(loaded), end.value)
            judged = evaluate(there, found.plan.decision)
            if end.keep_usd_per_hour is not None:  # the bill does not depend on hits
                assert end.keep_usd_per_hour == pytest.approx(judged.usd_per_hour)
            else:
                assert not at_full_hits(there, found.plan.decision).feasible
                assert not any(text.startswith(("hit_law", "inclusion")) for text in end.breaks)


def test_what_changes_nothing_is_a_group_of_its_own(chat, invoke, path):
    _, found = chat
    today = found.plan.usd_per_hour
    for bar in found.bars:
        moves = [abs(e.usd_per_hour / today - 1) > SAME_PRICE for e in bar.ends if e.usd_per_hour is not None]
        if bar.effect == "nothing":
            assert not any(moves)
            assert not any(e.changes or e.resized or e.breaks for e in bar.ends)
        elif bar.effect == "price":
            assert any(moves)
    still = {b.knob.label for b in found.bars if b.effect == "nothing"}
    assert "tiers[nvme].usd_per_gb_hour" in still  # the plan has no NVMe
    text = " ".join(invoke("sensitivity", path("chat"), "--no-report").out.split())
    price, nothing = text.split("Only the price: ")[1].split("Changes nothing: ")
    assert "gpu_usd_per_hour" in price
    assert "nvme" not in price
    assert "tiers[nvme].usd_per_gb_hour (" in nothing.split("If today's plan")[0]


def test_ranges_have_units(chat, invoke, path):
    units = {b.knob.label: b.knob.unit for b in chat[1].bars}
    assert units["workload.requests_per_second"] == "req/s"
    assert units["tiers[dram].usd_per_gb_hour"] == "$/GB·h"
    assert units["tiers[dram].gb_per_s_per_node"] == "GB/s"
    assert units["prefill time"] == "× today"
    assert "36.0 … 44.0 req/s" in invoke("sensitivity", path("chat"), "--no-report").out


def test_keeping_todays_plan_in_plain_words(invoke, path):
    text = " ".join(invoke("sensitivity", path("chat"), "--no-report").out.split())
    assert re.search(r"costs \$\d+\.\d\d/h more than the best plan there", text)
    assert re.search(r"cannot be kept: promise missed: TTFT 1,\d{3} ms, promised 1,500 ms", text)
    markdown = invoke("sensitivity", path("chat"), "--no-report", "-f", "md").out
    assert markdown.startswith("# chat")
    assert "## Keeping today's plan" in markdown


def test_an_end_that_no_scenario_may_have(invoke, path):
    one = invoke("sensitivity", path("chat"), "--only", "--range", "workload.reuse.beta=0.5:2", "--no-report")
    assert one.code == 0
    assert "0.500 … –" in one.out
    assert "left out" in one.out
    both = invoke(
        "sensitivity", path("chat"), "--only", "--range", "workload.reuse.beta=2:3", "--no-report", "-f", "json"
    )
    assert both.data["bars"] == []
    assert len(both.data["skipped"]) == 2


@pytest.mark.parametrize(
    "text",
    ["timing.prefill=2:1", "timing.prefill=-1:2", "timing.decode=nan:2", "reuse.hits=0:1", "slo.ttft_ms=1,2", "slo.x=1",
     "slo.ttft_ms=1:inf", "engine.correction=none", "=", "slo.ttft_ms"],
)  # fmt: skip
def test_ranges_that_are_none(text, invoke, path):
    done = invoke("sensitivity", path("chat"), "--range", text)
    assert done.code == 2
    assert "--set" not in done.err


def test_a_tier_that_a_node_cannot_hold(invoke, path):
    done = invoke("sensitivity", path("chat"), "--only", "--range", "tiers[0].max_gb_per_node=0:10", "--no-report")
    assert done.code == 0
    assert "dram_fits_nodes: needs" in " ".join(done.out.split())


def test_a_stop_leaves_out_what_was_not_finished(scenario):
    told: list[str] = []
    found = sensitivity(scenario("chat"), progress=told.append, stop=lambda: len(told) > 3)
    assert len(found.bars) + len(found.unfinished) == len(knobs_of(System(scenario("chat"))))
    assert 1 <= len(found.bars) <= 3
    with pytest.raises(StoppedError):
        sensitivity(scenario("chat"), stop=lambda: True)
    assert "stopped before: " in to_table(found)


def test_nothing_at_all_changes(invoke, path):
    text = invoke("sensitivity", path("chat"), "--only", "--range", "tiers[nvme].usd_per_gb_hour=x2", "--no-report").out
    assert "No input changes anything within its range." in text
    assert "only its price" not in text


def test_whole_inputs_are_whole_and_keys_stay_whole(invoke, path):
    text = invoke("sensitivity", path("chat"), "--range", "deployment.max_gpus=70:80", "--no-report").out
    assert "70 … 80 GPUs" in text
    assert "tiers[dram].usd_per_gb_hour  0.0" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    half = invoke("sensitivity", path("chat"), "--only", "--range", "deployment.max_gpus=70.4:80", "-f", "json")
    assert half.data["bars"][0]["low"]["value"] == 70


def test_only_without_a_range_is_a_mistake(invoke, path):
    done = invoke("sensitivity", path("chat"), "--only", "--no-report")
    assert done.code == 2
    assert "--range" in done.err
