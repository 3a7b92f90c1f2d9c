"""Published results: no ceiling is exceeded, the closest setups are met, and the peer's rules are what they say."""

from __future__ import annotations

import pytest

from planner.fidelity.peer import TPOT_S, TTFT_S, Compared, Peer, _colocated, _configs, _decode_rate, to_data, to_text
from planner.fidelity.published import Result, results
from planner.fidelity.published import to_data as published_data
from planner.fidelity.published import to_text as published_text


@pytest.fixture(scope="module")
def found() -> list[Result]:
    return results()


def test_no_ceiling_is_exceeded(found: list[Result]) -> None:
    ceilings = [r for r in found if r.ceiling]
    assert len(ceilings) >= 4
    assert [r.what for r in ceilings if r.ours > r.published] == []


def test_the_curve_of_kimi_has_its_shape(found: list[Result]) -> None:
    curve = [r for r in found if r.id == "V8"]
    assert [r.ours for r in curve] == sorted(r.ours for r in curve)
    assert all(abs(r.deviation) <= 0.30 for r in curve)


def test_tensorrt_llm_throughput_is_met_within_half(found: list[Result]) -> None:
    assert all(abs(r.deviation) <= 0.5 for r in found if r.id == "V7")


def test_every_result_is_printed_with_its_source(found: list[Result]) -> None:
    text = published_text(found)
    assert max(map(len, text.splitlines())) <= 100
    assert {r.id for r in found} >= {"V1", "V2", "V3", "V5", "V7", "V8", "V9", "V10", "V11"}
    assert len(published_data(found)["published"]) == len(found)
    assert all(r.source and r.why for r in found)


def test_peer_rules() -> None:
    configs, slots = _configs("gpt-oss-120b")
    one = next(c for c in configs if c.gpus == 1)
    rate, name = _colocated(one, min(slots[one.name], 40))
    assert rate > 0
    assert name == one.name
    batch_rate = _decode_rate(one, slots[one.name])
    assert 0 < batch_rate < slots[one.name] / TPOT_S
    assert TTFT_S == 2.0


def test_peer_table_stays_on_the_page() -> None:
    row = Compared("qwen3-235b-a22b-fp8", "disaggregated", 605, 700.4, 600.1, "3 x tp1·dp2·etp2 + 2 x tp2·dp4·ep8")
    text = to_text(Peer((row,), 12.3, 90.0))
    assert max(map(len, text.splitlines())) <= 100
    assert "605" in text
    assert to_data(Peer((row,), 12.3, 90.0))["peer"][0]["theirs"] == 605
