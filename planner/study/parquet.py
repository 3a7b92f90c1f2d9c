"""A long table as Parquet (optional extra: pyarrow)."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.errors import PlannerError


def require_parquet() -> None:
    """Find out before a long run that there is no pyarrow.

    Raises:
        PlannerError: It is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise PlannerError("Parquet needs pyarrow: pip install '.[sweep]' in the planner's checkout")


def parquet_bytes(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, type | None] | None = None) -> bytes:
    """The rows as one Parquet file.

    Args:
        rows: values by column.
        columns: names in order, with the type where it does not depend on the rows; of others a column that mixes
            kinds of values becomes text. Columns that only the rows have come last.

    Raises:
        PlannerError: pyarrow is not installed.
    """
    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {str: pa.string(), float: pa.float64(), int: pa.int64()}
    known = {**(columns or {}), **dict.fromkeys(name for row in rows for name in row if name not in (columns or {}))}
    table = {}
    for name, kind in known.items():
        values = [row.get(name) for row in rows]
        table[name] = (
            pa.array(_column(values))
            if kind is None
            else pa.array([None if v is None else kind(v) for v in values], types[kind])
        )
    stream = io.BytesIO()
    pq.write_table(pa.table(table), stream)
    return stream.getvalue()


def write_parquet(
    target: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, type | None] | None = None
) -> None:
    """The rows in ``target``, which appears whole or not at all."""
    hidden = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        hidden.write_bytes(parquet_bytes(rows, columns))
        os.replace(hidden, target)
    finally:
        hidden.unlink(missing_ok=True)


def _column(values: list[Any]) -> list[Any]:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} and float in kinds:
        return [None if v is None else float(v) for v in values]
    return (
        values
        if len(kinds) <= 1 and not kinds & {list, tuple, dict}
        else [None if v is None else str(v) for v in values]
    )
