"""Trace files to batches: JSON lines (Mooncake's columns or a plain request log), CSV and Parquet.

Every reader streams: no more than a piece of the file is in memory at a time.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from planner.trace import records as rec
from planner.trace.records import Batch, ProblemLog, ReadOptions, trace_error
from planner.trace.rows import RowAssembler, Rows
from planner.trace.streams import PARQUET_MAGIC, line_blocks, magic, optional_module

CSV_ROWS = 20_000


def batches(path: Path, options: ReadOptions, problems: ProblemLog) -> Iterator[Batch]:
    """All requests of one file; malformed rows go to ``problems``."""
    assembler = RowAssembler(str(path), options, problems)
    if magic(path) == PARQUET_MAGIC:
        found: Iterator[Batch | None] = _parquet(path, assembler)
    elif ".csv" in path.suffixes:
        found = _csv(path, assembler)
    else:
        found = _json_lines(path, assembler)
    empty = True
    for batch in found:
        if batch is not None and len(batch):
            empty = False
            yield batch
    if empty and not problems.count:
        raise trace_error("empty-trace", str(path), "the file has no request")


def _json_loads() -> Callable[[bytes], Any]:
    """The quickest JSON parser at hand."""
    try:
        import orjson
    except ImportError:
        return json.loads
    return orjson.loads


def _json_lines(path: Path, assembler: RowAssembler) -> Iterator[Batch | None]:
    loads = _json_loads()
    for first, lines in line_blocks(path):
        batch = None
        try:
            batch = assembler.quick([loads(line) for line in lines if line.strip()])
        except (ValueError, AttributeError, TypeError):
            batch = None
        yield batch or assembler.slow(_json_rows(first, lines, assembler))


def _json_rows(first: int, lines: list[bytes], assembler: RowAssembler) -> Rows:
    """Lines one by one; those that are not JSON are logged."""
    rows: Rows = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        text = line.decode("utf-8", "replace")
        try:
            rows.append((number, json.loads(line), text))
        except (ValueError, RecursionError) as error:
            assembler.problems.add(assembler.file, number, f"not JSON: {error}", text)
    return rows


def _csv(path: Path, assembler: RowAssembler) -> Iterator[Batch | None]:
    """CSV with a header; ``hash_ids`` is a list as in JSON, or numbers parted by spaces or semicolons."""
    csv.field_size_limit(1 << 30)
    reader = csv.DictReader(_text_lines(path))
    reader_rows = enumerate(_rows(reader, path), 2)
    while chunk := list(islice(reader_rows, CSV_ROWS)):
        yield assembler.slow([(number, _cells(row), json.dumps(row)) for number, row in chunk])


def _rows(reader: csv.DictReader[str], path: Path) -> Iterator[dict[str, Any]]:
    """The reader's rows; what the csv module rejects is a file error."""
    try:
        yield from reader
    except csv.Error as error:
        raise trace_error("damaged-file", str(path), f"not CSV: {error}", line=reader.line_num) from error


def _text_lines(path: Path) -> Iterator[str]:
    for _, lines in line_blocks(path):
        for line in lines:
            yield line.decode("utf-8-sig", "replace") + "\n"


def _cells(row: dict[Any, Any]) -> dict[str, Any]:
    """A CSV row with its list cells as lists and its empty cells left out."""
    cells = {key: value for key, value in row.items() if isinstance(key, str) and value not in ("", None)}
    for key in (*rec.HASH_KEYS, *rec.TOKEN_KEYS):
        if isinstance(cells.get(key), str):
            cells[key] = _listed(cells[key])
    return cells


def _listed(cell: str) -> list[Any] | str:
    try:
        value = json.loads(cell) if cell.lstrip().startswith("[") else cell.replace(";", " ").split()
    except ValueError:
        return cell
    if not isinstance(value, list):
        return cell
    return [int(item) if isinstance(item, str) and item.isdecimal() else item for item in value]


def _parquet(path: Path, assembler: RowAssembler) -> Iterator[Batch | None]:
    """Parquet with the same columns; lists of whole numbers go to arrays without passing through Python objects."""
    parquet = optional_module("pyarrow.parquet", path, "Parquet files")
    arrow = optional_module("pyarrow", path, "Parquet files")
    try:
        file = parquet.ParquetFile(path)
        first = 1
        for table in file.iter_batches(batch_size=CSV_ROWS):
            batch = _arrow_batch(table, assembler)
            if batch is None:
                batch = assembler.slow([(first + i, row, "") for i, row in enumerate(table.to_pylist())])
            first += table.num_rows
            yield batch
    except (OSError, arrow.ArrowException) as error:
        raise trace_error("damaged-file", str(path), f"not a sound Parquet file: {error}") from error


def _arrow_batch(table: Any, assembler: RowAssembler) -> Batch | None:
    """Columns of an Arrow batch, or None where types or values need a closer look."""
    columns = dict(zip(table.schema.names, table.columns, strict=True))
    names = [_first(columns, keys) for keys in (rec.TIMESTAMP_KEYS, rec.INPUT_KEYS, rec.OUTPUT_KEYS, rec.HASH_KEYS)]
    if None in names or any(columns[name].null_count for name in names if name):
        return None
    stamps, prompts, outputs, hashes = (columns[name] for name in names if name)
    if not hasattr(hashes, "value_lengths"):
        return None
    lengths = hashes.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    values = hashes.flatten()
    numbers = [column.to_numpy(zero_copy_only=False) for column in (stamps, prompts, outputs)]
    if values.null_count or any(n.dtype.kind not in kinds for n, kinds in zip(numbers, ("iuf", "i", "i"), strict=True)):
        return None
    ids = values.to_numpy(zero_copy_only=False)
    if ids.dtype.kind not in "iu" or (ids.dtype.kind == "i" and len(ids) and ids.min() < 0):
        return None
    session = np.full(len(lengths), rec.NO_SESSION, np.int64)
    if "session_id" in columns and not columns["session_id"].null_count:
        given = columns["session_id"].to_numpy(zero_copy_only=False)
        if given.dtype.kind != "i":
            return None
        session = given.astype(np.int64)
    stamps_ms = numbers[0] * assembler.options.ms_per_tick
    return assembler.checked(stamps_ms, numbers[1], numbers[2], session, lengths, ids.astype(np.uint64).view(np.int64))


def _first(columns: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in columns), None)
