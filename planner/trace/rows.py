"""Rows to columns: whole batches at once where every row is sound, row by row where one is not.

The quick way checks types and ranges on arrays; whatever it cannot vouch for goes through :meth:`RowAssembler._slow`,
which names the line, the column and the reason.
"""

from __future__ import annotations

import datetime
import math
from itertools import chain
from typing import Any

import numpy as np

from planner.trace import records as rec
from planner.trace.hashing import PromptHasher, text_id
from planner.trace.records import Batch, Ints, ProblemLog, ReadOptions, RowError

Rows = list[tuple[int, Any, str]]  # line number, the row, its source text
INT64_LIMIT = 2**63


class RowAssembler:
    """Turns the rows of one file into batches, and remembers the clock."""

    def __init__(self, file: str, options: ReadOptions, problems: ProblemLog) -> None:
        """Start at the beginning of a file."""
        self.file, self.options, self.problems = file, options, problems
        self.clock_ms = -math.inf
        self.hasher = PromptHasher(options)

    def quick(self, rows: list[dict[str, Any]]) -> Batch | None:
        """The batch, if every row is plainly right; None asks for :meth:`slow`."""
        if not rows:
            return None
        first = rows[0]
        hashes = _present(first, rec.HASH_KEYS)
        found = [_present(first, k) for k in (rec.TIMESTAMP_KEYS, rec.INPUT_KEYS, rec.OUTPUT_KEYS)]
        keys = [key for key in found if key is not None]
        if hashes is None or len(keys) < len(found):
            return None
        try:
            lists = [row[hashes] for row in rows]
            stamps, prompts, outputs = (np.array([row[key] for row in rows]) for key in keys)
            session = _sessions([row.get("session_id", rec.NO_SESSION) for row in rows])
            ids = whole_ids(list(chain.from_iterable(lists)))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        if ids is None or session is None or set(map(type, lists)) != {list}:
            return None
        if stamps.dtype.kind not in "iuf" or prompts.dtype.kind != "i" or outputs.dtype.kind != "i":
            return None
        blocks = np.fromiter(map(len, lists), np.int64, len(lists))
        return self.checked(stamps * self.options.ms_per_tick, prompts, outputs, session, blocks, ids)

    def checked(self, *columns: Any) -> Batch | None:
        """A batch of clean columns, or None where a value or the clock is wrong."""
        stamps, prompts, outputs, session, blocks, ids = columns
        stamps = stamps.astype(np.float64)
        if not len(stamps) or not np.isfinite(stamps).all() or prompts.min() < 0 or outputs.min() < 0:
            return None
        if not self.options.sort_rows and (stamps[0] < self.clock_ms or (np.diff(stamps) < 0).any()):
            return None
        self.clock_ms = float(stamps[-1])
        return Batch(stamps, prompts.astype(np.int64), outputs.astype(np.int64), session, blocks, ids)

    def slow(self, rows: Rows) -> Batch | None:
        """Row by row: malformed ones go to the problem log, the others into the batch."""
        good: list[tuple[float, int, int, int, list[int]]] = []
        for line, row, text in rows:
            try:
                good.append(self._one(row))
                self.clock_ms = good[-1][0]
            except RowError as error:
                self.problems.add(self.file, line, str(error), text, error.key)
        if self.hasher.used_text:
            self.problems.note(f"prompts are text, cut at {self.options.chars_per_token:g} characters a token")
        if not good:
            return None
        stamps, prompts, outputs, session, lists = (list(column) for column in zip(*good, strict=True))
        return Batch(
            np.array(stamps, np.float64),
            np.array(prompts, np.int64),
            np.array(outputs, np.int64),
            np.array(session, np.int64),
            np.fromiter(map(len, lists), np.int64, len(lists)),
            np.array(list(chain.from_iterable(lists)), np.uint64).view(np.int64),
        )

    def _one(self, row: dict[str, Any]) -> tuple[float, int, int, int, list[int]]:
        """One row as numbers, or the reason why not."""
        if not isinstance(row, dict):
            raise RowError(f"a row must be an object, not {type(row).__name__}")
        stamp = self._timestamp(row)
        output_key = _present(row, rec.OUTPUT_KEYS)
        output = _count(row, output_key) if output_key else 0
        if output_key is None:
            self.problems.note("some rows have no output length: counted as 0 generated tokens")
        hashes = _present(row, rec.HASH_KEYS)
        if hashes is None:
            ids, tokens = self.hasher(row)
        else:
            ids, tokens = _id_list(row[hashes], hashes), _count(row, _required(row, rec.INPUT_KEYS))
        session = row.get(_present(row, rec.SESSION_KEYS) or "", rec.NO_SESSION)
        return stamp, tokens, output, _session_number(session), ids

    def _timestamp(self, row: dict[str, Any]) -> float:
        key = _required(row, rec.TIMESTAMP_KEYS)
        value = row[key]
        if isinstance(value, str):
            stamp = _parsed_time(value, key, self.options.ms_per_tick)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            stamp = float(value) * self.options.ms_per_tick
        else:
            raise RowError(f"{key} must be a number, not {value!r}", key)
        if not math.isfinite(stamp):
            raise RowError(f"{key} must be finite", key)
        if stamp < self.clock_ms and not self.options.sort_rows:
            behind = (self.clock_ms - stamp) / 1000
            raise RowError(
                f"the clock goes backwards: {value} is {behind:g} s before the row above (--sort allows it)", key
            )
        return stamp


def _present(row: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in row), None)


def _required(row: dict[str, Any], keys: tuple[str, ...]) -> str:
    key = _present(row, keys)
    if key is None:
        raise RowError(f"no {keys[0]} (nor {', '.join(keys[1:])})")
    return key


def _count(row: dict[str, Any], key: str) -> int:
    value = row[key]
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < INT64_LIMIT:
        raise RowError(f"{key} must be a whole number of tokens, not {value!r}", key)
    return value


def _id_list(value: Any, key: str) -> list[int]:
    if not isinstance(value, list):
        raise RowError(f"{key} must be a list of block ids, not {type(value).__name__}", key)
    return [_block_id(item, key) for item in value]


def _block_id(value: Any, key: str) -> int:
    """A block id as an unsigned 64-bit number; text is hashed to one."""
    if isinstance(value, str):
        return text_id(value)
    if not isinstance(value, int) or isinstance(value, bool):
        wide = isinstance(value, float) and value.is_integer() and abs(value) >= INT64_LIMIT
        raise RowError(f"the block id {value!r} {'is beyond 64 bit' if wide else 'is not a whole number'}", key)
    if not 0 <= value <= rec.MAX_ID:
        raise RowError(f"the block id {value} is {'negative' if value < 0 else 'beyond 64 bit'}", key)
    return value


def _parsed_time(value: str, key: str, ms_per_tick: float) -> float:
    """A timestamp given as text: a number, or an ISO 8601 date and time."""
    try:
        return float(value) * ms_per_tick
    except ValueError:
        pass
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError as error:
        raise RowError(f"{key} is neither a number nor an ISO 8601 time: {value!r}", key) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp() * 1000.0


def _session_number(value: Any) -> int:
    if isinstance(value, int) and -INT64_LIMIT <= value < INT64_LIMIT:
        return value
    return rec.NO_SESSION if value is None else text_id(str(value)) >> 1


def _sessions(values: list[Any]) -> Ints | None:
    numbers = np.array(values)
    return numbers.astype(np.int64) if numbers.dtype.kind == "i" else None


def whole_ids(values: list[Any]) -> Ints | None:
    """Block ids as 64-bit patterns, if all are whole numbers in range; None where one is not.

    >>> whole_ids([1, 2]).tolist(), whole_ids([1.5]), whole_ids([-1])
    ([1, 2], None, None)
    """
    if not values:
        return np.empty(0, np.int64)
    numbers = np.array(values)
    if numbers.dtype.kind == "u" and numbers.ndim == 1:
        return numbers.astype(np.uint64).view(np.int64)
    if numbers.dtype.kind != "i" or numbers.ndim != 1 or numbers.min() < 0:
        return None
    return numbers.astype(np.int64, copy=False)
