import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.trace.curve import concavity_gaps, hit_curve
from planner.trace.load import load_trace
from planner.trace.records import ReadOptions
from planner.trace.stack import reuse_runs
from planner.trace.trace import Trace

from .reference import Row, chat, simulated_hits, trace_of

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "traces"


def split_hits(trace: Trace, servers: int, capacities: list[int]) -> tuple[list[int], int]:
    curves = [hit_curve(trace.pick(np.arange(s, len(trace), servers))) for s in range(servers)]
    hits = sum(curve.tokens_at([c // servers for c in capacities]) for curve in curves)
    return list(np.asarray(hits).tolist()), sum(curve.unlimited_tokens for curve in curves)


def check_golden(folder: Path) -> None:
    for name, golden in json.loads((folder / "golden.json").read_text()).items():
        trace = load_trace([folder / name], ReadOptions(golden["block_size"]))
        capacities = [point["capacity_blocks"] for point in golden["lru"]]
        curve = hit_curve(trace)
        assert trace.references == golden["block_refs"]
        assert trace.unique_blocks == golden["unique_blocks"]
        assert curve.input_tokens == golden["input_tokens"]
        assert curve.unlimited_tokens == golden["hit_tokens_unlimited"]
        assert curve.tokens_at(capacities).tolist() == [point["hit_tokens"] for point in golden["lru"]]
        for servers, split in golden["round_robin"].items():
            hits, unlimited = split_hits(trace, int(servers), capacities)
            assert hits == [point["hit_tokens"] for point in split["lru"]]
            assert unlimited == split["hit_tokens_unlimited"]
        wrong = golden["naive_root_first_hit_tokens"]
        assert wrong != curve.tokens_at(capacities).tolist(), "this trace does not tell the orders apart"


def test_golden_hits_of_the_committed_trace() -> None:
    check_golden(DATA)


@pytest.mark.skipif(not SHARED.exists(), reason="the real traces are not beside this clone")
def test_golden_hits_of_real_traces() -> None:
    check_golden(SHARED)


def test_root_first_order_is_told_apart() -> None:
    rows = chat(200, seed=3)
    at = range(1, 200, 7)
    right = [simulated_hits(rows, c, 16) for c in at]
    wrong = [simulated_hits(rows, c, 16, root_first=True) for c in at]
    assert hit_curve(trace_of(rows)).tokens_at(at).tolist() == right
    assert right != wrong


@st.composite
def prefix_rows(draw: st.DrawFn) -> list[Row]:
    """Paths in a random tree, so ids are chained; some empty, some with short or overlong prompts."""
    parents: list[int] = draw(st.lists(st.integers(-1, 30), min_size=1, max_size=40))
    parents = [min(p, i - 1) for i, p in enumerate(parents)]
    ends = draw(st.lists(st.integers(-1, len(parents) - 1), min_size=1, max_size=40))
    rows = []
    for end in ends:
        ids = []
        while end >= 0:
            ids.append(end * 3 + 1)
            end = parents[end]
        tokens = max(0, 16 * len(ids) - draw(st.integers(-20, 40)))
        rows.append({"timestamp": len(rows), "input_length": tokens, "output_length": 1, "hash_ids": ids[::-1]})
    return rows


@st.composite
def loose_rows(draw: st.DrawFn) -> list[Row]:
    """Any ids in any order, also twice in one request: not prefix hashes."""
    lists = draw(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=25))
    return [
        {"timestamp": i, "input_length": 16 * len(x), "output_length": 1, "hash_ids": x} for i, x in enumerate(lists)
    ]


@settings(max_examples=150, deadline=None)
@given(st.one_of(prefix_rows(), loose_rows()), st.integers(1, 9))
def test_one_pass_equals_a_simulation_of_every_capacity(rows: list[Row], batch: int) -> None:
    curve = hit_curve(trace_of(rows, batch=batch))
    unique = len({block for row in rows for block in row["hash_ids"]})
    assert curve.tokens_at(range(unique + 2)).tolist() == [simulated_hits(rows, c, 16) for c in range(unique + 2)]


@settings(max_examples=60, deadline=None)
@given(prefix_rows(), st.integers(2, 4))
def test_invariants(rows: list[Row], servers: int) -> None:
    trace = trace_of(rows)
    curve = hit_curve(trace)
    everything = curve.tokens_at(range(trace.unique_blocks + 2))
    assert (np.diff(everything) >= 0).all(), "more capacity never hits less"
    assert everything[trace.unique_blocks] == curve.unlimited_tokens
    capacities = [servers * c for c in range(1, 8)]
    assert split_hits(trace, servers, capacities)[1] <= curve.unlimited_tokens, "splitting never helps"


@settings(max_examples=60, deadline=None)
@given(prefix_rows())
def test_a_child_is_never_resident_without_its_parent(rows: list[Row]) -> None:
    runs = reuse_runs(trace_of(rows))
    for request in set(runs.request.tolist()):
        mine = runs.request == request
        first, blocks = runs.first[mine], runs.blocks[mine]
        assert (first[1:] >= first[:-1] + blocks[:-1]).all(), "distances grow along a prefix"


def test_a_request_longer_than_the_cache_keeps_its_first_blocks() -> None:
    row = {"timestamp": 0, "input_length": 80, "output_length": 1, "hash_ids": [1, 2, 3, 4, 5]}
    assert hit_curve(trace_of([row, row])).tokens_at(range(7)).tolist() == [0, 16, 32, 48, 64, 80, 80]


def test_partial_last_block_counts_its_own_tokens() -> None:
    row = {"timestamp": 0, "input_length": 35, "output_length": 1, "hash_ids": [1, 2, 3]}
    curve = hit_curve(trace_of([row, row]))
    assert curve.tokens_at([2, 3]).tolist() == [32, 35]
    assert curve.ceiling == 0.5


def test_counted_windows_add_up() -> None:
    trace = trace_of(chat(150, seed=9))
    runs = reuse_runs(trace)
    at = range(0, 400, 13)
    parts = [hit_curve(trace, runs, slice(a, b)).tokens_at(at) for a, b in ((0, 40), (40, 90), (90, 150))]
    assert sum(parts).tolist() == hit_curve(trace, runs).tokens_at(at).tolist()


def test_concavity_gap_of_a_hand_made_curve() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.6, 0.6])
    assert concavity_gaps(x, y) == [(0.0, 2.0, pytest.approx(0.2))]
    assert concavity_gaps(x, np.array([0.3, 0.5, 0.6])) == []
