"""What the enumeration leaves out: counts of instances that cannot reach their hits, designs dearer than a limit."""

from __future__ import annotations

from planner.derive import Stream, candidates
from planner.physics.system import System
from planner.scenario import replace
from tests.core.instances import small

ARCHITECTURES = ("colocated", "disaggregated")


def systems(seeds, factors=(1.0,)):
    for seed in seeds:
        scenario = small(seed)
        if scenario is not None:
            for factor in factors:
                yield System(replace(scenario, {"slo.ttft_ms": scenario.slo.ttft_ms * factor}))


def costs(found):
    return [d.usd_floor for d in found.designs]


def test_skipping_counts_loses_no_design(monkeypatch):
    tried = {"fast": 0, "slow": 0}
    extend, mode = Stream.extend, "fast"

    def counted(self, *arguments):
        tried[mode] += 1
        return extend(self, *arguments)

    monkeypatch.setattr(Stream, "extend", counted)
    for system in systems(range(60), (0.3, 0.6, 1.0)):
        for architecture in ARCHITECTURES:
            mode = "fast"
            fast = candidates(system, architecture, True, keep=3)
            with monkeypatch.context() as patch:
                patch.setattr(Stream, "first_reachable", lambda self, count: count)
                mode = "slow"
                slow = candidates(system, architecture, True, keep=3)
            assert fast.designs == slow.designs
    assert tried["fast"] < 0.8 * tried["slow"]


def test_nothing_dearer_than_the_limit():
    shorter = 0
    for system in systems(range(20)):
        for architecture in ARCHITECTURES:
            whole = costs(candidates(system, architecture, True))
            if whole:
                limit = whole[len(whole) // 2]
                below = costs(candidates(system, architecture, True, at_most=limit))
                assert below == [c for c in whole if c <= limit * (1 + 1e-9)]
                shorter += len(below) < len(whole)
    assert shorter
