"""Moving an engine's times starts from today's: a factor of 1 changes nothing, and only passes and steps are scaled."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cells import SolveSettings
from planner.evaluate import evaluate
from planner.physics.correction import first_token_s
from planner.physics.system import System
from planner.scenario import load
from planner.study.knobs import knobs_of
from planner.study.points import cheapest

SHIPPED = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


def moved(system, name, factor):
    return next(k for k in knobs_of(system) if k.name == name).move(system, factor)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda p: p.stem)
def test_a_factor_of_one_is_today(file):
    system = System(load(file))
    settings = SolveSettings(system.scenario.solve.gap)
    best = cheapest(system, settings).plan
    assert best is not None
    for name in ("timing.prefill", "timing.decode"):
        there = moved(system, name, 1.0)
        assert evaluate(there, best.decision) == evaluate(system, best.decision)  # times, errors and all
        assert [c.timing.notes for c in there.configs] == [c.timing.notes for c in system.configs]
        found = cheapest(there, settings).plan
        assert found.usd_per_hour == pytest.approx(best.usd_per_hour, rel=2 * system.scenario.solve.gap)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda p: p.stem)
def test_passes_and_steps_are_scaled_and_the_front_end_is_not(file):
    system = System(load(file))
    slow, long = moved(system, "timing.prefill", 2.0), moved(system, "timing.decode", 2.0)
    for now, pre, dec in zip(system.configs, slow.configs, long.configs, strict=True):
        for new, prefix in ((700, 0), (4000, 3000)):
            assert pre.timing.prefill_s(new, prefix) == pytest.approx(2 * now.timing.prefill_s(new, prefix))
            assert dec.timing.prefill_s(new, prefix) == pytest.approx(now.timing.prefill_s(new, prefix))
        for batch, context in ((8, 2000), (64, 9000)):
            assert dec.timing.decode_s(batch, context) == pytest.approx(2 * now.timing.decode_s(batch, context))
            assert pre.timing.decode_s(batch, context) == pytest.approx(now.timing.decode_s(batch, context))
        for apart in (True, False):
            today = first_token_s(now.timing, 5000, apart)
            assert first_token_s(pre.timing, 5000, apart) == first_token_s(dec.timing, 5000, apart) == today
