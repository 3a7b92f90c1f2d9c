"""Many variants of a scenario, one plan each, as a long table.

Points that only tighten a promise are solved from easy to hard: a plan that still keeps the tighter promise is still
the cheapest (the feasible set only shrank), and once nothing fits nothing harder does. Every solved point is stored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.cells import SolveSettings
from planner.errors import InputError, PlannerError
from planner.evaluate import evaluate
from planner.physics.system import System
from planner.scenario import Scenario, replace
from planner.scenario.loader import located, timing_name
from planner.study.cache import Cache, package_digest, point_key
from planner.study.load_note import load_notes
from planner.study.points import cheapest, same_cost
from planner.study.processes import Stop
from planner.study.row import plan_columns, plan_row
from planner.study.worded import Words

HARDER = {"slo.ttft_ms": -1, "slo.tpot_ms": -1, "deployment.max_gpus": -1}  # keys that only tighten a promise
CHUNK = 12  # points of one unit of work, however many processes there are: so that they all give the same table
PROVEN = (
    "optimal",
    "infeasible",
)  # what is kept: with more time, or once a file is there, the rest may come out better
OTHER_PLANNER = "another planner than here: install the same version on all machines"
TOLD_EVERY = 1000  # points that are read and not yet solved
Row = dict[str, Any]
Progress = Callable[[str], None]
Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """One variant: its place in the table, what is changed, and the hash that it is stored under."""

    index: int
    changes: Changes
    key: str
    exact: Changes  # the same as plain values and whole paths: they mean the same in any folder and process


@dataclass
class Sweep:
    """The table so far; ``rows`` are in the order of the points."""

    scenario_name: str
    keys: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    points: int = 0
    cached: int = 0
    solved: int = 0
    carried: int = 0  # kept from an easier point without solving
    seconds: float = 0.0
    interrupted: bool = False
    cause: str = ""  # why, where it was not the user
    notes: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, type | None]:
        """The table's columns with their types, whatever the rows hold; None for the varied keys."""
        plan = {"status": str, "relative_gap": float, **plan_columns(self.tiers), "why": str}
        return {**dict.fromkeys(self.keys), **plan}

    @property
    def invalid(self) -> int:
        """Points that the scenario does not allow."""
        return sum(row["status"] == "invalid" for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether every point has its row."""
        return len(self.rows) == self.points

    @property
    def missing(self) -> int:
        """Points without a row."""
        return self.points - len(self.rows)


@dataclass(frozen=True)
class Work:
    """Points to solve, with the scenario they vary: small enough to send to another process."""

    scenario: str  # JSON
    points: tuple[Point, ...]
    gap: float
    planner: str  # the digest of the planner that asks


class LostError(PlannerError):
    """Whatever solves for a sweep is gone; what it has answered stands."""


Runner = Callable[[Sequence[Work], Stop], Iterable[list[tuple[str, Row]]]]


def sweep(
    scenario: Scenario,
    variants: Iterable[Changes],
    *,
    cache: Cache | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
    stop: Stop = lambda: False,
) -> Sweep:
    """Solve every variant that is not stored yet; what is done when ``stop`` turns true is in the table.

    Raises:
        InputError: The scenario allows no variant.
    """
    started = time.perf_counter()
    scenario, cache = located(scenario), cache or Cache(None)
    wanted = [dict(changes) for changes in variants]
    invalid: dict[str, Row] = {}
    points = list(_points(scenario, wanted, invalid, stop, progress))
    out = Sweep(scenario.name, tuple(wanted[0]) if wanted else (), points=len(wanted))
    out.notes = load_notes(scenario, out.keys)
    out.tiers = tuple(tier.name for tier in scenario.tiers)
    if not any(key.startswith(("engine", "model", "hardware")) for key in out.keys):
        _ = System(scenario).configs  # a fault of its own times is the scenario's, not that of every point
    known = _stored(points, cache, stop)
    out.cached = len(known)
    known |= invalid
    work = _work(scenario, [p for p in points if p.key not in known])
    total = sum(len(w.points) for w in work)
    try:
        for results in (runner or here)(work if not stop() else [], stop):
            _keep(results, known, cache, out)
            if progress:
                progress(f"{out.solved + out.carried} of {total} points")
            if stop():
                break
    except LostError as error:
        out.cause = error.diagnostics[0].message
    out.rows = [
        {**p.changes, **{k: v for k, v in known[p.key].items() if k != "carried"}} for p in points if p.key in known
    ]
    out.interrupted = not out.complete
    if out.rows and out.complete and all(row["status"] == "invalid" for row in out.rows):
        raise InputError(out.rows[0]["why"])
    out.seconds = time.perf_counter() - started
    return out


def _keep(results: Iterable[tuple[str, Row]], known: dict[str, Row], cache: Cache, out: Sweep) -> None:
    """The answers that are new: of a repeated unit of work the first answer stands."""
    for key, row in results:
        if key in known:
            continue
        known[key] = row
        if row["status"] in PROVEN:
            cache.put(key, row)
        out.solved += not row["carried"]
        out.carried += row["carried"]


def _points(
    scenario: Scenario, variants: Sequence[Changes], invalid: dict[str, Row], stop: Stop, progress: Progress | None
) -> Iterator[Point]:
    """The points with their keys; the rows of those that the scenario does not allow go to ``invalid``.

    Raises:
        InputError: The scenario allows none of them.
    """
    first: InputError | None = None
    words = Words(scenario)
    for i, changes in enumerate(variants):
        if stop():
            return
        if progress and i % TOLD_EVERY == TOLD_EVERY - 1:
            progress(f"{i + 1} of {len(variants)} points read")
        exact = changes
        try:
            exact = words.exact(changes)
            varied = replace(scenario, exact)
            key = point_key(varied, scenario.solve.gap)
            if "engine" in exact or "engine.timing" in exact:
                exact = {**exact, "engine.timing": timing_name(varied)}
        except InputError as error:
            first, key = first or error, f"invalid {i}"
            invalid[key] = _invalid(error)
        yield Point(i, changes, key, exact)
    if first is not None and len(invalid) == len(variants):
        raise first


def _invalid(error: InputError) -> Row:
    return {"status": "invalid", "why": error.diagnostics[0].message, "carried": False}


def _stored(points: Sequence[Point], cache: Cache, stop: Stop) -> dict[str, Row]:
    known: dict[str, Row] = {}
    for point in points:
        if stop():
            break
        if point.key not in known and (row := cache.get(point.key)) is not None and row.get("status") in PROVEN:
            known[point.key] = row
    return known


def _work(scenario: Scenario, points: Sequence[Point]) -> list[Work]:
    """Units of work: neighbours along the keys that only tighten stay together, easiest first."""
    unique = list({p.key: p for p in points}.values())
    unique.sort(key=lambda p: (_others(p), _difficulty(p)))
    text = scenario.model_dump_json()
    chunks = (unique[i : i + CHUNK] for i in range(0, len(unique), CHUNK))
    return [Work(text, tuple(chunk), scenario.solve.gap, package_digest()) for chunk in chunks]


def _others(point: Point) -> str:
    return repr([(k, v) for k, v in point.changes.items() if k not in HARDER])


def _difficulty(point: Point) -> tuple[float, ...]:
    return tuple(HARDER[k] * float(v) for k, v in point.changes.items() if k in HARDER)


def here(work: Sequence[Work], stop: Stop = lambda: False) -> Iterator[list[tuple[str, Row]]]:
    """Solve in this process, a point at a time."""
    for unit in work:
        if stop():
            return
        yield from ([answer] for answer in solve_work(unit, stop))


def solved(unit: Work) -> list[tuple[str, Row]]:
    """All answers of one unit of work; what another machine is asked for.

    Raises:
        RuntimeError: Its planner is not the one that asks.
    """
    if unit.planner != package_digest():
        raise RuntimeError(OTHER_PLANNER)
    return list(solve_work(unit))


def solve_work(unit: Work, stop: Stop = lambda: False) -> Iterator[tuple[str, Row]]:
    """The answers of one unit, in its order (easiest first); a solve that ``stop`` cuts short has none."""
    base = Scenario.model_validate_json(unit.scenario)
    like = System(base)
    before: tuple[Point, System, Row, Any] | None = None
    for point in unit.points:
        try:
            system = System(replace(base, point.exact), like=like)
            answer = _carried(before, point, system) or _solve(system, unit.gap, stop)
        except InputError as error:  # times are read when they are first needed
            yield point.key, _invalid(error)
            continue
        if answer is None:
            return
        row, plan = answer
        before = (point, system, row, plan)
        yield point.key, row


def _carried(before: tuple[Point, System, Row, Any] | None, point: Point, system: System) -> tuple[Row, Any] | None:
    """The easier neighbour's answer where it holds here too."""
    if before is None or _others(before[0]) != _others(point) or not _only_harder(before[0], point):
        return None
    _, _, row, plan = before
    if plan is None:
        return ({**row, "carried": True}, None) if row["status"] == "infeasible" else None
    again = evaluate(system, plan.decision)
    if not again.feasible or not same_cost(again.usd_per_hour, plan.usd_per_hour) or row["status"] != "optimal":
        return None
    return {**row, **plan_row(again), "carried": True}, again


def _only_harder(easy: Point, hard: Point) -> bool:
    pairs = zip(_difficulty(easy), _difficulty(hard), strict=True)
    return all(a <= b for a, b in pairs)


def _solve(system: System, gap: float, stop: Stop) -> tuple[Row, Any] | None:
    limit = system.scenario.solve.time_limit_s
    found = cheapest(system, SolveSettings(gap, time.perf_counter() + limit, stop))
    if found.interrupted == "interrupted":
        return None
    if found.plan is None:
        if found.interrupted:
            return {
                "status": "gave up",
                "why": f"no plan within {limit:g} s (solve.time_limit_s)",
                "carried": False,
            }, None
        return {"status": "infeasible", "carried": False}, None
    relative = found.relative_gap or 0.0
    status = "optimal" if relative <= max(gap, 1e-9) and math.isfinite(found.bound) else "feasible"
    return {"status": status, "relative_gap": relative, **plan_row(found.plan), "carried": False}, found.plan
