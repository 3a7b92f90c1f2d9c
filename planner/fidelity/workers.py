"""How many workers a disaggregated row had: as the row says, else as the benchmark's public recipes say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from planner.fidelity.rows import Row, Split
from planner.scenario.catalog.corrections import MEASURED


@dataclass(frozen=True)
class Workers:
    """The two pools of a disaggregated row. ``basis`` is empty where the row itself names them."""

    prefill: int
    decode: int
    prefill_split: Split
    decode_split: Split
    basis: str = ""


def workers(row: Row) -> Workers | None:
    """The pools of a row; None for a colocated one.

    Raises:
        ValueError: nobody says how many workers there were. The recipes speak for their own benchmark's rows only.
    """
    if row.decode is None:
        return None
    if row.prefill_workers and row.decode_workers:
        return Workers(row.prefill_workers, row.decode_workers, row.prefill, row.decode)
    for rule in _rules() if row.source else ():
        same = (rule["engine"], rule["isl"], rule["osl"], rule["ep"]) == (row.engine, row.isl, row.osl, row.prefill.ep)
        if same and row.concurrency <= rule["up_to"]:
            dp = rule["dp_attention"]
            prefill, decode = (
                _data_parallel(split) if pool in dp else split
                for pool, split in (("prefill", row.prefill), ("decode", row.decode))
            )
            return Workers(rule["prefill"], rule["decode"], prefill, decode, rule["basis"])
    raise ValueError("how many workers it had is not known: fill prefill_num_workers and decode_num_workers")


def _data_parallel(split: Split) -> Split:
    """The same GPUs with one attention rank each and the experts spread over all."""
    return Split(1, split.gpus, 1, split.gpus)


@cache
def _rules() -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = json.loads((MEASURED.parent / "workers.json").read_text(encoding="utf-8"))["rules"]
    return rules
