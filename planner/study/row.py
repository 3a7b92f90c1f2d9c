"""A plan as one flat row of plain values, in the units that people read: what tables, caches and workers exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.plan import Evaluation
from planner.units import milliseconds, to_gb

Data = dict[str, Any]


def plan_columns(tiers: Sequence[str]) -> dict[str, type]:
    """The names and types of a plan's row for a scenario with these tiers, whatever the plan."""
    per_tier = {f"{t}_{what}": kind for t in tiers for what, kind in (("role", str), ("capacity_gb", float))}
    return {
        "architecture": str, "usd_per_hour": float, "usd_per_million_tokens": float, "gpus": int,
        "prefill_parallelism": str, "prefill_instances": int, "prefill_gpus": int, "decode_parallelism": str,
        "decode_instances": int, "decode_gpus": int, "batch": int, **per_tier, "effective_hit_rate": float,
        "ttft_ms": float, "tpot_ms": float, "binding": str,
    }  # fmt: skip


def plan_row(plan: Evaluation) -> Data:
    """A plan as one flat row: for CSV and JSON."""
    decision = plan.decision
    row: Data = {
        "architecture": decision.architecture,
        "usd_per_hour": plan.usd_per_hour,
        "usd_per_million_tokens": plan.usd_per_million_tokens,
        "gpus": plan.prefill.gpus + (plan.decode.gpus if plan.decode else 0),
        "prefill_parallelism": plan.prefill.parallelism,
        "prefill_instances": plan.prefill.instances,
        "prefill_gpus": plan.prefill.gpus,
        "decode_parallelism": plan.decode.parallelism if plan.decode else None,
        "decode_instances": plan.decode.instances if plan.decode else None,
        "decode_gpus": plan.decode.gpus if plan.decode else None,
        "batch": (plan.decode or plan.prefill).batch,
    }
    for tier in plan.tiers[1:]:
        row[f"{tier.name}_role"] = tier.role
        row[f"{tier.name}_capacity_gb"] = to_gb(tier.capacity_bytes)
    row["effective_hit_rate"] = plan.effective_hit_rate
    row["ttft_ms"] = milliseconds(max(p.total_s for p in plan.paths if p.in_use))
    row["tpot_ms"] = milliseconds(plan.tpot_s)
    row["binding"] = " ".join(plan.binding)
    return row
