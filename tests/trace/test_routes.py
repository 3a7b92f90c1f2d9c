"""Compiled and plain routes, dense and hashed ids: the same numbers."""

import numpy as np
import pytest

from planner.trace import compiled, intern
from planner.trace.curve import hit_curve
from planner.trace.intern import DenseIndex, DictIndex, HashIndex, Interner, expand
from planner.trace.stack import reuse_runs

from .reference import chat, simulated_hits, trace_of

ROWS = chat(300, seed=11)
AT = range(1, 900, 41)


def scrambled(rows: list) -> list:
    """The same trace with ids all over the 64-bit range."""
    return [
        {**row, "hash_ids": [(block + 1) * 0x9E3779B97F4A7C15 % 2**64 for block in row["hash_ids"]]} for row in rows
    ]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "available", lambda: False)
    monkeypatch.setattr(intern, "available", lambda: False)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled, "WORTH_COMPILING", 0)


def broken(rows: list) -> list:
    """One request that gives a known id another parent."""
    return [*rows, {**rows[5], "hash_ids": rows[5]["hash_ids"][::-1]}]


@pytest.mark.parametrize("change", [list, scrambled, broken])
def test_plain_route(plain: None, change) -> None:
    rows = change(ROWS)
    assert hit_curve(trace_of(rows)).tokens_at(AT).tolist() == [simulated_hits(rows, c, 16) for c in AT]


@pytest.mark.parametrize("change", [list, scrambled, broken])
def test_compiled_route(eager: None, change) -> None:
    rows = change(ROWS)
    assert hit_curve(trace_of(rows)).tokens_at(AT).tolist() == [simulated_hits(rows, c, 16) for c in AT]


def test_compiled_route_in_small_buffers(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = reuse_runs(trace_of(ROWS))
    monkeypatch.setattr("planner.trace.stack.BUFFER_RUNS", 8)
    parts = reuse_runs(trace_of(ROWS))
    assert parts.first.tolist() == whole.first.tolist()
    assert parts.owner.tolist() == whole.owner.tolist()


def indexes() -> list:
    found = [DenseIndex(), DictIndex()]
    return [*found, HashIndex()] if compiled.available() else found


def test_every_index_numbers_in_order_of_appearance() -> None:
    rng = np.random.default_rng(1)
    batches = [rng.integers(0, 30_000, 5000) for _ in range(6)]
    expected: dict[int, int] = {}
    for batch in batches:
        for key in batch.tolist():
            expected.setdefault(key, len(expected))
    for index in indexes():
        count = 0
        for batch in batches:
            nodes, fresh = index.nodes(batch, count)
            assert nodes.tolist() == [expected[key] for key in batch.tolist()]
            assert nodes[fresh].tolist() == list(range(count, count + len(fresh)))
            count += len(fresh)


def test_dense_ids_that_turn_large_move_to_a_hash_table() -> None:
    interner = Interner()
    interner.add(np.array([3, 1, 2]), np.array([3]))
    interner.add(np.array([3, 1, 2**62]), np.array([3]))
    assert not isinstance(interner.index, DenseIndex)
    assert interner.parents().tolist() == [-1, 0, 1, 1]


def test_expansion_undoes_the_compression() -> None:
    interner = Interner()
    ids = np.array([5, 6, 7, 5, 6, 8, 9, 4])
    blocks = np.array([3, 4, 0, 1])
    interner.add(ids, blocks)
    flat = expand(interner.parents(), interner.last[0], interner.blocks[0])
    assert flat.tolist() == [0, 1, 2, 0, 1, 3, 4, 5]
