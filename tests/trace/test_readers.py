import gzip
import json
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.trace.curve import hit_curve
from planner.trace.load import load_trace
from planner.trace.records import ProblemLog, ReadOptions
from planner.trace.trace import Trace

from .reference import chat, read, simulated_hits, write

ROWS = chat(120, seed=2)
AT = [3, 20, 60, 150, 400]
EXPECTED = [simulated_hits(ROWS, c, 16) for c in AT]


def hits(trace: Trace) -> list[int]:
    return hit_curve(trace).tokens_at(AT).tolist()


def as_csv(path: Path, separator: str = " ") -> Path:
    lines = ["timestamp,input_length,output_length,hash_ids"]
    for row in ROWS:
        ids = separator.join(map(str, row["hash_ids"]))
        cell = f'"[{ids}]"' if separator == ", " else ids
        lines.append(f"{row['timestamp']},{row['input_length']},{row['output_length']},{cell}")
    path.write_text("\n".join(lines))
    return path


def test_json_lines_gzip_and_zstd(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl", ROWS)
    assert hits(read(plain)) == EXPECTED
    zipped = tmp_path / "a.jsonl.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert hits(read(zipped)) == EXPECTED
    zstandard = pytest.importorskip("zstandard")
    halves = plain.read_bytes()[:5000], plain.read_bytes()[5000:]
    (tmp_path / "b").write_bytes(b"".join(zstandard.compress(half) for half in halves))
    assert hits(read(tmp_path / "b")) == EXPECTED


@pytest.mark.parametrize("separator", [" ", ";", ", "])
def test_csv(tmp_path: Path, separator: str) -> None:
    assert hits(read(as_csv(tmp_path / "a.csv", separator))) == EXPECTED


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    assert hits(read(tmp_path / "a.parquet")) == EXPECTED
    text = [{**row, "hash_ids": [f"{block:x}" for block in row["hash_ids"]]} for row in ROWS]
    parquet.write_table(arrow.Table.from_pylist(text), tmp_path / "b.parquet")
    assert hits(read(tmp_path / "b.parquet")) == EXPECTED


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    odd, even = write(tmp_path / "odd.jsonl", ROWS[1::2]), write(tmp_path / "even.jsonl", ROWS[::2])
    options = ReadOptions(16)
    assert hits(load_trace([odd, even], options)) == hits(load_trace([even, odd], options)) == EXPECTED


def test_ties_between_files_go_by_name_not_by_the_order_given(tmp_path: Path) -> None:
    tied = [{**row, "timestamp": row["timestamp"] // 20_000} for row in ROWS]
    first, second = write(tmp_path / "a.jsonl", tied[1::2]), write(tmp_path / "b.jsonl", tied[::2])
    a, b = (load_trace(paths, ReadOptions(16)) for paths in ([first, second], [second, first]))
    assert a.leaf.tolist() == b.leaf.tolist()
    assert a.input_tokens.tolist() == b.input_tokens.tolist()
    assert hits(a) == hits(b)


def test_token_ids_and_text_give_the_curve_of_their_blocks(tmp_path: Path) -> None:
    prompts = [[1] * 40, [1] * 40 + [2] * 40, [3] * 20, [1] * 40 + [2] * 40 + [4]]
    rows = [{"timestamp": i, "output_tokens": 1, "prompt_token_ids": prompt} for i, prompt in enumerate(prompts)]
    trace = read(write(tmp_path / "tokens.jsonl", rows))
    assert trace.total_input_tokens == 40 + 80 + 20 + 81
    assert hit_curve(trace).unlimited_tokens == 32 + 80, "40 tokens are two whole blocks; 80 are five"
    chars = [{"timestamp": i, "prompt": "ab"[i % 2] * 640} for i in range(4)]
    problems = ProblemLog()
    text = load_trace([write(tmp_path / "text.jsonl", chars)], ReadOptions(16), problems=problems)
    assert hit_curve(text).ceiling == 0.5
    assert any("characters a token" in note for note in problems.notes)
    talk = [{"timestamp": 0, "messages": [{"role": "user", "content": "x" * 900}]}] * 2
    assert hit_curve(read(write(tmp_path / "talk.jsonl", talk))).ceiling == 0.5


def test_iso_timestamps_and_units(tmp_path: Path) -> None:
    stamps = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:02.5+00:00"]
    rows = [{"timestamp": s, "input_length": 16, "output_length": 1, "hash_ids": [1]} for s in stamps]
    assert read(write(tmp_path / "iso.jsonl", rows)).span_s == 2.5
    rows = [{**row, "timestamp": i} for i, row in enumerate(rows)]
    assert read(write(tmp_path / "s.jsonl", rows), ms_per_tick=1000.0).span_s == 1.0


GOOD = {"timestamp": 5, "input_length": 32, "output_length": 1, "hash_ids": [1, 2]}
BAD = [
    ('{"timestamp": 6, "input_length"', "not JSON"),
    ("[1, 2]", "must be an object"),
    (json.dumps({**GOOD, "timestamp": 4}), "clock goes backwards"),
    (json.dumps({**GOOD, "timestamp": None}), "timestamp must be a number"),
    (json.dumps({**GOOD, "hash_ids": [1, 2**64]}), "beyond 64 bit"),
    (json.dumps({**GOOD, "hash_ids": [-1]}), "negative"),
    (json.dumps({**GOOD, "hash_ids": [1.5]}), "not a whole number"),
    (json.dumps({**GOOD, "hash_ids": 7}), "must be a list"),
    (json.dumps({**GOOD, "input_length": -1}), "whole number of tokens"),
    (json.dumps({"timestamp": 6}), "does not tell its prompt"),
    (json.dumps({"hash_ids": [1], "input_length": 16}), "no timestamp"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_malformed_rows_are_shown_with_their_line_and_skipped_on_demand(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n")
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert ":2:" in str(caught.value)
    assert "1 malformed row" in str(caught.value)
    problems = ProblemLog(skip_bad=True)
    trace = load_trace([path], ReadOptions(16, skip_bad=True), problems=problems)
    assert (len(trace), problems.count) == (2, 1)


def test_only_the_first_few_malformed_rows_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("x\n" * 1000)
    with pytest.raises(InputError, match="1,000 malformed rows; 995 more are not shown") as caught:
        read(path)
    assert len(caught.value.diagnostics) == 6


def test_sorting_on_demand(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [*ROWS[60:], *ROWS[:60]])
    with pytest.raises(InputError, match="backwards"):
        read(path)
    assert hits(read(path, sort_rows=True)) == EXPECTED


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    data = gzip.compress(write(tmp_path / "a.jsonl", ROWS).read_bytes())
    cases = {
        "empty.jsonl": (b"", "empty"),
        "blank.jsonl": (b"\n\n", "no request"),
        "cut.jsonl.gz": (data[:-40], "truncated"),
        "damaged.jsonl.gz": (data[:200] + b"\0" * 50 + data[250:], "damaged"),
        "PAR1.parquet": (b"PAR1 and no more", "Parquet"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path / "missing.jsonl")


def test_truncated_zstd(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = zstandard.compress(write(tmp_path / "a.jsonl", ROWS).read_bytes())
    (tmp_path / "a.zst").write_bytes(data[:-20])
    with pytest.raises(InputError, match="truncated"):
        read(tmp_path / "a.zst")


def test_a_wrong_block_size_is_noticed(tmp_path: Path) -> None:
    problems = ProblemLog()
    load_trace([write(tmp_path / "a.jsonl", ROWS)], ReadOptions(512), problems=problems)
    assert any("--block-size" in note for note in problems.notes)
