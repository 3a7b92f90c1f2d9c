"""How far today's plan carries, and which promise breaks first when more is asked of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.physics.system import System
from planner.plan import Evaluation, Violation
from planner.study.axes import Axis, load_carried
from planner.study.keep import kept
from planner.study.points import gpus

BISECTIONS = 30


@dataclass(frozen=True)
class Break:
    """A promise that the plan breaks from ``x`` on; ``need`` and ``have`` are those at the hard end of the range."""

    rule: str
    x: float
    need: float
    have: float
    unit: str


@dataclass(frozen=True)
class Today:
    """The plan at the scenario's own value and how far it carries before a promise breaks."""

    x: float
    plan: Evaluation
    reach: float
    breaks: tuple[Break, ...]  # first to break first


def today(system: System, axis: Axis, plan: Evaluation, hardest: float) -> Today:
    """Ask more and more of ``plan``'s hardware, up to ``hardest``."""
    x = axis.today(system)
    if axis.smallest_step:
        return Today(x, plan, float(gpus(plan)), ())
    if axis.harder < 0:
        plan = kept(system, plan.decision)
        return Today(x, plan, axis.reach(system, plan, hardest), _breaks(system, axis, plan, x, hardest))
    plan = kept(system, plan.decision)
    return Today(x, plan, load_carried(system, plan.decision, hardest), _breaks(system, axis, plan, x, hardest))


def _breaks(system: System, axis: Axis, plan: Evaluation, x: float, hardest: float) -> tuple[Break, ...]:
    """Every rule that is broken at the hard end, with the value from which it is."""

    def violations(value: float) -> dict[str, Violation]:
        return {v.rule: v for v in kept(axis.at(system, value), plan.decision).violations}

    if not axis.is_harder(hardest, x):
        return ()

    def broken_from(rule: str) -> float:
        return _first(lambda value: rule in violations(value), x, hardest)

    found = [Break(rule, broken_from(rule), v.need, v.have, v.unit) for rule, v in violations(hardest).items()]
    return tuple(sorted(found, key=lambda b: axis.harder * b.x))


def _first(broken: Callable[[float], bool], easy: float, hard: float) -> float:
    """The easiest value at which a rule is broken (kept at ``easy``, broken at ``hard``)."""
    for _ in range(BISECTIONS):
        middle = (easy + hard) / 2
        if not math.isfinite(middle) or abs(hard - easy) <= 1e-6 * abs(hard):
            break
        easy, hard = (easy, middle) if broken(middle) else (middle, hard)
    return hard
