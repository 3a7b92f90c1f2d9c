"""The ranked plans as CSV, one row each, for a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

from planner.errors import printable
from planner.plan import Plan, PlanSet
from planner.units import milliseconds, to_gb

Row = dict[str, Any]


def to_csv(plan_set: PlanSet) -> str:
    """One row per plan, one column per figure; tiers in the scenario's order."""
    rows = [_row(plan) for plan in plan_set.plans]
    columns = list(dict.fromkeys(column for row in rows for column in row)) or ["rank"]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([_inert(column) for column in columns])
    for row in rows:
        writer.writerow([_inert(row.get(column)) for column in columns])
    return stream.getvalue()


def _row(plan: Plan) -> Row:
    found = plan.evaluation
    row: Row = {
        "rank": plan.rank,
        "architecture": found.decision.architecture,
        "usd_per_hour": found.usd_per_hour,
        "usd_per_million_tokens": found.usd_per_million_tokens,
    }
    for name, pool in (("prefill", found.prefill), ("decode", found.decode)):
        row[f"{name}_parallelism"] = pool.parallelism if pool else None
        row[f"{name}_instances"] = pool.instances if pool else None
        row[f"{name}_gpus"] = pool.gpus if pool else None
    row["batch"] = found.decode.batch if found.decode else found.prefill.batch
    for tier in found.tiers:
        row[f"{tier.name}_role"] = tier.role
        row[f"{tier.name}_capacity_gb"] = to_gb(tier.capacity_bytes)
        row[f"{tier.name}_hit_rate"] = tier.hit_rate
    row["effective_hit_rate"] = found.effective_hit_rate
    row["tpot_ms"] = milliseconds(found.tpot_s)
    row["ttft_ms"] = milliseconds(max((p.total_s for p in found.paths if p.in_use), default=math.nan))
    row["binding"] = " ".join(found.binding)
    row["differs_by"] = "; ".join(plan.differs_by)
    return row


def _inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula and no terminal for a command."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return ("'" if value[:1] in ("=", "+", "-", "@") else "") + printable(value)
    return value
