"""A sweep as text, JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, safe, significant, size
from planner.report.study_common import csv_text, table, titled

if TYPE_CHECKING:
    from planner.study.sweep import Sweep

Data = dict[str, Any]
LINES = 60


def to_table(found: Sweep) -> str:
    """One line per point, as many as a terminal holds; a mark where the design differs from the line before."""
    shown = found.rows[:LINES]
    titles = ["", *(safe(k.split(".")[-1], 24) for k in found.keys), "$/h", "$/Mtok", "architecture", "GPUs", "tiers"]
    rows, before = [], None
    for row in shown:
        design = _design(row)
        mark = "*" if before is not None and design != before else ""
        before = design
        rows.append([mark, *(_value(row.get(k)) for k in found.keys), *_outcome(row)])
    keys = len(found.keys)
    lines = table(titles, rows, (*range(1, keys + 3), keys + 4), (keys + 5,))
    left = len(found.rows) - len(shown)
    more = [f"  and {left} more: -o sweep.csv, .json or .parquet"] if left > 0 else []
    return titled(f"{safe(found.scenario_name, 60)} · {found.points} points", [*lines, *more, "  * the design changes"])


def _design(row: Data) -> tuple[Any, ...]:
    keys = [k for k in row if k.endswith(("_role", "_parallelism", "_instances")) or k in ("architecture", "status")]
    return tuple(row[k] for k in keys)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return significant(value, 4)
    return ABSENT if value is None else safe(str(value), 24)


def _outcome(row: Data) -> list[str]:
    if "usd_per_hour" not in row:
        return [ABSENT, ABSENT, safe(str(row["status"]), 24), "", safe(str(row.get("why", "")), 80)]
    tiers = [
        f"{size(1e9 * row[k.removesuffix('_role') + '_capacity_gb'])} {safe(k.removesuffix('_role'), 24)} {v}"
        for k, v in row.items()
        if k.endswith("_role") and v != "unused"
    ]
    cost = [number(row["usd_per_hour"], 2), number(row["usd_per_million_tokens"], 4)]
    return [*cost, row["architecture"], str(row["gpus"]), ", ".join(tiers) or "none"]


def summary_line(found: Sweep) -> str:
    """What the run took, for stderr."""
    return (
        f"{found.points} points: {found.cached} stored before, {found.solved} solved, "
        f"{found.carried} carried over without solving ({found.seconds:.1f} s)"
    )


def to_data(found: Sweep) -> Data:
    """The table with its counts."""
    counts = {"points": found.points, "cached": found.cached, "solved": found.solved, "carried": found.carried}
    return {
        "schema_version": SCHEMA_VERSION, "kind": "sweep", "scenario": found.scenario_name, "keys": list(found.keys),
        **counts, "complete": found.complete, "seconds": found.seconds, "rows": found.rows,
    }  # fmt: skip


def to_csv(found: Sweep) -> str:
    """The long table."""
    return csv_text([{**row} for row in found.rows], found.keys)
