"""Several services, one budget: who gets which plan, what more would buy, and who is cut first."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.errors import GaveUpError
from planner.study.budget_model import GAP, Choice, choose, least_for_more
from planner.study.columns import Column, Service

HOURS_PER_MONTH = 730.0
STEPS = {"usd": 1000.0 / HOURS_PER_MONTH, "gpus": 8.0}  # what the price of a limit is told for: $1,000 a month, a node
TIER_STEP_GB = 1000.0
NEIGHBOURHOOD_S = 6.0  # no further neighbour is solved after this


@dataclass(frozen=True)
class More:
    """What a little more of one limit would buy."""

    resource: str
    step: float
    value: float  # gained, weighted Mtok an hour
    usd_per_hour: float  # spent more
    changes: tuple[str, ...]
    raise_by: float | None  # the least of it that buys anything; None where more buys nothing at all
    raise_value: float  # what that buys
    raise_changes: tuple[str, ...]


@dataclass(frozen=True)
class Cut:
    """A service that gives way as the first limit tightens."""

    service: str
    level_from: float
    level_to: float
    value_lost: float
    freed: float  # of the tightening resource
    limit: float  # at which it happens


@dataclass(frozen=True)
class Budget:
    """The choice and its neighbourhood."""

    services: tuple[Service, ...]
    limits: tuple[tuple[str, float], ...]
    choice: Choice
    full_usd_per_hour: float | None  # of serving everything, without limits
    most_value: float
    more: tuple[More, ...]
    tightened: str  # the resource that the cuts tighten
    cuts: tuple[Cut, ...]
    seconds: float
    solve_seconds: float


def budget(
    services: Sequence[Service],
    limits: Mapping[str, float],
    *,
    serve_all: bool = False,
    gap: float = GAP,
    time_limit_s: float = 60.0,
    cuts: int = 3,
) -> Budget | None:
    """Choose a column per service within ``limits``; None where nothing fits (only with ``serve_all``)."""
    started = time.perf_counter()
    choice = choose(services, limits, serve_all=serve_all, gap=gap, time_limit_s=time_limit_s)
    solve_seconds = time.perf_counter() - started
    if choice is None:
        return None
    full = choose(services, {}, serve_all=True, gap=gap)
    until = started + NEIGHBOURHOOD_S
    more = []
    for resource in limits if not serve_all else ():
        if time.perf_counter() < until:
            more.append(_more(services, limits, choice, resource, gap))
    tightened = next(iter(limits), "usd")
    return Budget(
        tuple(services),
        tuple(limits.items()),
        choice,
        full.usd_per_hour if full else None,
        sum(s.weight * s.mtok_per_hour for s in services),
        tuple(more),
        tightened,
        () if serve_all else _cuts(services, limits, choice, tightened, gap, cuts, until),
        time.perf_counter() - started,
        solve_seconds,
    )


def _more(services: Sequence[Service], limits: Mapping[str, float], now: Choice, resource: str, gap: float) -> More:
    step = STEPS.get(resource, TIER_STEP_GB)
    then = choose(services, {**limits, resource: limits[resource] + step}, gap=gap) or now
    changes = _moves(services, now.columns, then.columns)
    try:
        higher = least_for_more(services, limits, resource, now.value, time.perf_counter() + NEIGHBOURHOOD_S)
    except GaveUpError:
        higher = None
    by = None if higher is None else max(0.0, sum(c.uses(resource) for c in higher) - limits[resource])
    gained = 0.0 if higher is None else sum(c.value for c in higher) - now.value
    raised = () if higher is None else _moves(services, now.columns, higher)
    value, usd = max(0.0, then.value - now.value), then.usd_per_hour - now.usd_per_hour
    return More(resource, step, value, usd, changes, by, gained, raised)


def _moves(services: Sequence[Service], before: Sequence[Column], after: Sequence[Column]) -> tuple[str, ...]:
    """Who is served more or less."""
    return tuple(
        f"{s.name} {a.level:.0%} → {b.level:.0%}"
        for s, a, b in zip(services, before, after, strict=True)
        if a.level != b.level
    )


def _cuts(
    services: Sequence[Service],
    limits: Mapping[str, float],
    now: Choice,
    resource: str,
    gap: float,
    count: int,
    until: float,
) -> tuple[Cut, ...]:
    """Tighten one limit to just below what is used, again and again, and see who gives way."""
    out: list[Cut] = []
    for _ in range(4 * count):
        used = now.uses(resource)
        if used <= 0 or len(out) >= count or time.perf_counter() > until:
            break
        limit = used * (1 - 1e-6)
        then = choose(services, {**limits, resource: limit}, gap=gap)
        if then is None:
            break
        for service, a, b in zip(services, now.columns, then.columns, strict=True):
            if b.level < a.level:
                out.append(_cut(service, a, b, resource, limit))
        now = then
    return tuple(out[:count])


def _cut(service: Service, a: Column, b: Column, resource: str, limit: float) -> Cut:
    return Cut(service.name, a.level, b.level, a.value - b.value, a.uses(resource) - b.uses(resource), limit)


def impossible(service: Service) -> bool:
    """Whether no plan serves all of it, whatever the limits."""
    return not any(c.level >= 1.0 for c in service.columns)
