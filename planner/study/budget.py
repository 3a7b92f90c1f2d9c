"""Several services, one budget: who gets which plan, what more would buy, and who is cut first."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.errors import GaveUpError
from planner.study.budget_model import GAP, ROUNDING, Choice, choose, least_for_all, least_for_more
from planner.study.columns import Column, Service
from planner.study.load_note import kept_notes
from planner.study.processes import Stop

HOURS_PER_MONTH = 730.0
STEPS = {"usd": 1000.0 / HOURS_PER_MONTH, "gpus": 8.0}  # what the price of a limit is told for: $1,000 a month, a node
JUST_BELOW = 1 - 1e-6
TIER_STEP_GB = 1000.0
NEIGHBOURHOOD_S = 4.0  # for what a little more would buy and who is cut first: left out where it takes longer


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
class Move:
    """A service that is served more or less than before."""

    service: str
    level_from: float
    level_to: float
    value: float  # gained, negative where lost

    def __str__(self) -> str:
        """As it is told: ``chat 50% → 25%``."""
        return f"{self.service} {self.level_from:.0%} → {self.level_to:.0%}"


@dataclass(frozen=True)
class Cut:
    """One step down as the first limit tightens: who gives way, and who gets part of what that frees.

    Steps go on from one another, the first from the plan: losses and what is freed add up.
    """

    falls: tuple[Move, ...]  # the greatest loss first
    rises: tuple[Move, ...]
    value_lost: float  # net
    freed: float  # of the tightening resource, net
    usd_per_hour_freed: float
    limit: float  # below which it happens


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
    interrupted: bool = False
    untold: tuple[str, ...] = ()  # limits for which what more would buy was not found in time
    cuts_untold: bool = False  # whether further cuts were not found in time

    @property
    def notes(self) -> tuple[str, ...]:
        """What stays where a service's load moves."""
        return kept_notes({s.name: s.observed_at for s in self.services if s.observed_at})


def budget(
    services: Sequence[Service],
    limits: Mapping[str, float],
    *,
    serve_all: bool = False,
    gap: float = GAP,
    time_limit_s: float = 60.0,
    cuts: int = 3,
    stop: Stop | None = None,
) -> Budget | None:
    """Choose a column per service within ``limits``; None where nothing fits (only with ``serve_all``)."""
    started = time.perf_counter()
    choice = choose(services, limits, serve_all=serve_all, gap=gap, time_limit_s=time_limit_s, stop=stop)
    solve_seconds = time.perf_counter() - started
    if choice is None:
        return None
    full = choose(services, {}, serve_all=True)
    until = time.perf_counter() + NEIGHBOURHOOD_S
    tightened = next(iter(limits), "usd")
    beside = not serve_all and not (stop is not None and stop())
    more = tuple(_all_more(services, limits, choice, gap, until, stop)) if beside else ()
    cut, cuts_untold = _cuts(services, limits, choice, tightened, gap, cuts, until, stop) if beside else ((), False)
    return Budget(
        tuple(services),
        tuple(limits.items()),
        choice,
        full.usd_per_hour if full else None,
        sum(s.weight * s.mtok_per_hour for s in services),
        more,
        tightened,
        cut,
        time.perf_counter() - started,
        solve_seconds,
        stop is not None and stop(),
        tuple(r for r in limits if not serve_all and all(m.resource != r for m in more)),
        cuts_untold or not (beside or serve_all),
    )


def _all_more(
    services: Sequence[Service], limits: Mapping[str, float], now: Choice, gap: float, until: float, stop: Stop | None
) -> Iterator[More]:
    for resource in limits:
        if time.perf_counter() < until and not (stop is not None and stop()):
            with contextlib.suppress(GaveUpError):
                yield _more(services, limits, now, resource, gap, until, stop)


def _more(
    services: Sequence[Service],
    limits: Mapping[str, float],
    now: Choice,
    resource: str,
    gap: float,
    until: float,
    stop: Stop | None,
) -> More:
    step = STEPS.get(resource, TIER_STEP_GB)
    wider = {**limits, resource: limits[resource] + step}
    left = until - time.perf_counter()
    then = choose(services, wider, gap=gap, time_limit_s=left, stop=stop, least_cost=False) or now
    if then.relative_gap > gap:
        raise GaveUpError("budget: what more would buy was not found in time")
    changes = _moves(services, now.columns, then.columns)
    higher = least_for_more(services, limits, resource, now.value, until, stop)
    by = None if higher is None else max(0.0, sum(c.uses(resource) for c in higher) - limits[resource])
    gained = 0.0 if higher is None else sum(c.value for c in higher) - now.value
    raised = () if higher is None else _moves(services, now.columns, higher)
    value, usd = max(0.0, then.value - now.value), then.usd_per_hour - now.usd_per_hour
    return More(resource, step, value, usd, changes, by, gained, raised)


def _moves(services: Sequence[Service], before: Sequence[Column], after: Sequence[Column]) -> tuple[str, ...]:
    """Who is served more or less, in words."""
    return tuple(str(move) for move in _moved(services, before, after))


def _moved(services: Sequence[Service], before: Sequence[Column], after: Sequence[Column]) -> list[Move]:
    return [
        Move(s.name, a.level, b.level, b.value - a.value)
        for s, a, b in zip(services, before, after, strict=True)
        if a.level != b.level
    ]


def _cuts(
    services: Sequence[Service],
    limits: Mapping[str, float],
    now: Choice,
    resource: str,
    gap: float,
    count: int,
    until: float,
    stop: Stop | None,
) -> tuple[tuple[Cut, ...], bool]:
    """Tighten one limit to just below what is used, again and again; the steps, and whether time cut them short."""
    out: list[Cut] = []
    shown = now  # the plan, then the last step told: one that changes nobody's level is part of the next
    for _ in range(4 * count):
        if len(out) >= count or now.uses(resource) <= 0:
            break
        left = until - time.perf_counter()
        if left <= 0 or (stop is not None and stop()):
            return tuple(out), True
        used = now.uses(resource)
        try:
            then = choose(services, {**limits, resource: used * JUST_BELOW}, gap=gap, time_limit_s=left, stop=stop)
        except GaveUpError:
            return tuple(out), True
        if then is None:
            break
        if then.relative_gap > gap:
            return tuple(out), True
        if moved := _moved(services, shown.columns, then.columns):
            out.append(_cut(moved, shown, then, resource, used))
            shown = then
        now = then
    return tuple(out), False


def _cut(moved: Sequence[Move], before: Choice, after: Choice, resource: str, limit: float) -> Cut:
    return Cut(
        tuple(sorted((m for m in moved if m.level_to < m.level_from), key=lambda m: m.value)),
        tuple(m for m in moved if m.level_to > m.level_from),
        before.value - after.value,
        before.uses(resource) - after.uses(resource),
        before.usd_per_hour - after.usd_per_hour,
        limit,
    )


@dataclass(frozen=True)
class Short:
    """A limit within which not everything can be served: ``least`` is the least that would do, by the columns known.

    ``alone`` where that is so whatever the other limits; otherwise it is the least within the other limits.
    """

    resource: str
    limit: float
    least: float
    alone: bool


def shortages(
    services: Sequence[Service], limits: Mapping[str, float], time_limit_s: float = 10.0
) -> tuple[Short, ...]:
    """Why not everything can be served though every service has a plan: the limits, each with what would do."""
    full = [[c for c in s.columns if c.level >= 1.0] for s in services]
    out = []
    for resource, limit in limits.items():
        least = sum(min(c.uses(resource) for c in row) for row in full)
        if least > limit * (1 + ROUNDING):
            out.append(Short(resource, limit, least, True))
    if out:
        return tuple(out)
    until = time.perf_counter() + time_limit_s
    for resource, limit in limits.items():  # each can be kept, but not all of them together
        with contextlib.suppress(GaveUpError):
            found = least_for_all(services, limits, resource, until)
            if found is not None:
                out.append(Short(resource, limit, sum(c.uses(resource) for c in found), False))
    return tuple(out)


def impossible(service: Service) -> bool:
    """Whether no plan serves all of it, whatever the limits."""
    return not any(c.level >= 1.0 for c in service.columns)
