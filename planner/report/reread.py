"""A plan file as the results that it was written from: the inverse of :mod:`planner.report.data`.

What a file holds is checked by type on the way in; a file that no solve wrote is one InputError that names the place.
Numbers that may be infinite (a slack, a bound) became ``null`` and come back as NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from planner.plan import (
    Architecture,
    Cell,
    Certificate,
    Change,
    Conflict,
    Evaluation,
    Fix,
    Plan,
    PlanSet,
    Pool,
    Status,
    TtftPath,
    Verdict,
    Word,
)
from planner.report.consistent import check_consistent
from planner.report.data import SCHEMA_VERSION
from planner.report.node import Misfit, Node
from planner.report.planfile import not_a_plan_file, read_decision, read_json, read_scenario
from planner.report.records import CERTIFICATE, COST, LIMITING, PATH, POINT, POOL, TIER, VIOLATION
from planner.scenario import Scenario

if TYPE_CHECKING:
    from planner.physics.system import System

ARCHITECTURES: tuple[Architecture, ...] = ("colocated", "disaggregated")
STATUSES: tuple[Status, ...] = ("optimal", "feasible", "infeasible")
WORDS: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class StoredSet:
    """Everything that a plan file holds."""

    plan_set: PlanSet
    scenario: Scenario | None  # None where the file was written without its values
    text: str  # of the scenario file; empty where there was none
    path: str = ""  # of the file that this was read from

    @cached_property
    def system(self) -> System | None:
        """The scenario's physics."""
        from planner.physics.system import System

        return None if self.scenario is None else System(self.scenario)


def read_plan_set(path: Path) -> StoredSet:
    """All plans, cells and facts of a plan file.

    Raises:
        InputError: The file cannot be read or is no plan file.
    """
    data = read_json(path)
    try:
        return replace(stored_set(data), path=str(path))
    except (Misfit, OverflowError) as error:
        raise not_a_plan_file(path, str(error), data) from None


def stored_set(data: Any) -> StoredSet:
    """The results in a plan file's JSON.

    Raises:
        Misfit: The data is not what a solve writes, or contradicts itself.
    """
    root = Node(data)
    version = root.get("schema_version")
    if not version.absent and version.count() < 1:
        raise Misfit("schema_version", f"is {version.value}; the first one is 1")
    if not version.absent and version.number() > SCHEMA_VERSION:
        raise Misfit("schema_version", f"is {version.value}, of a newer planner; this one reads {SCHEMA_VERSION}")
    head = root["scenario"]
    scenario = head.get("resolved").optional(read_scenario)
    found = _plan_set(root, head)
    for plan in root["plans"].nodes():
        read_decision(plan["decision"], scenario)
    check_consistent(found)
    return StoredSet(found, scenario, head.get("text").optional(Node.text) or "")


def _plan_set(root: Node, head: Node) -> PlanSet:
    cells = root["cells"]
    return PlanSet(
        scenario_name=head["name"].text(),
        scenario_file=head["file"].text(),
        scenario_sha256=head["sha256"].text(),
        headline=head["headline"].text(),
        planner_version=root["planner_version"].text(),
        status=root["status"].one_of(STATUSES),
        certificate=root["certificate"].optional(CERTIFICATE.read),
        plans=root["plans"].each(_plan),
        cells=tuple(_cells(cells)),
        verdict=None if cells.get("verdict").absent else _verdict(cells),
        defaults=root["defaults"].each(lambda row: (row["key"].text(), row["value"].text())),
        sources=root["sources"].each(lambda row: (row["value"].text(), row["source"].text())),
        warnings=root["warnings"].each(Node.text),
        reasons=root["reasons"].each(Node.text),
        conflicts=() if root.get("conflicts").absent else root["conflicts"].each(_conflict),
        fixes=() if root.get("fixes").absent else root["fixes"].each(_fix),
        seconds=root["seconds"].number(),
        versions=tuple((name, root["versions"][name].text()) for name in root["versions"].mapping()),
    )


def _plan(row: Node) -> Plan:
    return Plan(row["rank"].count(), _evaluation(row), row["differs_by"].each(Node.text))


def _evaluation(row: Node) -> Evaluation:
    return Evaluation(
        decision=read_decision(row["decision"], None),
        usd_per_hour=row["usd_per_hour"].number(),
        usd_per_million_tokens=row["usd_per_million_tokens"].number(),
        costs=row["costs"].each(COST.read),
        prefill=POOL.read(row["prefill"]),
        decode=row["decode"].optional(POOL.read),
        tiers=row["tiers"].each(TIER.read),
        effective_hit_rate=row["effective_hit_rate"].number(),
        paths=row["ttft"].each(_path),
        tpot_s=row["tpot_ms"].number() / 1e3,
        binding=row["binding"].each(Node.text),
        violations=row["violations"].each(VIOLATION.read),
        notes=row["notes"].each(Node.text),
        tpot_error=row.get("tpot_error").optional(_range),
        ttft_error=row.get("ttft_error").optional(_range),
    )


def _range(row: Node) -> tuple[float, float]:
    ends = row.each(Node.number)
    if len(ends) != 2:
        raise row.misfit("a pair of numbers")
    return ends[0], ends[1]


def _path(row: Node) -> TtftPath:
    found = PATH.read(row)
    times = (found.queue_s, found.fetch_s, found.prefill_s, found.transfer_s, found.total_s, found.slack_s)
    if found.in_use and not all(map(math.isfinite, times)):
        raise Misfit(row.path, "is in use and has a time that is null")
    return found


def _conflict(row: Node) -> Conflict:
    return Conflict(
        row["code"].text(), row["promise"].text(), row["best"].perhaps(), row["limit"].perhaps(), row["unit"].text(),
        row["key"].text(), row["line"].optional(Node.count), row["alone"].flag(),
    )  # fmt: skip


def _fix(row: Node) -> Fix:
    def change(one: Node) -> Change:
        return Change(one["key"].text(), one["line"].optional(Node.count), one["from"].value, one["to"].value)

    return Fix(row["changes"].each(change), row["usd_per_hour"].number())


def _cells(data: Node) -> list[Cell]:
    why_not = data.get("why_not")
    said = {} if why_not.absent else {key: why_not[key].text() for key in why_not.mapping()}
    return [
        _cell(architecture, tiered, data[architecture][key], said.get(f"{architecture}.{key}", ""))
        for architecture in ARCHITECTURES
        for tiered, key in ((False, "hbm_only"), (True, "tiered"))
        if not data[architecture][key].absent or f"{architecture}.{key}" in said
    ]


def _cell(architecture: Architecture, tiered: bool, row: Node, why_not: str) -> Cell:
    """A cell's decision and bill; its pools and paths are not in the file, except where a ranked plan is the same."""
    if row.absent:
        return Cell(architecture, tiered, None, None, why_not)
    decision, cost = read_decision(row["decision"], None), row["usd_per_hour"].number()
    gap = row["relative_gap"].optional(Node.number)
    row["decision"]["architecture"].one_of(ARCHITECTURES)
    pool = Pool(decision.prefill_instances, 0, decision.prefill_config, 0.0, 0, 0.0)
    costs = () if row.get("costs").absent else row["costs"].each(COST.read)
    tokens, nan = row["usd_per_million_tokens"].number(), math.nan
    found = Evaluation(decision, cost, tokens, costs, pool, None, (), nan, (), nan, (), (), ())
    target = gap if gap is not None and row["proven"].flag() else -1.0
    proof = None if gap is None else Certificate(cost * (1 - gap), cost, gap, target, 0, 0, "")
    return Cell(architecture, tiered, found, proof, why_not)


def _verdict(data: Node) -> Verdict:
    return Verdict(
        word=data["verdict"].one_of(WORDS),
        interaction_usd_per_hour=data["interaction_usd_per_hour"].optional(Node.number),
        saving_both=data.get("saving_both").optional(Node.number),
        saving_disaggregation=data.get("saving_disaggregation").optional(Node.number),
        saving_tiers=data.get("saving_tiers").optional(Node.number),
        limited_by=data["limited_by"].each(Node.text),
        points=() if data.get("points").absent else data["points"].each(POINT.read),
        limits=() if data.get("limits").absent else data["limits"].each(LIMITING.read),
        explanation=data.get("explanation").optional(Node.text) or "",
    )
