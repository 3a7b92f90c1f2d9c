"""Reads a plan file back: the scenario that it carries and the decisions that it lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import Diagnostic, InputError
from planner.plan import Decision
from planner.scenario import Scenario
from planner.units import GB

MAX_BYTES = 64_000_000


@dataclass(frozen=True)
class StoredPlan:
    """One plan of a plan file, with what it was said to cost."""

    rank: int
    ranks: int
    decision: Decision
    usd_per_hour: float
    scenario: Scenario
    planner_version: str


def read_plan(path: Path, rank: int = 1) -> StoredPlan:
    """The plan of that rank.

    Raises:
        InputError: The file cannot be read, is no plan file, or has no such rank.
    """
    data = read_json(path)
    plans = data.get("plans") if isinstance(data, dict) else None
    if not isinstance(plans, list):
        raise not_a_plan_file(path, "it has no list of plans")
    if not plans:
        raise not_a_plan_file(path, "it lists no plan: its scenario is infeasible")
    found = next((plan for plan in plans if isinstance(plan, dict) and plan.get("rank") == rank), None)
    if found is None:
        raise InputError(Diagnostic("unknown-rank", f"{path}: no plan of rank {rank}; it has {len(plans)}"))
    try:
        scenario = Scenario.model_validate_json(json.dumps(data["scenario"]["resolved"]))
        decision = decision_from(found["decision"])
        check_shape(decision, scenario)
        return StoredPlan(
            rank, len(plans), decision, float(found["usd_per_hour"]), scenario, str(data["planner_version"])
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise not_a_plan_file(path, f"{type(error).__name__} at {' '.join(str(error).split())[:120]}") from None


def read_json(path: Path) -> Any:
    """The JSON of a file of bounded size."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(Diagnostic("unreadable-file", f"cannot read {path}: {error.strerror}")) from None
    if len(raw) > MAX_BYTES:
        raise not_a_plan_file(path, "it is larger than 64 MB")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise not_a_plan_file(path, f"it is not JSON ({' '.join(str(error).split())[:80]})") from None


def not_a_plan_file(path: Path, why: str) -> InputError:
    """What a file that no solve wrote is refused with."""
    return InputError(Diagnostic("not-a-plan-file", f"{path}: not a plan file of planner solve: {why}"))


def decision_from(data: Mapping[str, Any]) -> Decision:
    """A decision as the plan file has it."""
    return Decision(
        architecture=data["architecture"],
        prefill_config=_text(data["prefill_config"]),
        prefill_instances=_count(data["prefill_instances"]),
        batch=None if data["batch"] is None else _count(data["batch"]),
        decode_config=None if data["decode_config"] is None else _text(data["decode_config"]),
        decode_instances=_count(data["decode_instances"]),
        decode_batch=None if data["decode_batch"] is None else _count(data["decode_batch"]),
        roles=tuple(data["roles"]),
        capacity_bytes=tuple(tuple(float(part) * GB for part in tier) for tier in data["capacity_gb"]),
        hbm_bytes=tuple(float(part) * GB for part in data["hbm_gb"]),
        hits=tuple(tuple(float(part) for part in level) for level in data["hits"]),
    )


def _count(value: Any) -> int:
    if isinstance(value, int) and 0 <= value <= 1_000_000:
        return value
    raise ValueError("decision (a count is no count)")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("decision (a name is no name)")


def check_shape(decision: Decision, scenario: Scenario) -> None:
    """Refuse what no solve wrote: a decision of another scenario's shape."""
    tiers, parts = len(scenario.tiers), len(decision.hbm_bytes)
    shapes = [len(decision.roles), len(decision.capacity_bytes), len(decision.hits) - 1]
    rows = {len(row) for row in (*decision.capacity_bytes, *decision.hits)} | {parts}
    if shapes != [tiers] * 3 or len(rows) != 1 or decision.prefill_instances < 1:
        raise ValueError("decision (its shape is not the scenario's)")
    colocated = decision.architecture == "colocated"
    counted = decision.batch if colocated else decision.decode_batch and decision.decode_instances
    if decision.architecture not in ("colocated", "disaggregated") or colocated != (decision.decode_config is None):
        raise ValueError("decision.architecture")
    if not counted or not set(decision.roles) <= {"unused", "sync", "prefetch"}:
        raise ValueError("decision (a batch, a count or a role)")
