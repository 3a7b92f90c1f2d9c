"""Break-even capacities as text, JSON and CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, safe, significant, size, usd
from planner.report.grid import paragraph
from planner.report.study_common import csv_text, plan_row, table, tiers_text, titled

if TYPE_CHECKING:
    from planner.study.breakeven import BreakEven, BreakEvens

Data = dict[str, Any]
BAR_COLUMNS = 40


def to_table(found: BreakEvens) -> str:
    """Per tier: closed form and its verdict, the true optimum, the next TB, retention, and the explosion."""
    plan = found.plan
    head = (
        f"  at the plan: {usd(plan.usd_per_hour)}/h, {plan.decision.architecture}, {tiers_text(plan)}, "
        f"prefill {percent(found.utilization)} busy"
    )
    parts = [[line for row in found.rows for line in _tier(row)]] if found.rows else []
    return titled(
        f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}",
        [head, *_summary(found)],
        *parts,
        _picture(found.rows[0]) if found.rows else [],
        [f"  {safe(name, 24)}: no rent, so there is nothing to break even" for name in found.free],
    )


def _summary(found: BreakEvens) -> list[str]:
    rows = [
        [
            _name(r), f"${significant(r.usd_per_hit)}", number(r.beta, 2),
            size(r.closed_form_bytes) + (" (ceiling)" if r.capped else "") if r.trusted else "refused",
            size(r.optimum_bytes), size(r.plan_bytes) if r.plan_bytes else ABSENT,
            usd(r.next_tb_usd_per_hour, signed=True), _minutes(r.plan_minutes), _minutes(r.optimum_minutes),
        ]
        for r in found.rows
    ]  # fmt: skip
    titles = [
        "tier",
        "a hit saves",
        "β",
        "closed form",
        "on the curve",
        "plan",
        "next TB, $/h",
        "KV stays",
        "at optimum",
    ]
    return table(titles, rows, tuple(range(1, len(titles))), (0,))


def _name(row: BreakEven) -> str:
    return safe(row.tier, 24) + (f" ({safe(row.partition, 30)})" if row.partition else "")


def _minutes(minutes: float | None) -> str:
    if minutes is None:
        return ABSENT
    return f"{number(minutes, 1)} min" if minutes < 120 else f"{number(minutes / 60, 1)} h"


def _tier(row: BreakEven) -> list[str]:
    lines = paragraph(f"{_name(row)}: the closed form {row.why}", hang=2)
    saves = "saves" if row.optimum_usd_per_hour > 0 else "would lose"
    text = f"{size(row.optimum_bytes)} {saves} {usd(abs(row.optimum_usd_per_hour))}/h beyond free HBM"
    if row.optimum_bytes > row.limit_bytes:
        text += f"; the plan's nodes hold {size(row.limit_bytes)}"
    lines += paragraph(f"on the actual curve: {text}", indent=4)
    moved = f"{percent(row.elasticity / 100, 1, signed=True)} of capacity per 0.01 of beta"
    return lines + paragraph(f"sensitivity of the closed form: {moved}", indent=4)


def _picture(row: BreakEven) -> list[str]:
    """The closed form against beta, on a logarithmic scale."""
    logs = [math.log10(max(k, 1.0)) for _, k in row.explosion]
    low, high = min(logs), max(logs)
    lines = [f"  Closed form for {_name(row)} as beta nears 1 (same point of the curve; log scale)"]
    for (beta, k), log in zip(row.explosion, logs, strict=True):
        length = 1 + round((BAR_COLUMNS - 1) * (log - low) / ((high - low) or 1.0))
        shown = size(k) if k < 1e21 else f"{k:.0e} B"
        lines.append(f"  {number(beta, 2)} {'█' * length} {shown}")
    return lines


def to_data(found: BreakEvens) -> Data:
    """All rows."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "breakeven", "scenario": found.scenario_name,
        "headline": found.headline, "plan": plan_row(found.plan), "prefill_utilization": found.utilization,
        "tiers": [{**_row(r), "explosion": [{"beta": b, "closed_form_gb": k / 1e9} for b, k in r.explosion]}
                  for r in found.rows],
        "free_tiers": list(found.free),
    }  # fmt: skip


def _row(row: BreakEven) -> Data:
    return {
        "tier": row.tier, "partition": row.partition, "usd_per_hit": row.usd_per_hit, "beta": row.beta,
        "fit_error": row.fit_error, "closed_form_gb": row.closed_form_bytes / 1e9, "capped_by_ceiling": row.capped,
        "trusted": row.trusted, "why": row.why, "dlnk_dbeta": row.elasticity, "optimum_gb": row.optimum_bytes / 1e9,
        "optimum_usd_per_hour": row.optimum_usd_per_hour, "limit_gb": row.limit_bytes / 1e9,
        "plan_gb": row.plan_bytes / 1e9, "next_tb_usd_per_hour": row.next_tb_usd_per_hour,
        "plan_retention_minutes": row.plan_minutes, "optimum_retention_minutes": row.optimum_minutes,
    }  # fmt: skip


def to_csv(found: BreakEvens) -> str:
    """One row per tier."""
    return csv_text([_row(r) for r in found.rows])
