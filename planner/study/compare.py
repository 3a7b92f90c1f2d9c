"""Two or more scenarios or plan files: which inputs differ, which outcomes, and why."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.cells import SolveSettings
from planner.describe import differences
from planner.errors import PlannerError
from planner.evaluate import evaluate
from planner.physics.system import System
from planner.physics.timing import ROOFLINE
from planner.plan import Evaluation
from planner.report.node import Misfit, Node
from planner.report.planfile import not_a_plan_file, read_json, read_plan, read_scenario
from planner.scenario import Scenario, load, replace
from planner.scenario.loader import located
from planner.study.cache import content
from planner.study.keep import in_words
from planner.study.points import cheapest
from planner.study.sensitivity import CAPACITY_TOLERANCE

UNIMPORTANT = ("name", "description", "solve")
SECTIONS = ("workload", "slo", "prices", "model", "hardware", "tiers", "read_utilization", "deployment", "engine")
WHOLE = ("model", "hardware")  # two of different names differ as one thing, not in every number of theirs
MOST_TRIED = 40  # differing inputs that are tried alone


@dataclass(frozen=True)
class Side:
    """One file: its scenario and its plan (None where there is none)."""

    file: str
    name: str
    scenario: Scenario
    plan: Evaluation | None
    verdict: str = ""
    notes: tuple[str, ...] = ()  # what to know of the plan: not proven, judged otherwise than the file says
    gave_up: bool = False  # no plan was found in time, which is not to say that there is none


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
    def labels(self) -> tuple[str, ...]:
        """The services' names; with their files where a name is not theirs alone, and numbers where a file is not."""
        names, files = [s.name for s in self.sides], [s.file for s in self.sides]
        short = [Path(f).name for f in files]
        if len(set(short)) < len(set(files)):
            short = files
        out = []
        for i, name in enumerate(names):
            label = name
            if names.count(name) > 1:
                again = f" #{files[: i + 1].count(files[i])}" if files.count(files[i]) > 1 else ""
                label = f"{name} ({short[i]}{again})"
            out.append(label)
        return tuple(out)

    @property
    def without_plan(self) -> tuple[Side, ...]:
        """The sides that have no plan."""
        return tuple(s for s in self.sides if s.plan is None)

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
        inputs = _alone(first.scenario, sides[1].scenario, inputs, progress)
    return Comparison(tuple(sides), inputs, tuple(_outcome(first, other) for other in sides[1:]))


def _side(file: Path, with_verdict: bool) -> Side:
    if file.suffix.lower() == ".json":
        return _stored(file)
    scenario = located(load(file))
    if with_verdict:
        from planner.optimize import solve_scenario

        whole = solve_scenario(scenario, plans=1)
        best = whole.plans[0].evaluation if whole.plans else None
        word = whole.verdict.word if whole.verdict else ""
        proof = whole.certificate
        notes = () if best is None or proof is None or proof.proven else (_unproven(proof.relative_gap),)
        return Side(
            str(file), scenario.name, scenario, best, word, notes, best is None and whole.status != "infeasible"
        )
    found = cheapest(System(scenario), settings_of(scenario))
    notes = (_unproven(found.relative_gap),) if found.plan is not None and found.interrupted else ()
    return Side(
        str(file), scenario.name, scenario, found.plan, "", notes, found.plan is None and bool(found.interrupted)
    )


def settings_of(scenario: Scenario) -> SolveSettings:
    """The scenario's own gap and time limit, from now on."""
    return SolveSettings(scenario.solve.gap, time.perf_counter() + scenario.solve.time_limit_s)


def _unproven(gap: float | None) -> str:
    return "not proven optimal" + (f": a design up to {100 * gap:.2f} % cheaper may exist" if gap is not None else "")


def _stored(file: Path) -> Side:
    """A plan file: its first plan, judged again; what the file says differently is noted."""
    data = Node(read_json(file))
    try:
        if data["status"].text() == "infeasible" and not data["plans"].nodes():
            scenario = read_scenario(data["scenario"]["resolved"])
            return Side(str(file), scenario.name, scenario, None)
    except Misfit:
        pass  # told in full below
    stored = read_plan(file)
    system = System(stored.scenario)
    for name in (stored.decision.prefill_config, stored.decision.decode_config):
        if name is not None and name not in system.config_by_name:
            raise not_a_plan_file(file, f"its scenario has no configuration {name!r}")
    plan = evaluate(system, stored.decision)
    notes = []
    proof = data.value.get("certificate")
    if not isinstance(proof, dict) or not proof.get("proven"):
        gap = proof.get("relative_gap") if isinstance(proof, dict) else None
        notes.append(_unproven(gap if isinstance(gap, float) and math.isfinite(gap) else None))
    if not math.isclose(plan.usd_per_hour, stored.usd_per_hour, rel_tol=1e-6):
        notes.append(
            f"${stored.usd_per_hour:,.2f}/h in the file, of planner {stored.planner_version}; judged again here"
        )
    if plan.violations:
        notes.append(f"judged again, it breaks {'; '.join(in_words(v) for v in plan.violations)}")
    return Side(str(file), stored.scenario.name, stored.scenario, plan, "", tuple(notes))


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
    whole, common = _by_name(sides), _common_classes(sides)
    leaves = [_leaves(s.scenario, whole, common) for s in sides]
    keys = sorted(dict.fromkeys(k for side in leaves for k in side), key=_section)
    out = []
    for key in keys:
        values = tuple(side.get(key) for side in leaves)
        if key == "engine.timing" and _one_content(values):
            continue
        if key.split(".")[0] not in UNIMPORTANT and any(v != values[0] for v in values):
            out.append(InputDifference(key, values))
    return tuple(out)


def _by_name(sides: Sequence[Side]) -> tuple[str, ...]:
    """The sections that are other ones altogether: their names differ."""
    return tuple(part for part in WHOLE if len({getattr(s.scenario, part).name for s in sides}) > 1)


def _one_content(values: Sequence[Any]) -> bool:
    """Whether files of one's own times are the same, wherever they lie."""
    return all(v.lower().endswith(".csv") for v in values) and len({content(v) for v in values}) == 1


def _common_classes(sides: Sequence[Side]) -> frozenset[str]:
    """Names of the request classes that all have."""
    return frozenset.intersection(*(frozenset(k.name for k in s.scenario.workload.classes) for s in sides))


def _leaves(scenario: Scenario, whole: Sequence[str], common: frozenset[str]) -> dict[str, Any]:
    """Every value by its key; what is another thing altogether is one value, in words.

    Without a roofline that nobody asks: its parameters follow from the model, so they differ wherever models do.
    """
    values = scenario.model_dump(mode="json")
    values.update({part: values[part]["name"] for part in whole})
    classes = values["workload"]["classes"]
    values["workload"]["classes"] = [k for k in classes if k["name"] in common]
    for own in (k for k in classes if k["name"] not in common):
        values["workload"][f"classes[{own['name']}]"] = _class_in_words(own)
    if scenario.engine.timing != ROOFLINE:
        del values["engine"]["roofline"]
    return flat(values)


def _class_in_words(own: Mapping[str, Any]) -> str:
    """A request class that the others do not have."""
    words = f"{own['share']:.3g} of load, {own['prompt_tokens']:,} in, {own['output_tokens']:,} out"
    return f"{words}, {own['reusable_tokens']:,} reusable" + (", own curve" if own["reuse"] else "")


def _section(key: str) -> int:
    section = re.split(r"[.\[]", key, maxsplit=1)[0]
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def _alone(
    first: Scenario,
    second: Scenario,
    inputs: tuple[InputDifference, ...],
    progress: Callable[[str], None] | None,
) -> tuple[InputDifference, ...]:
    """What each differing input does by itself to the first's cheapest plan, largest first.

    Those that only make sense together with another (a law's parameters, a model's shape) are left without.
    """
    if not inputs or len(inputs) > MOST_TRIED:
        return inputs
    base, out = System(first), []
    today = cheapest(base, settings_of(first))
    for difference in inputs:
        if progress:
            progress(difference.key)
        moved: float | None = None
        try:
            value = getattr(second, difference.key) if difference.key in WHOLE else difference.values[1]
            changed = replace(first, {_indexed(first, difference.key): value})
            found = cheapest(System(changed, like=base), settings_of(first))
            if today.plan is not None and not found.interrupted:
                moved = found.usd_per_hour - today.usd_per_hour
        except PlannerError:
            pass  # the first scenario cannot have this value alone: what it does alone is not told
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
    lines: dict[str, float] = {}
    pooled = a.decision.architecture != b.decision.architecture  # their pools are not the same things
    for sign, plan in ((-1.0, a), (1.0, b)):
        for line in plan.costs:
            item = "GPUs" if pooled and line.unit == "GPU" else line.item
            lines[item] = lines.get(item, 0.0) + sign * line.usd_per_hour
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
