"""The plan file: a :class:`~planner.plan.PlanSet` as JSON.

Units are the ones that people read: ms, GB, dollars per hour. The JSON keys are a stable interface
(``schema_version`` says which); keys may be added, never renamed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planner.plan import (
    Cell,
    Certificate,
    CostLine,
    Decision,
    Evaluation,
    Fix,
    Plan,
    PlanSet,
    Pool,
    TierUse,
    TtftPath,
    Verdict,
)
from planner.units import milliseconds, to_gb

SCHEMA_VERSION = 1
Data = dict[str, Any]
_NOT_ASCII = re.compile(r"[^\x20-\x7e\n]")


def to_json(plan_set: PlanSet, scenario: Mapping[str, Any] | None = None, text: str = "") -> str:
    """The plan file as text; every value of the scenario and its file's text make it complete in itself."""
    return dumps(plan_file(plan_set, scenario, text))


def dumps(data: Mapping[str, Any]) -> str:
    """JSON for people, programs and terminals: indented, no NaN (it becomes null), invisible characters escaped."""
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)
    return _NOT_ASCII.sub(_visible, text) + "\n"


def _visible(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def plan_file(plan_set: PlanSet, scenario: Mapping[str, Any] | None = None, text: str = "") -> Data:
    """Everything that one solve found, as plain data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "scenario": {
            "name": plan_set.scenario_name,
            "sha256": plan_set.scenario_sha256,
            "file": plan_set.scenario_file,
            "headline": plan_set.headline,
            "resolved": scenario,
            "text": text or None,
        },
        "planner_version": plan_set.planner_version,
        "status": plan_set.status,
        "certificate": _certificate(plan_set.certificate),
        "plans": [_plan(plan) for plan in plan_set.plans],
        "cells": _cells(plan_set.cells, plan_set.verdict),
        "warnings": list(plan_set.warnings),
        "reasons": list(plan_set.reasons),
        "conflicts": [asdict(conflict) for conflict in plan_set.conflicts],
        "fixes": [_fix(fix) for fix in plan_set.fixes],
        "defaults": [{"key": key, "value": value} for key, value in plan_set.defaults],
        "sources": [{"value": value, "source": source} for value, source in plan_set.sources],
        "versions": dict(plan_set.versions),
        "seconds": plan_set.seconds,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _fix(fix: Fix) -> Data:
    changes = [{"key": c.key, "line": c.line, "from": c.before, "to": c.after} for c in fix.changes]
    return {"usd_per_hour": fix.usd_per_hour, "changes": changes}


def _certificate(certificate: Certificate | None) -> Data | None:
    if certificate is None:
        return None
    return {
        "usd_per_hour_lower_bound": certificate.usd_per_hour_lower_bound,
        "usd_per_hour": certificate.usd_per_hour,
        "relative_gap": certificate.relative_gap,
        "target_gap": certificate.target_gap,
        "proven": certificate.proven,
        "rounds": certificate.rounds,
        "seconds": certificate.seconds,
        "solver": certificate.solver,
        "verified_by": list(certificate.verified_by),
    }


def _plan(plan: Plan) -> Data:
    found = plan.evaluation
    return {
        "rank": plan.rank,
        "architecture": found.decision.architecture,
        "usd_per_hour": found.usd_per_hour,
        "usd_per_million_tokens": found.usd_per_million_tokens,
        "differs_by": list(plan.differs_by),
        "costs": [_cost(line) for line in found.costs],
        "prefill": _pool(found.prefill),
        "decode": _pool(found.decode) if found.decode else None,
        "tiers": [_tier(tier) for tier in found.tiers],
        "effective_hit_rate": found.effective_hit_rate,
        "ttft": [_path(path) for path in found.paths],
        "tpot_ms": milliseconds(found.tpot_s),
        "binding": list(found.binding),
        "violations": [{"rule": v.rule, "need": v.need, "have": v.have, "unit": v.unit} for v in found.violations],
        "notes": list(found.notes),
        "decision": _decision(found.decision),
    }


def _cost(line: CostLine) -> Data:
    return {
        "item": line.item,
        "quantity": line.quantity,
        "unit": line.unit,
        "unit_usd_per_hour": line.unit_usd_per_hour,
        "usd_per_hour": line.usd_per_hour,
        "source_key": line.source_key,
    }


def _pool(pool: Pool) -> Data:
    data: Data = {
        "instances": pool.instances,
        "gpus_per_instance": pool.gpus_per_instance,
        "parallelism": pool.parallelism,
        "nodes": pool.nodes,
        "gpus": pool.gpus,
        "billed_gpus": pool.billed_gpus,
    }
    known = {
        "offered_load": pool.offered_load,
        "servers": pool.servers,
        "utilization": pool.utilization,
        "batch": pool.batch,
        "tpot_ms": None if pool.tpot_s is None else milliseconds(pool.tpot_s),
        "concurrency": pool.concurrency,
        "slots_needed": pool.slots_needed,
        "hbm_cache_gb": None if pool.hbm_cache_bytes is None else to_gb(pool.hbm_cache_bytes),
    }
    return data | {key: value for key, value in known.items() if value is not None}


def _tier(tier: TierUse) -> Data:
    return {
        "name": tier.name,
        "role": tier.role,
        "capacity_gb": to_gb(tier.capacity_bytes),
        "staging_gb": to_gb(tier.staging_bytes),
        "hit_rate": tier.hit_rate,
        "cumulative_hit_rate": tier.cumulative_hit_rate,
        "read_utilization": tier.read_utilization,
        "fetch_ms": milliseconds(tier.fetch_s),
        "slack_ms": milliseconds(tier.slack_s),
        "slack_before_fetch_ms": milliseconds(tier.slack_before_fetch_s),
        "why": tier.why,
    }


def _path(path: TtftPath) -> Data:
    return {
        "class": path.class_name,
        "path": path.path,
        "probability": path.probability,
        "queue_ms": milliseconds(path.queue_s),
        "fetch_ms": milliseconds(path.fetch_s),
        "prefill_ms": milliseconds(path.prefill_s),
        "transfer_ms": milliseconds(path.transfer_s),
        "total_ms": milliseconds(path.total_s),
        "slack_ms": milliseconds(path.slack_s),
        "in_use": path.in_use,
    }


def _decision(decision: Decision) -> Data:
    return {
        "architecture": decision.architecture,
        "prefill_config": decision.prefill_config,
        "prefill_instances": decision.prefill_instances,
        "batch": decision.batch,
        "decode_config": decision.decode_config,
        "decode_instances": decision.decode_instances,
        "decode_batch": decision.decode_batch,
        "roles": list(decision.roles),
        "capacity_gb": [[to_gb(part) for part in tier] for tier in decision.capacity_bytes],
        "hbm_gb": [to_gb(part) for part in decision.hbm_bytes],
        "hits": [list(tier) for tier in decision.hits],
    }


def _cells(cells: Sequence[Cell], verdict: Verdict | None) -> Data:
    data: Data = {architecture: {"hbm_only": None, "tiered": None} for architecture in ("colocated", "disaggregated")}
    why_not: Data = {}
    for cell in cells:
        kind = "tiered" if cell.tiered else "hbm_only"
        data[cell.architecture][kind] = _cell(cell.evaluation, cell.certificate)
        if cell.evaluation is None and cell.why_not:
            why_not[f"{cell.architecture}.{kind}"] = cell.why_not
    data["interaction_usd_per_hour"] = verdict.interaction_usd_per_hour if verdict else None
    data["verdict"] = verdict.word if verdict else None
    data["limited_by"] = list(verdict.limited_by) if verdict else []
    data["why_not"] = why_not
    return data | (_verdict(verdict) if verdict else {})


def _cell(evaluation: Evaluation | None, certificate: Certificate | None) -> Data | None:
    if evaluation is None:
        return None
    return {
        "usd_per_hour": evaluation.usd_per_hour,
        "usd_per_million_tokens": evaluation.usd_per_million_tokens,
        "relative_gap": certificate.relative_gap if certificate else None,
        "proven": certificate.proven if certificate else False,
        "costs": [_cost(line) for line in evaluation.costs],
        "decision": _decision(evaluation.decision),
    }


def _verdict(verdict: Verdict) -> Data:
    return {
        "saving_both": verdict.saving_both,
        "saving_disaggregation": verdict.saving_disaggregation,
        "saving_tiers": verdict.saving_tiers,
        "points": [
            {
                "load_factor": point.load_factor,
                "interaction_usd_per_hour": point.interaction_usd_per_hour,
                "fractional": point.fractional,
            }
            for point in verdict.points
        ],
        "limits": [
            {
                "kind": limit.kind,
                "relaxation": limit.relaxation,
                "usd_per_hour": limit.usd_per_hour,
                "structure_changed": limit.structure_changed,
                "becomes": limit.becomes,
            }
            for limit in verdict.limits
        ],
        "explanation": verdict.explanation,
    }
