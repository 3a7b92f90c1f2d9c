"""A sweep as text, Markdown, JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report import study_markdown as markdown
from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, safe, significant, size
from planner.report.study_common import counted, csv_text, table, titled

if TYPE_CHECKING:
    from planner.study.sweep import Sweep

Data = dict[str, Any]
LINES = 60


def to_table(found: Sweep) -> str:
    """One line per point, as many as a terminal holds; a mark where the design differs from the line before."""
    keys = len(found.keys)
    rows = _rows(found)[:LINES]
    lines = table(_titles(found), rows, (*range(1, keys + 3), keys + 4), (*range(1, keys + 1), keys + 5))
    left = len(found.rows) - LINES
    more = [f"  and {left} more: -o sweep.csv, .json or .parquet"] if left > 0 else []
    return titled(
        _head(found), [*lines, *more, *(f"  {text}" for text in _legend(rows))], [f"  {note}" for note in found.notes]
    )


def to_markdown(found: Sweep) -> str:
    """The whole table, for an issue or a pull request."""
    keys = len(found.keys)
    rows = _rows(found)
    shown = markdown.table(_titles(found), rows, (*range(1, keys + 3), keys + 4))
    return markdown.document(_head(found), shown, *map(markdown.text, _legend(rows)), markdown.bullets(found.notes))


def _legend(rows: list[list[str]]) -> list[str]:
    """What the signs in these rows mean."""
    out = ["* the design changes"] if any(row[0] for row in rows) else []
    if any("infeasible" in row for row in rows):
        out.append("infeasible: no design keeps every promise (planner solve says which is in the way)")
    return out


def _head(found: Sweep) -> str:
    name = safe(found.scenario_name, 60)
    if found.complete:
        return f"{name} · {counted(found.points, 'point')}"
    return f"{name} · interrupted: {len(found.rows):,} of {counted(found.points, 'row')}"


def _titles(found: Sweep) -> list[str]:
    """The keys' last parts, whole keys where two of them are the same."""
    ends = [k.split(".")[-1] for k in found.keys]
    keys = [e if ends.count(e) == 1 else k for e, k in zip(ends, found.keys, strict=True)]
    return ["", *(safe(k, 40) for k in keys), "$/h", "$/Mtok", "architecture", "GPUs", "tiers"]


def _rows(found: Sweep) -> list[list[str]]:
    rows: list[list[str]] = []
    before = None
    for row in found.rows:
        design = _design(row)
        mark = "*" if before is not None and design != before else ""
        before = design
        rows.append([mark, *(_value(row.get(k)) for k in found.keys), *_outcome(row)])
    return rows


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
    invalid = f", {found.invalid} invalid" if found.invalid else ""
    return (
        f"{counted(found.points, 'point')}: {found.cached} stored before, {found.solved} solved, "
        f"{found.carried} carried over without solving{invalid} ({found.seconds:.1f} s)"
    )


def interrupted_line(found: Sweep, kept: bool) -> str:
    """What is missing and how to get it, for stderr."""
    again = "; run it again: what is solved is kept, only the rest is solved" if kept else ""
    why = f"{found.cause}: " if found.cause else ""
    return f"interrupted: {why}{len(found.rows):,} of {counted(found.points, 'row')}, {found.missing:,} missing{again}"


def to_data(found: Sweep) -> Data:
    """The table with its counts."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "sweep", "scenario": found.scenario_name, "keys": list(found.keys),
        "points": found.points, "cached": found.cached, "solved": found.solved, "carried": found.carried,
        "invalid": found.invalid,
        "complete": found.complete, "interrupted": found.interrupted, "cause": found.cause, "missing": found.missing,
        "seconds": found.seconds, "notes": list(found.notes), "rows": found.rows,
    }  # fmt: skip


def to_csv(found: Sweep) -> str:
    """The long table."""
    return csv_text(found.rows, tuple(found.columns))
