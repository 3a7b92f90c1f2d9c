"""Changing values of a loaded scenario."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InputError
from planner.scenario import loads, replace
from tests.scenario.bad_scenarios import BASE

SCENARIO = loads(BASE)
POSITIVE = st.floats(1e-6, 1e5)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "slo.ttft_ms": POSITIVE,
        "slo.tpot_ms": POSITIVE,
        "workload.requests_per_second": POSITIVE,
        "workload.classes[0].output_tokens": st.integers(1, 10_000),
        "workload.reuse.ceiling": st.floats(0.36, 1.0),
        "engine.max_utilization": st.floats(0.01, 1.0),
        "engine.batches": st.lists(st.integers(1, 1000), min_size=1, max_size=8, unique=True).map(sorted),
        "deployment.transfer.latency_ms": st.floats(0, 1e4),
        "deployment.max_gpus": st.integers(1, 10_000),
        "tiers[0].usd_per_gb_hour": st.floats(0, 10),
        "tiers[1].roles": st.sampled_from([(), ("sync",), ("prefetch",), ("sync", "prefetch")]),
        "prices.gpu_usd_per_hour": POSITIVE,
        "read_utilization": st.floats(0.01, 1.0),
    },
)


def text_of(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.17e}".replace("e", ".0e", 1) if "." not in f"{value:.17e}" else f"{value:.17e}"
    return str(list(value)).replace("'", "") if isinstance(value, list | tuple) else str(value)


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_a_replaced_scenario_is_the_scenario_of_the_edited_file(changes: dict[str, object]) -> None:
    changed = replace(SCENARIO, changes)
    edits = {
        "slo.ttft_ms": "ttft_ms: 1500",
        "slo.tpot_ms": "tpot_ms: 60",
        "workload.requests_per_second": "\n  requests_per_second: 40",
        "workload.classes[0].output_tokens": "output_tokens: 350",
        "workload.reuse.ceiling": "ceiling: 0.80",
        "engine.batches": "batches: [1, 2, 4, 8]",
        "deployment.transfer.latency_ms": "latency_ms: 2",
        "deployment.max_gpus": "max_gpus: 512",
        "tiers[0].usd_per_gb_hour": "usd_per_gb_hour: 5.2e-4",
        "prices.gpu_usd_per_hour": "gpu_usd_per_hour: 2.80",
        "read_utilization": "read_utilization: 0.8",
    }
    text = BASE.replace("ceiling: 0.80", "ceiling: 0.80\n    at_requests_per_second: 40")
    for path, value in changes.items():
        old = edits.get(path)
        if old is None:
            after = {"engine.max_utilization": "  batches:", "tiers[1].roles": "    gb_per_s_per_gpu: 24"}[path]
            new = f"{after.split(after.lstrip())[0]}{path.rsplit('.', 1)[1]}: {text_of(value)}\n{after}"
            text = text.replace(after, new)
        else:
            text = text.replace(old, f"{old.split(':')[0]}: {text_of(value)}")
    assert loads(text) == changed


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_only_what_was_named_changes_and_untouched_sections_are_kept(changes: dict[str, object]) -> None:
    before = SCENARIO.model_dump()
    changed = replace(SCENARIO, changes)
    assert SCENARIO.model_dump() == before
    touched = {path.split(".")[0].split("[")[0] for path in changes}
    for key in type(SCENARIO).model_fields:
        if key not in touched:
            assert getattr(changed, key) is getattr(SCENARIO, key)
    back = {path: _value(before, path) for path in changes}
    assert replace(changed, back) == SCENARIO


def _value(tree: object, path: str) -> object:
    for part in path.replace("[", ".").replace("]", "").split("."):
        tree = tree[int(part)] if part.isdigit() else tree[part]  # type: ignore[index]
    return tree


def test_the_curve_stays_at_the_load_at_which_it_was_observed() -> None:
    changed = replace(SCENARIO, {"workload.requests_per_second": 80})
    assert changed.workload.requests_per_second == 80
    assert changed.workload.reuse.at_requests_per_second == 40


def test_places_and_hash_of_the_file_are_kept() -> None:
    changed = replace(SCENARIO, {"slo.ttft_ms": 900})
    assert changed.span("slo.ttft_ms") == SCENARIO.span("slo.ttft_ms")
    assert (changed.file, changed.sha256, changed.defaults) == (SCENARIO.file, SCENARIO.sha256, SCENARIO.defaults)


def test_whole_sections_and_lists() -> None:
    assert replace(SCENARIO, {"tiers": []}).tiers == ()
    assert replace(SCENARIO, {"tiers": SCENARIO.tiers[:1]}).tiers == SCENARIO.tiers[:1]
    law = {"law": "measured", "points_gb": [[100, 0.2], [200, 0.3]], "at_requests_per_second": 40}
    assert replace(SCENARIO, {"workload.reuse": law}).workload.reuse.points_gb == ((100, 0.2), (200, 0.3))
    assert replace(SCENARIO, {"deployment.architectures": ["colocated"]}).deployment.architectures == ("colocated",)
    assert replace(SCENARIO, {}) == SCENARIO


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("slo.ttft", 900, "unknown-key"),
        ("tiers[7].latency_ms", 1, "unknown-key"),
        ("tiers.latency_ms", 1, "unknown-key"),
        ("slo.ttft_ms.deep", 1, "unknown-key"),
        ("", 1, "unknown-key"),
        ("slo.ttft_ms", -1, "out-of-range"),
        ("slo.ttft_ms", "900", "wrong-type"),
        ("slo.ttft_ms", float("nan"), "out-of-range"),
        ("workload.classes[0].share", 0.5, "shares-sum"),
        ("workload.classes[0].reusable_tokens", 5000, "reusable-tokens"),
        ("workload.reuse.ceiling", 0.1, "ceiling"),
        ("tiers[0].latency_ms", 500, "tier-order"),
        ("deployment.billing", "nodes", "unknown-value"),
    ],
)
def test_a_wrong_change_is_refused(path: str, value: object, code: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(SCENARIO, {path: value})
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_replacing_is_fast_enough_for_thousands_of_solves() -> None:
    changes = {"slo.ttft_ms": 900.0, "tiers[0].usd_per_gb_hour": 1e-3, "workload.requests_per_second": 42.0}
    durations = []
    for _ in range(50):
        start = time.perf_counter()
        replace(SCENARIO, changes)
        durations.append(time.perf_counter() - start)
    assert min(durations) < 1e-3
