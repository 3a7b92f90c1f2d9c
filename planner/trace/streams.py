"""Bytes of a trace file, decompressed on the way, in pieces that end at a line's end."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from planner.trace.records import trace_error

PIECE_BYTES = 1 << 22
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PARQUET_MAGIC = b"PAR1"


def magic(path: Path) -> bytes:
    """The first four bytes of a file, which tell its compression better than its name."""
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError as error:
        raise trace_error("unreadable-file", str(path), f"cannot read {path}: {error.strerror}") from error


def pieces(path: Path) -> Iterator[bytes]:
    """The decompressed content in pieces of about 4 MB; a truncated or damaged file is an error."""
    start = magic(path)
    if not start:
        raise trace_error("empty-trace", str(path), "the file is empty")
    try:
        if start[:2] == GZIP_MAGIC:
            with gzip.open(path, "rb") as unzipped:
                yield from iter(lambda: unzipped.read(PIECE_BYTES), b"")
        elif start == ZSTD_MAGIC:
            with path.open("rb") as raw:
                yield from _unzstd(raw, path)
        else:
            with path.open("rb") as raw:
                yield from iter(lambda: raw.read(PIECE_BYTES), b"")
    except EOFError as error:
        raise _truncated(path, "gzip") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise trace_error("damaged-file", str(path), f"the gzip data is damaged: {error}") from error


def _unzstd(raw: IO[bytes], path: Path) -> Iterator[bytes]:
    """Decompress one zstd frame after another."""
    zstandard = optional_module("zstandard", path, "zstd files")
    decoder, fed = zstandard.ZstdDecompressor().decompressobj(), False
    for block in iter(lambda: raw.read(PIECE_BYTES // 4), b""):
        data = block
        while data:
            if decoder.eof:
                decoder = zstandard.ZstdDecompressor().decompressobj()
            try:
                out, fed = decoder.decompress(data), True
            except zstandard.ZstdError as error:
                raise trace_error("damaged-file", str(path), f"the zstd data is damaged: {error}") from error
            if out:
                yield out
            data = decoder.unused_data if decoder.eof else b""
    if fed and not decoder.eof:
        raise _truncated(path, "zstd")


def _truncated(path: Path, kind: str) -> Exception:
    return trace_error(
        "truncated-file", str(path), f"the {kind} file is truncated: it ends before its end mark", "copy it again"
    )


def optional_module(name: str, path: Path, what: str) -> Any:
    """Import an optional package, or say how to get it."""
    try:
        return __import__(name, fromlist=["_"])
    except ImportError as error:
        raise trace_error(
            "missing-package", str(path), f"reading {what} needs the package {name.split('.')[0]}",
            "pip install 'planner[trace]'",
        ) from error  # fmt: skip


def line_blocks(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Blocks of whole lines with the number of their first line, from 1."""
    rest, first = b"", 1
    for piece in pieces(path):
        head, newline, tail = piece.rpartition(b"\n")
        if not newline:
            rest += piece
            continue
        lines = (rest + head).split(b"\n")
        yield first, lines
        first, rest = first + len(lines), tail
    if rest:
        yield first, [rest]
