"""Published results: no ceiling is exceeded, the closest setups are met, and the peer's rules are what they say."""

from __future__ import annotations

import pytest

from planner.fidelity.instance import instance
from planner.fidelity.peer import TPOT_S, TTFT_S, Compared, Peer, _colocated, _configs, _decode_rate, to_data, to_text
from planner.fidelity.published import Result, Setup, most_output_per_gpu, results
from planner.fidelity.published_text import to_data as published_data
from planner.fidelity.published_text import to_text as published_text
from planner.fidelity.rows import FAMILIES, Split


@pytest.fixture(scope="module")
def found() -> list[Result]:
    return results()


def test_every_ceiling_is_held_against_every_engine(found: list[Result]) -> None:
    ceilings = [r for r in found if r.ceiling]
    figures = {r.what.rsplit(";", 1)[0] for r in ceilings}
    assert len(figures) == 14  # MLPerf: 8 on SXM (server and interactive among them), 6 on NVL
    pairs = {(r.what.rsplit(";", 1)[0], r.what.rsplit("; ", 1)[1].split()[0]) for r in ceilings}
    assert pairs == {(figure, engine) for figure in figures for engine in FAMILIES}


def test_a_ceiling_that_is_exceeded_is_told_as_a_fault(found: list[Result]) -> None:
    text = published_text(found)
    exceeding = [r for r in found if r.ceiling and r.ours is not None and r.ours > r.published]
    assert text.count("EXCEEDS +") == len(exceeding)
    assert all(r.why.startswith("EXCEEDS: ") and len(r.why) > 40 for r in exceeding)
    assert not any("EXCEEDS" in r.why for r in found if r not in exceeding)
    assert [r["setup"] for r in published_data(found)["published"] if r["exceeds"]] == [r.what for r in exceeding]


def test_ceilings_of_models_measured_with_fair_prompts_hold(found: list[Result]) -> None:
    """Where the engine was measured with the model itself, and the entry is a closed-division one."""
    held = [r for r in found if r.ceiling and r.id == "V10" and "Llama 70B" in r.what and "sglang" not in r.what]
    assert len(held) == 6
    assert [r.what for r in held if r.exceeds] == []


def test_the_nvl_is_predicted_on_its_own_peaks(found: list[Result]) -> None:
    nvl = {r.what.split("; ")[1]: r.ours for r in found if "8 H200 NVL, offline" in r.what}
    sxm = {r.what.split("; ")[1]: r.ours for r in found if r.what.startswith("Llama 70B class, offline")}
    for split, ours in nvl.items():
        assert ours is not None
        if sxm.get(split):
            assert ours < 0.95 * sxm[split]


def test_what_cannot_be_predicted_says_why(found: list[Result]) -> None:
    silent = [r for r in found if r.ours is None]
    assert {r.id for r in silent} == {"V4", "V5", "V10"}
    assert all(r.why.startswith("not predicted: ") for r in silent)
    assert any("405B" in r.what for r in silent)


def test_dollars(found: list[Result]) -> None:
    day = next(r for r in found if r.unit == "$/day")
    assert day.ours == pytest.approx(87_072)
    usd = {r.what.split(" tok/s")[0]: r.ours for r in found if r.unit == "$/Mtok"}
    rate = {r.what.split(" tok/s")[0]: r.ours for r in found if r.id == "V8" and r.unit == "tok/s/GPU"}
    assert len(usd) == 5
    assert all(usd[k] == pytest.approx(1.41 / 3600 / rate[k] * 1e6) for k in rate)  # type: ignore[operator]


def test_uncorrected_table_meets_gpt_oss_at_many_requests(found: list[Result]) -> None:
    """What the explanation of V7 rests on: the table alone is right, the correction comes from few in flight."""
    rows = [r for r in found if r.id == "V7" and "gpt-oss-120b" in r.what]
    assert len(rows) == 4
    assert all(r.plain is not None and abs(r.plain / r.published - 1) < 0.05 for r in rows)
    assert "tuned" not in rows[0].why


def test_windowed_layers_that_keep_everything_take_their_share() -> None:
    short = Setup("trtllm", "gpt-oss-120b", Split(1), 1000, 1000)
    whole = Setup("trtllm", "gpt-oss-120b", Split(1), 1000, 1000, whole_kv=True)
    assert whole.slots == pytest.approx(short.slots / 2)
    assert most_output_per_gpu(whole) < most_output_per_gpu(short)
    assert most_output_per_gpu(whole, 20.0) < most_output_per_gpu(whole)


def test_ranks_of_data_parallel_attention_hold_their_own_weights() -> None:
    tensor, data = (instance("sglang", "deepseek-v3", s) for s in (Split(8, 1, 1, 8), Split(1, 8, 1, 8)))
    copies = 8  # of MLA's KV, one on each rank of tensor parallelism
    assert data.kv_tokens < 0.8 * copies * tensor.kv_tokens


def test_the_curve_of_kimi_has_its_shape(found: list[Result]) -> None:
    curve = [r for r in found if r.id == "V8" and r.unit == "tok/s/GPU"]
    assert [r.ours for r in curve] == sorted(r.ours or 0.0 for r in curve)
    assert all(abs(r.deviation) <= 0.30 for r in curve)


def test_tensorrt_llm_throughput_is_met_within_half(found: list[Result]) -> None:
    own = [r for r in found if r.id == "V7" and "maverick" not in r.what]  # of Maverick nothing was measured
    assert len(own) == 19
    assert all(abs(r.deviation) <= 0.5 for r in own)


def test_every_result_is_printed_with_its_source(found: list[Result]) -> None:
    text = published_text(found)
    assert max(map(len, text.splitlines())) <= 100
    assert {r.id for r in found} >= {"V1", "V2", "V3", "V5", "V7", "V8", "V9", "V10", "V11"}
    assert len(published_data(found)["published"]) == len(found)
    assert all(r.source and r.why for r in found)
    assert all(f"({r.source})" in " ".join(text.split()) for r in found)


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
    assert "79-235 s and 410-510 MB" in " ".join(text.split())
    assert "DeepEP" in text
    assert to_data(Peer((row,), 12.3, 90.0))["peer"][0]["theirs"] == 605
