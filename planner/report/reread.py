"""A plan file as the results that it was written from: the inverse of :mod:`planner.report.data`.

What a file holds is checked by type on the way in; a file that no solve wrote is one InputError. Numbers that may be
infinite (a slack, a bound) became ``null`` and come back as NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from planner.plan import (
    Architecture,
    Cell,
    Certificate,
    CostLine,
    Evaluation,
    Limit,
    LoadPoint,
    Plan,
    PlanSet,
    Pool,
    Role,
    Status,
    TierUse,
    TtftPath,
    Verdict,
    Violation,
)
from planner.report.planfile import check_shape, decision_from, not_a_plan_file, read_json
from planner.scenario import Scenario
from planner.units import GB, seconds

Node = Mapping[str, Any]
T = TypeVar("T")
ARCHITECTURES: tuple[Architecture, ...] = ("colocated", "disaggregated")
ROLES: tuple[Role, ...] = ("unused", "sync", "prefetch")
STATUSES: tuple[Status, ...] = ("optimal", "feasible", "infeasible")
MOST = 1e18  # of any quantity in a plan file
LIMITS: tuple[Literal["slack", "hits"], ...] = ("slack", "hits")


@dataclass(frozen=True)
class StoredSet:
    """Everything that a plan file holds."""

    plan_set: PlanSet
    scenario: Scenario | None  # None where the file was written without its values
    text: str  # of the scenario file; empty where there was none


def read_plan_set(path: Path) -> StoredSet:
    """All plans, cells and facts of a plan file.

    Raises:
        InputError: The file cannot be read or is no plan file.
    """
    data = read_json(path)
    try:
        return stored_set(data)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise not_a_plan_file(path, f"{type(error).__name__} at {' '.join(str(error).split())[:120]}") from None


def stored_set(data: Any) -> StoredSet:
    """The results in a plan file's JSON."""
    head = data["scenario"]
    resolved = head.get("resolved")
    scenario = None if resolved is None else Scenario.model_validate_json(json.dumps(resolved))
    found = _plan_set(data, head)
    if scenario is not None:
        for plan in found.plans:
            check_shape(plan.evaluation.decision, scenario)
    return StoredSet(found, scenario, _text(head.get("text") or ""))


def _plan_set(data: Node, head: Node) -> PlanSet:
    return PlanSet(
        scenario_name=_text(head["name"]),
        scenario_file=_text(head["file"]),
        scenario_sha256=_text(head["sha256"]),
        headline=_text(head["headline"]),
        planner_version=_text(data["planner_version"]),
        status=_one_of(data["status"], STATUSES),
        certificate=_optional(_certificate, data["certificate"]),
        plans=_each(_plan, data["plans"]),
        cells=tuple(_cells(data["cells"])),
        verdict=_verdict(data["cells"]) if data["cells"].get("verdict") else None,
        defaults=tuple((_text(row["key"]), _text(row["value"])) for row in data["defaults"]),
        sources=tuple((_text(row["value"]), _text(row["source"])) for row in data["sources"]),
        warnings=_texts(data["warnings"]),
        reasons=_texts(data["reasons"]),
        seconds=_number(data["seconds"]),
        versions=tuple((_text(name), _text(version)) for name, version in data["versions"].items()),
    )


def _certificate(row: Node) -> Certificate:
    numbers = (row[key] for key in ("usd_per_hour_lower_bound", "usd_per_hour", "relative_gap", "target_gap"))
    bound, cost, gap, target = map(_perhaps, numbers)
    rounds, solver = int(_number(row["rounds"])), _text(row["solver"])
    return Certificate(bound, cost, gap, target, rounds, _number(row["seconds"]), solver, _texts(row["verified_by"]))


def _plan(row: Node) -> Plan:
    return Plan(int(_number(row["rank"])), _evaluation(row), _texts(row["differs_by"]))


def _evaluation(row: Node) -> Evaluation:
    return Evaluation(
        decision=decision_from(row["decision"]),
        usd_per_hour=_number(row["usd_per_hour"]),
        usd_per_million_tokens=_number(row["usd_per_million_tokens"]),
        costs=_each(_cost, row["costs"]),
        prefill=_pool(row["prefill"]),
        decode=_optional(_pool, row["decode"]),
        tiers=_each(_tier, row["tiers"]),
        effective_hit_rate=_number(row["effective_hit_rate"]),
        paths=_each(_path, row["ttft"]),
        tpot_s=_ms(row["tpot_ms"]),
        binding=_texts(row["binding"]),
        violations=_each(_violation, row["violations"]),
        notes=_texts(row["notes"]),
    )


def _cost(row: Node) -> CostLine:
    amounts = (_number(row["unit_usd_per_hour"]), _number(row["usd_per_hour"]))
    return CostLine(
        _text(row["item"]), _number(row["quantity"]), _text(row["unit"]), *amounts, _text(row["source_key"])
    )


def _pool(row: Node) -> Pool:
    cache = _optional(_number, row.get("hbm_cache_gb"))
    batch = _optional(_number, row.get("batch"))
    return Pool(
        instances=int(_number(row["instances"])),
        gpus_per_instance=int(_number(row["gpus_per_instance"])),
        parallelism=_text(row["parallelism"]),
        nodes=_number(row["nodes"]),
        gpus=int(_number(row["gpus"])),
        billed_gpus=_number(row["billed_gpus"]),
        offered_load=_optional(_number, row.get("offered_load")),
        servers=_optional(_number, row.get("servers")),
        utilization=_optional(_number, row.get("utilization")),
        batch=None if batch is None else int(batch),
        tpot_s=_optional(_ms, row.get("tpot_ms")),
        concurrency=_optional(_number, row.get("concurrency")),
        slots_needed=_optional(_number, row.get("slots_needed")),
        hbm_cache_bytes=None if cache is None else cache * GB,
    )


def _tier(row: Node) -> TierUse:
    return TierUse(
        name=_text(row["name"]),
        role=_one_of(row["role"], ROLES),
        capacity_bytes=_number(row["capacity_gb"]) * GB,
        staging_bytes=_number(row["staging_gb"]) * GB,
        hit_rate=_number(row["hit_rate"]),
        cumulative_hit_rate=_number(row["cumulative_hit_rate"]),
        read_utilization=_number(row["read_utilization"]),
        fetch_s=_ms(row["fetch_ms"]),
        slack_s=_ms(row["slack_ms"]),
        slack_before_fetch_s=_ms(row["slack_before_fetch_ms"]),
        why=_text(row["why"]),
    )


def _path(row: Node) -> TtftPath:
    used = row["in_use"] is not False
    ms = _finite_ms if used else _ms
    return TtftPath(
        class_name=_text(row["class"]),
        path=_text(row["path"]),
        probability=_number(row["probability"]),
        queue_s=ms(row["queue_ms"]),
        fetch_s=ms(row["fetch_ms"]),
        prefill_s=ms(row["prefill_ms"]),
        transfer_s=ms(row["transfer_ms"]),
        total_s=ms(row["total_ms"]),
        slack_s=ms(row["slack_ms"]),
        in_use=used,
    )


def _violation(row: Node) -> Violation:
    return Violation(_text(row["rule"]), _number(row["need"]), _number(row["have"]), _text(row["unit"]))


def _cells(data: Node) -> list[Cell]:
    why_not = data.get("why_not") or {}
    return [
        _cell(architecture, tiered, data[architecture][key], _text(why_not.get(f"{architecture}.{key}", "")))
        for architecture in ARCHITECTURES
        for tiered, key in ((False, "hbm_only"), (True, "tiered"))
        if data[architecture][key] is not None or f"{architecture}.{key}" in why_not
    ]


def _cell(architecture: Architecture, tiered: bool, row: Node | None, why_not: str) -> Cell:
    """A cell's decision and bill; its pools and paths are not in the file, except where a ranked plan is the same."""
    if row is None:
        return Cell(architecture, tiered, None, None, why_not)
    decision, cost = decision_from(row["decision"]), _number(row["usd_per_hour"])
    gap = _optional(_number, row["relative_gap"])
    _one_of(decision.architecture, ARCHITECTURES)
    pool = Pool(decision.prefill_instances, 0, decision.prefill_config, 0.0, 0, 0.0)
    costs = _each(_cost, row.get("costs") or [])
    nan = math.nan
    found = Evaluation(
        decision, cost, _number(row["usd_per_million_tokens"]), costs, pool, None, (), nan, (), nan, (), (), ()
    )
    proof = None if gap is None else Certificate(cost * (1 - gap), cost, gap, gap if row["proven"] else -1.0, 0, 0, "")
    return Cell(architecture, tiered, found, proof, why_not)


def _verdict(data: Node) -> Verdict:
    return Verdict(
        word=_one_of(data["verdict"], ("synergy", "offset", "inconclusive", "not comparable")),
        interaction_usd_per_hour=_optional(_number, data["interaction_usd_per_hour"]),
        saving_both=_optional(_number, data.get("saving_both")),
        saving_disaggregation=_optional(_number, data.get("saving_disaggregation")),
        saving_tiers=_optional(_number, data.get("saving_tiers")),
        limited_by=_texts(data["limited_by"]),
        points=_each(_point, data.get("points") or []),
        limits=_each(_limit, data.get("limits") or []),
        explanation=_text(data.get("explanation") or ""),
    )


def _point(row: Node) -> LoadPoint:
    amount = _optional(_number, row["interaction_usd_per_hour"])
    return LoadPoint(_number(row["load_factor"]), amount, row["fractional"] is True)


def _limit(row: Node) -> Limit:
    kind, cost = _one_of(row["kind"], LIMITS), _optional(_number, row["usd_per_hour"])
    return Limit(kind, _text(row["relaxation"]), cost, row["structure_changed"] is True, _text(row["becomes"]))


def _each(read: Callable[[Node], T], rows: Sequence[Node]) -> tuple[T, ...]:
    return tuple(read(row) for row in rows)


def _optional(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:40]!r} where a number belongs")
    if not abs(value) <= MOST:
        raise ValueError("a number is beyond anything that is built")
    return value


def _perhaps(value: Any) -> float:
    return math.nan if value is None else _number(value)


def _ms(value: Any) -> float:
    return seconds(_perhaps(value))


def _finite_ms(value: Any) -> float:
    return seconds(_number(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} where text belongs")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise ValueError(f"{str(values)[:40]!r} where a list belongs")
    return tuple(_text(value) for value in values)


def _one_of(value: Any, allowed: tuple[T, ...]) -> T:
    for choice in allowed:
        if value == choice:
            return choice
    raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(map(str, allowed))}")
