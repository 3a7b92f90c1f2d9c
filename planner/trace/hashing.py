"""Plain request logs: token ids or text cut into blocks and hashed in a chain, as serving engines do.

The id of block i is ``H(id of block i-1, content of block i)``, so equal ids mean equal whole prefixes. The partial
last block is hashed as it is: it matches only a request that ends in the same way at the same place.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from planner.trace.records import TEXT_KEYS, TOKEN_KEYS, ReadOptions, RowError, trace_error
from planner.trace.streams import optional_module

ID_BYTES = 8  # a collision among a million prefixes has a chance of 3e-8


def chain_ids(blocks: Iterator[bytes]) -> list[int]:
    """Chained 64-bit ids of consecutive blocks.

    >>> a, b = chain_ids(iter([b"x", b"y"])), chain_ids(iter([b"z", b"y"]))
    >>> a[1] == b[1]
    False
    """
    ids, digest = [], b""
    for block in blocks:
        digest = blake2b(digest + block, digest_size=ID_BYTES).digest()
        ids.append(int.from_bytes(digest, "little"))
    return ids


def text_id(value: str) -> int:
    """A block id given as text (a hexadecimal hash, say) as a 64-bit number."""
    return int.from_bytes(blake2b(value.encode("utf-8", "surrogatepass"), digest_size=ID_BYTES).digest(), "little")


def token_blocks(tokens: list[int], block_tokens: int) -> list[int]:
    """Chained ids of a prompt given as token ids."""
    try:
        packed = array("q", tokens).tobytes()
    except (TypeError, OverflowError) as error:
        raise RowError(f"token ids must be whole numbers below 2^63: {error}") from error
    return chain_ids(packed[i : i + 8 * block_tokens] for i in range(0, len(packed), 8 * block_tokens))


def text_blocks(text: str, block_tokens: int, chars_per_token: float) -> tuple[list[int], int]:
    """Chained ids of a prompt given as text, and its length in tokens at so many characters a token."""
    step = max(1, round(block_tokens * chars_per_token))
    ids = chain_ids(text[i : i + step].encode("utf-8", "surrogatepass") for i in range(0, len(text), step))
    return ids, -(-len(text) * block_tokens // step)


def flat_text(value: Any) -> str:
    """A prompt as one text: the text itself, or the messages of a chat in order."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(json.dumps(part, sort_keys=True, ensure_ascii=False) for part in value)
    raise RowError(f"a prompt must be text or a list of messages, not {type(value).__name__}")


class PromptHasher:
    """Turns a log's row (``prompt_token_ids``, ``prompt``, ``messages``, …) into block ids and a prompt length."""

    def __init__(self, options: ReadOptions) -> None:
        """Load the tokenizer where one is given."""
        self.options = options
        self.used_text = False
        self._encode: Callable[[str], list[int]] | None = None
        if options.tokenizer:
            self._encode = _encoder(options.tokenizer)

    def __call__(self, row: dict[str, Any]) -> tuple[list[int], int]:
        """Block ids and tokens of the row's prompt."""
        for key in TOKEN_KEYS:
            if isinstance(row.get(key), list):
                return token_blocks(row[key], self.options.block_tokens), len(row[key])
        for key in TEXT_KEYS:
            if row.get(key) is not None:
                return self._text(flat_text(row[key]))
        raise RowError("no hash_ids, token ids or text: the row does not tell its prompt")

    def _text(self, text: str) -> tuple[list[int], int]:
        if self._encode:
            tokens = self._encode(text)
            return token_blocks(tokens, self.options.block_tokens), len(tokens)
        self.used_text = True
        return text_blocks(text, self.options.block_tokens, self.options.chars_per_token)


def _encoder(path: str) -> Callable[[str], list[int]]:
    """The tokenizer of a ``tokenizer.json``, as a function from text to token ids."""
    tokenizers = optional_module("tokenizers", Path(path), "a tokenizer")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except Exception as error:  # the package raises nothing narrower
        raise trace_error("bad-tokenizer", path, f"not a tokenizer.json: {error}") from error
    return lambda text: list(tokenizer.encode(text).ids)
