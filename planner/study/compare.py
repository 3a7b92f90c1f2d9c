"""Two or more scenarios or plan files: which inputs differ, which outcomes, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.cells import SolveSettings
from planner.describe import differences
from planner.errors import InputError, PlannerError
from planner.evaluate import evaluate
from planner.physics.system import System
from planner.plan import Evaluation
from planner.report.planfile import read_plan
from planner.scenario import Scenario, load, replace
from planner.study.points import cheapest
from planner.study.sensitivity import CAPACITY_TOLERANCE

UNIMPORTANT = ("name", "description", "solve")
MOST_TRIED = 40  # differing inputs that are tried alone


@dataclass(frozen=True)
class Side:
    """One file: its scenario and its plan (None where nothing fits)."""

    file: str
    name: str
    scenario: Scenario
    plan: Evaluation | None
    verdict: str


@dataclass(frozen=True)
class InputDifference:
    """A key whose value differs; ``alone_usd_per_hour`` is what it alone does to the first's cost."""

    key: str
    values: tuple[Any, ...]
    alone_usd_per_hour: float | None = None


@dataclass(frozen=True)
class Outcome:
    """A later file's plan against the first's."""

    file: str
    usd_per_hour: float | None  # more than the first
    structure: tuple[str, ...]
    cost_lines: tuple[tuple[str, float], ...]  # largest change first
    binding_gained: tuple[str, ...]
    binding_lost: tuple[str, ...]
    same_plan: bool


@dataclass(frozen=True)
class Comparison:
    """All sides; differences are told against the first."""

    sides: tuple[Side, ...]
    inputs: tuple[InputDifference, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def differs(self) -> bool:
        """Whether any plan differs from the first: structure, or a capacity by more than 2 %."""
        return any(not o.same_plan for o in self.outcomes)


def compare(
    files: Sequence[Path], *, with_verdict: bool = False, progress: Callable[[str], None] | None = None
) -> Comparison:
    """Load, solve (scenarios) or judge again (plan files), and compare with the first."""
    sides = []
    for file in files:
        if progress:
            progress(str(file))
        sides.append(_side(file, with_verdict))
    first = sides[0]
    inputs = _inputs(sides)
    if len(sides) == 2 and first.plan is not None:
        inputs = _alone(first, inputs, progress)
    return Comparison(tuple(sides), inputs, tuple(_outcome(first, other) for other in sides[1:]))


def _side(file: Path, with_verdict: bool) -> Side:
    if file.suffix.lower() == ".json":
        stored = read_plan(file)
        plan = evaluate(System(stored.scenario), stored.decision)
        return Side(str(file), stored.scenario.name, stored.scenario, plan, "")
    scenario = load(file)
    if with_verdict:
        from planner.optimize import solve_scenario

        found = solve_scenario(scenario, plans=1)
        best = found.plans[0].evaluation if found.plans else None
        return Side(str(file), scenario.name, scenario, best, found.verdict.word if found.verdict else "")
    plan_now = cheapest(System(scenario), SolveSettings(scenario.solve.gap)).plan
    return Side(str(file), scenario.name, scenario, plan_now, "")


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Every leaf of nested mappings and lists by its dotted path; tiers and classes go by their name."""
    if isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for key, inner in value.items():
            out.update(flat(inner, f"{prefix}.{key}" if prefix else str(key)))
        return out
    if isinstance(value, list | tuple) and value and all(isinstance(v, Mapping) for v in value):
        out = {}
        for i, inner in enumerate(value):
            out.update(flat(inner, f"{prefix}[{inner.get('name', i)}]"))
        return out
    return {prefix: tuple(value) if isinstance(value, list) else value}


def _inputs(sides: Sequence[Side]) -> tuple[InputDifference, ...]:
    leaves = [flat(s.scenario.model_dump(mode="json")) for s in sides]
    keys = dict.fromkeys(k for side in leaves for k in side)
    out = []
    for key in keys:
        values = tuple(side.get(key) for side in leaves)
        if key.split(".")[0] not in UNIMPORTANT and any(v != values[0] for v in values):
            out.append(InputDifference(key, values))
    return tuple(out)


def _alone(
    first: Side, inputs: tuple[InputDifference, ...], progress: Callable[[str], None] | None
) -> tuple[InputDifference, ...]:
    """What each differing input does by itself; those that cannot be changed alone are left without."""
    if len(inputs) > MOST_TRIED or first.plan is None:
        return inputs
    base, out = System(first.scenario), []
    for difference in inputs:
        if progress:
            progress(difference.key)
        moved: float | None = None
        try:
            changed = replace(first.scenario, {_indexed(first.scenario, difference.key): difference.values[1]})
            found = cheapest(System(changed, like=base), SolveSettings(first.scenario.solve.gap))
            moved = found.usd_per_hour - first.plan.usd_per_hour if math.isfinite(found.usd_per_hour) else math.inf
        except (InputError, PlannerError, ValueError, TypeError):
            pass  # only makes sense together with another input (a law's parameters, a model's shape)
        out.append(InputDifference(difference.key, difference.values, moved))
    return tuple(sorted(out, key=lambda d: -abs(d.alone_usd_per_hour or 0.0)))


def _indexed(scenario: Scenario, key: str) -> str:
    for t, tier in enumerate(scenario.tiers):
        key = key.replace(f"tiers[{tier.name}]", f"tiers[{t}]")
    for k, one in enumerate(scenario.workload.classes):
        key = key.replace(f"classes[{one.name}]", f"classes[{k}]")
    return key


def _outcome(first: Side, other: Side) -> Outcome:
    if first.plan is None or other.plan is None:
        return Outcome(other.file, None, (), (), (), (), first.plan is None and other.plan is None)
    a, b = first.plan, other.plan
    lines = {line.item: -line.usd_per_hour for line in a.costs}
    for line in b.costs:
        lines[line.item] = lines.get(line.item, 0.0) + line.usd_per_hour
    moved = sorted(((k, v) for k, v in lines.items() if abs(v) > 1e-9), key=lambda p: -abs(p[1]))
    same_tiers = [t.name for t in a.tiers] == [t.name for t in b.tiers]
    structure = differences(a, b) if same_tiers else (f"{b.decision.architecture}, other tiers",)
    return Outcome(
        other.file,
        b.usd_per_hour - a.usd_per_hour,
        structure,
        tuple(moved),
        tuple(r for r in b.binding if r not in a.binding),
        tuple(r for r in a.binding if r not in b.binding),
        same_tiers and _same_plan(a, b),
    )


def _same_plan(a: Evaluation, b: Evaluation) -> bool:
    return a.decision.structure() == b.decision.structure() and all(
        abs(x.capacity_bytes - y.capacity_bytes) <= CAPACITY_TOLERANCE * max(x.capacity_bytes, 1.0)
        for x, y in zip(a.tiers[1:], b.tiers[1:], strict=True)
    )
