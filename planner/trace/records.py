"""What readers hand over: batches of requests as columns, read options, and the log of malformed rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.errors import Diagnostic, InputError, Span

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_SESSION = -1
SHOWN_PROBLEMS = 5
MAX_ID = 2**64 - 1

TIMESTAMP_KEYS = ("timestamp", "timestamp_ms", "arrival_time", "time")
INPUT_KEYS = ("input_length", "input_tokens", "prompt_tokens")
OUTPUT_KEYS = ("output_length", "output_tokens", "completion_tokens", "generated_tokens")
SESSION_KEYS = ("session_id", "chat_id", "conversation_id")
HASH_KEYS = ("hash_ids", "block_hashes")
TOKEN_KEYS = ("prompt_token_ids", "token_ids", "tokens")
TEXT_KEYS = ("prompt", "text", "messages")


@dataclass(frozen=True)
class ReadOptions:
    """How files are read; ``block_tokens`` is the trace's block size."""

    block_tokens: int = 512
    skip_bad: bool = False
    sort_rows: bool = False  # accept rows out of order and sort them by timestamp
    ms_per_tick: float = 1.0  # what one unit of a numeric timestamp is worth
    chars_per_token: float = 4.0  # for text without a tokenizer
    tokenizer: str | None = None  # path of a tokenizer.json
    sample_rate: float = 1.0  # share of prefixes kept (spatial sampling); 1 = all


@dataclass(frozen=True)
class Batch:
    """Some consecutive requests as columns; ``ids`` holds all block ids, ``blocks[i]`` of them for request i.

    An id is the bit pattern of an unsigned 64-bit number.
    """

    timestamp_ms: Floats
    input_tokens: Ints
    output_tokens: Ints
    session: Ints
    blocks: Ints
    ids: Ints
    last_tokens: Ints | None = None  # of each request's last block, where sampling left blocks out

    def __len__(self) -> int:
        """The number of requests."""
        return len(self.timestamp_ms)


class RowError(ValueError):
    """A row that cannot be used; ``key`` names the column at fault."""

    def __init__(self, message: str, key: str = "") -> None:
        """Keep the message and the column."""
        super().__init__(message)
        self.key = key


@dataclass
class ProblemLog:
    """Malformed rows of all files: every one counted, the first few kept to be shown."""

    skip_bad: bool = False
    count: int = 0
    shown: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, file: str, line: int, message: str, text: str = "", key: str = "") -> None:
        """Count one malformed row; ``key`` places the caret."""
        self.count += 1
        if len(self.shown) < SHOWN_PROBLEMS:
            column = text.find(f'"{key}"') + 1 if key else 1
            span = Span(file, line, max(1, column), text[:2000], max(1, len(key) + 2 if key and column else 1))
            self.shown.append(Diagnostic("malformed-row", message, span))

    def note(self, text: str) -> None:
        """Remember a remark on how the trace was read, once."""
        if text not in self.notes:
            self.notes.append(text)

    def close(self) -> None:
        """Raise what was found, unless malformed rows are to be skipped."""
        if self.count and not self.skip_bad:
            rest = self.count - len(self.shown)
            summary = f"{self.count:,} malformed row{'s' if self.count > 1 else ''}"
            more = f"; {rest:,} more are not shown" if rest else ""
            raise InputError(
                *self.shown,
                Diagnostic("malformed-trace", summary + more, hint="--skip-bad leaves such rows out and counts them"),
            )


def trace_error(code: str, file: str, message: str, hint: str = "", line: int = 1) -> InputError:
    """The error for a file that cannot be read as a trace."""
    return InputError(Diagnostic(code, message, Span(file, line, 1), hint=hint))
