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

from planner.plan import Cell, Certificate, Decision, Evaluation, Fix, Plan, PlanSet, Verdict
from planner.report.records import CERTIFICATE, COST, LIMITING, PATH, POINT, POOL, TIER, VIOLATION
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
    return None if certificate is None else CERTIFICATE.write(certificate) | {"proven": certificate.proven}


def _plan(plan: Plan) -> Data:
    found = plan.evaluation
    return {
        "rank": plan.rank,
        "architecture": found.decision.architecture,
        "usd_per_hour": found.usd_per_hour,
        "usd_per_million_tokens": found.usd_per_million_tokens,
        "differs_by": list(plan.differs_by),
        "costs": [COST.write(line) for line in found.costs],
        "prefill": POOL.write(found.prefill),
        "decode": POOL.write(found.decode) if found.decode else None,
        "tiers": [TIER.write(tier) for tier in found.tiers],
        "effective_hit_rate": found.effective_hit_rate,
        "ttft": [PATH.write(path) for path in found.paths],
        "tpot_ms": milliseconds(found.tpot_s),
        "tpot_error": found.tpot_error,
        "ttft_error": found.ttft_error,
        "binding": list(found.binding),
        "violations": [VIOLATION.write(broken) for broken in found.violations],
        "notes": list(found.notes),
        "decision": _decision(found.decision),
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
        "costs": [COST.write(line) for line in evaluation.costs],
        "decision": _decision(evaluation.decision),
    }


def _verdict(verdict: Verdict) -> Data:
    return {
        "saving_both": verdict.saving_both,
        "saving_disaggregation": verdict.saving_disaggregation,
        "saving_tiers": verdict.saving_tiers,
        "points": [POINT.write(point) for point in verdict.points],
        "limits": [LIMITING.write(limit) for limit in verdict.limits],
        "explanation": verdict.explanation,
    }
