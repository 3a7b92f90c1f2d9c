"""Plan files and pages to look at: a real solve, and one whose every free text attacks."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from planner.optimize import solve_scenario
from planner.plan import PlanSet
from planner.report.data import to_json
from planner.report.html import report_html
from planner.report.reread import StoredSet, stored_set
from planner.scenario import load
from planner.scenario import replace as changed

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EVIL = (
    "</script></style></title><script>window.hurt=1</script><img src=x onerror=window.hurt=2>"
    '" onmouseover="window.hurt=3" <a href="javascript:window.hurt=4">go</a> %{x} $x$ &lt;b&gt; \u202e\u2028\x1b[31m'
)


@cache
def plan_text(name: str) -> str:
    """The plan file of a scenario of the repository, solved once per process."""
    loaded = load(SCENARIOS / f"{name}.yaml")
    return to_json(solve_scenario(loaded), loaded.model_dump(mode="json", exclude_none=True), loaded.text)


def plan_data(name: str) -> Any:
    """The same as data that may be changed."""
    return json.loads(plan_text(name))


def page_of(data: Any) -> str:
    """Its report."""
    return report_html(stored_set(data))


def hostile() -> Any:
    """A plan file with markup, scripts and controls wherever text is free."""
    data = plan_data("chat")
    keep = {"status", "role", "architecture", "verdict", "kind", "prefill_config", "decode_config"}

    def attacked(node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            return {k: v if k in (*keep, "resolved", "roles") else attacked(v, k) for k, v in node.items()}
        if isinstance(node, list):
            return [attacked(item, key) for item in node]
        return EVIL + node if isinstance(node, str) else node

    changed = attacked(copy.deepcopy(data))
    changed["cells"]["limited_by"] = data["cells"]["limited_by"]
    changed["scenario"]["resolved"]["description"] = EVIL
    changed["scenario"]["resolved"]["model"]["title"] = EVIL[:80]
    return changed


def page_of_set(found: PlanSet, stored: StoredSet | None = None) -> str:
    """The report of results that no file holds."""
    return report_html(stored or StoredSet(found, None, ""))


def named(stored: StoredSet, name: str) -> StoredSet:
    """The same results of a scenario of another name."""
    return replace(stored, plan_set=replace(stored.plan_set, scenario_name=name))


def costing(stored: StoredSet, usd_per_hour: float) -> StoredSet:
    """The same results at another cost of the first plan."""
    first, *rest = stored.plan_set.plans
    dear = replace(first, evaluation=replace(first.evaluation, usd_per_hour=usd_per_hour))
    return replace(stored, plan_set=replace(stored.plan_set, plans=(dear, *rest)))


def at_load(stored: StoredSet, requests_per_second: float) -> StoredSet:
    """The same results, said to be for another load."""
    assert stored.scenario is not None
    return replace(stored, scenario=changed(stored.scenario, {"workload.requests_per_second": requests_per_second}))


def full(stored: StoredSet) -> StoredSet:
    """The same results with a curve that is full where HBM ends."""
    first, *rest = stored.plan_set.plans
    decision = replace(first.evaluation.decision, hits=((0.995,),) * len(first.evaluation.decision.hits))
    plan = replace(first, evaluation=replace(first.evaluation, decision=decision))
    assert stored.scenario is not None
    law = {"workload.reuse.ceiling": 0.995}
    return StoredSet(replace(stored.plan_set, plans=(plan, *rest)), changed(stored.scenario, law), stored.text)
