"""Reads a plan file back: the scenario that it carries and the decisions that it lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import Diagnostic, InputError
from planner.plan import Decision
from planner.report.node import Misfit, Node
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
    root = Node(data)
    try:
        plans = root["plans"].nodes()
        if not plans:
            raise Misfit("plans", "is empty: the scenario is infeasible, and there is no plan to read")
        found = next((plan for plan in plans if plan["rank"].value == rank), None)
        if found is None:
            raise InputError(Diagnostic("unknown-rank", f"{path}: no plan of rank {rank}; it has {len(plans)}"))
        scenario = read_scenario(root["scenario"]["resolved"])
        decision = read_decision(found["decision"], scenario)
        cost, version = found["usd_per_hour"].number(), root["planner_version"].text()
    except (Misfit, OverflowError) as error:
        raise not_a_plan_file(path, str(error), data) from None
    return StoredPlan(rank, len(plans), decision, cost, scenario, version)


def read_scenario(node: Node) -> Scenario:
    """The scenario's values.

    Raises:
        Misfit: They are not a scenario's.
    """
    from pydantic import ValidationError

    try:
        return Scenario.model_validate_json(json.dumps(node.mapping()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, (node.path, *first["loc"])))
        raise Misfit(place, f"does not fit: {first['msg'][:160]}") from None


def read_decision(node: Node, scenario: Scenario | None) -> Decision:
    """A decision, of the scenario's shape where that is known.

    Raises:
        Misfit: No solve wrote it.
    """
    try:
        decision = decision_from(node.mapping())
        if scenario is not None:
            check_shape(decision, scenario)
    except Misfit:
        raise
    except KeyError as error:
        raise Misfit(node.path, f"has no key {error}") from None
    except ValueError as error:
        raise Misfit(node.path, f"does not fit: {' '.join(str(error).split())[:160]}") from None
    except TypeError:
        raise Misfit(node.path, "does not fit: a list or a number is of another type") from None
    return decision


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
        raise not_a_plan_file(path, _not_json(error)) from None


def _not_json(error: Exception) -> str:
    """Why a text is not JSON; most often its end is missing."""
    said = " ".join(str(error).split())[:80]
    if isinstance(error, json.JSONDecodeError):
        if not error.doc.strip():
            return "it is empty"
        if error.pos >= len(error.doc.rstrip()) - 1 or said.startswith("Unterminated string"):
            return "it ends too early: the file is cut off"
    return f"it is not JSON ({said})"


def not_a_plan_file(path: Path, why: str, data: Any = None) -> InputError:
    """What a file that no solve wrote is refused with: what is wrong with it, and what to give instead."""
    wanted = "give plans.json of planner solve; `planner solve SCENARIO` writes it to reports/NAME/plans.json"
    kind = data.get("kind") if isinstance(data, dict) else None
    fault = f"written by planner {kind[:40]}, not by planner solve" if isinstance(kind, str) else (
        f"not a plan file of planner solve: {why}"
    )  # fmt: skip
    return InputError(Diagnostic("not-a-plan-file", f"{path}: {fault}", hint=wanted))


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
    raise ValueError("a count is none")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("a name is none")


def check_shape(decision: Decision, scenario: Scenario) -> None:
    """Refuse what no solve wrote: a decision of another scenario's shape."""
    tiers, parts = len(scenario.tiers), len(decision.hbm_bytes)
    shapes = [len(decision.roles), len(decision.capacity_bytes), len(decision.hits) - 1]
    rows = {len(row) for row in (*decision.capacity_bytes, *decision.hits)} | {parts}
    if shapes != [tiers] * 3 or len(rows) != 1 or decision.prefill_instances < 1:
        raise ValueError("its shape is not the scenario's")
    colocated = decision.architecture == "colocated"
    counted = decision.batch if colocated else decision.decode_batch and decision.decode_instances
    if decision.architecture not in ("colocated", "disaggregated") or colocated != (decision.decode_config is None):
        raise ValueError("its architecture is none, or has other pools")
    if not counted or not set(decision.roles) <= {"unused", "sync", "prefetch"}:
        raise ValueError("a batch, a count or a role is none")
