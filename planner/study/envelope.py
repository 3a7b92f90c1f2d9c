"""The cheapest plan of one cell for every value of an axis: the lower envelope of its designs' cost curves.

A design costs no less where more is asked of it. So on an interval no design goes below its floor at the easy end, and
none is needed that goes above the cheapest cost at the hard end. What lies between the two is split until one design is
left (its curve is the frontier there), or the cost rises by less than ``TOLERANCE``. Nothing is interpolated, and no
choice among designs is left to sampling: a design that is best only strictly inside an interval is found as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from planner.cells import SimplestPlans, simplicity
from planner.derive import candidates
from planner.physics.system import System
from planner.plan import Architecture
from planner.study.axes import Axis
from planner.study.designs_at import CLOSED, DesignsAt, Key, Priced

TOLERANCE = 5e-5  # relative: how much cheaper than the curve an unseen design may be between two vertices
RESOLUTION = 1e-7  # relative: a jump is located this closely
COARSE = 5e-4  # the same where, after ENOUGH values, two designs of nearly the same cost are left
ENOUGH = 1500
SAME = 1e-9


class HaltedError(Exception):
    """The time is up, or the user wants to stop."""


@dataclass(frozen=True)
class Segment:
    """``key``'s curve is the frontier from ``easy`` to ``hard``."""

    key: Key
    easy: float
    hard: float


@dataclass(frozen=True)
class _Best:
    key: Key | None
    usd: float


class Envelope:
    """One cell's designs along one axis."""

    def __init__(
        self,
        system: System,
        axis: Axis,
        architecture: Architecture,
        tiered: bool = True,
        halted: Callable[[], str] = str,
        tell: Callable[[float], None] | None = None,
    ) -> None:
        """Nothing is computed yet; ``halted`` is polled and gives a reason to stop, ``tell`` hears of progress."""
        self.system, self.axis, self.architecture, self.tiered = system, axis, architecture, tiered
        self.halted, self.tell = halted, tell
        self.segments: list[Segment] = []
        self.proven = TOLERANCE + CLOSED  # relative: no plan is cheaper than the segments by more
        self.points = 0  # values at which designs were compared
        self._at: dict[float, DesignsAt] = {}
        self._best: dict[float, _Best] = {}
        self._proven: dict[Key, list[tuple[float, float]]] = {}

    @property
    def programmes(self) -> int:
        """Designs priced by the model, each alone."""
        return sum(there.programmes for there in self._at.values())

    def at(self, x: float) -> DesignsAt:
        """The designs at ``x``."""
        if x not in self._at:
            if self.halted():
                raise HaltedError
            if self.tell:
                self.tell(x)
            self._at[x] = DesignsAt(self.axis.at(self.system, x), self.architecture, self.tiered)
        return self._at[x]

    def price(self, key: Key, x: float) -> Priced:
        """The design's cheapest plan at ``x``; what it proves holds for everything harder."""
        there = self.at(x)
        if (known := there.priced(key)) is not None:
            return known
        found = there.price(key, lambda: bool(self.halted()))
        if self.halted():
            there.forget(key)  # its search may have been cut short
            raise HaltedError
        self._proven.setdefault(key, []).append((x, found.bound))
        return found

    def lower(self, key: Key, x: float) -> float:
        """What no plan of the design costs less than at ``x``."""
        known = (usd for where, usd in self._proven.get(key, ()) if not self.axis.is_harder(where, x))
        return max(self.at(x).floor(key), *known, 0.0)

    def possible(self, x: float) -> bool:
        """Whether any design keeps ``x``."""
        there = self.at(x)
        simplest = SimplestPlans(there.system)
        found = candidates(there.system, self.architecture, self.tiered, judge=simplest.cost)
        if simplest.best is not None:
            return True
        keys = ((d.prefill.config.name, d.prefill.batch, d.prefill.instances, d.roles.roles) for d in found.designs)
        return any(self.lower(key, x) < math.inf and self.price(key, x).plan is not None for key in keys)

    def reach(self, easy: float, hard: float) -> tuple[float | None, float | None]:
        """The hardest value that some design keeps, and the easiest that none does; None where there is none."""
        if self.possible(hard):
            return hard, None
        if not self.possible(easy):
            return None, easy
        while abs(hard - easy) > RESOLUTION * abs(hard):
            middle = (easy + hard) / 2
            easy, hard = (middle, hard) if self.possible(middle) else (easy, middle)
        return easy, hard

    def trace(self, easy: float, hard: float, breaks: Sequence[float] = ()) -> None:
        """Fill ``segments`` from ``easy`` to ``hard``, both possible; ``breaks`` are good places to split at."""
        most = self._solve(hard)
        keys = list(self.at(easy).keys(most * (1 + SAME)))
        inside = sorted((x for x in breaks if self._within(easy, x, hard)), key=lambda x: self.axis.harder * x)
        waiting = [(easy, hard, keys, inside)]
        while waiting:
            a, b, keys, inside = waiting.pop()
            alive = self._alive(a, b, keys)
            distinct = set(alive)
            if len(distinct) < 2 or abs(b - a) <= RESOLUTION * abs(b) or self._coarse(a, b):
                self._settle(a, b, next(iter(distinct)) if len(distinct) == 1 else None)
                continue
            best = self.best(b, keys).key
            alive += [best] if best is not None and best not in distinct else []
            m = inside[len(inside) // 2] if inside else (a + b) / 2
            left = [x for x in inside if self.axis.is_harder(m, x)]
            right = [x for x in inside if self.axis.is_harder(x, m)]
            waiting.append((m, b, alive, right))
            waiting.append((a, m, alive, left))

    def _coarse(self, a: float, b: float) -> bool:
        """Whether two designs stay so near each other that telling them apart is not worth more splits."""
        first, last = self._best[a], self._best[b]
        near = last.usd <= first.usd * (1 + COARSE) and self.points > ENOUGH
        if not near or first.key != last.key:
            return False
        self.proven = max(self.proven, 1 - first.usd / last.usd)
        return True

    def _within(self, easy: float, x: float, hard: float) -> bool:
        return self.axis.is_harder(x, easy) and self.axis.is_harder(hard, x)

    def _solve(self, x: float) -> float:
        """The cheapest cost at ``x`` over all designs."""
        there = self.at(x)
        found = candidates(there.system, self.architecture, self.tiered, judge=SimplestPlans(there.system).cost)
        keys = [(d.prefill.config.name, d.prefill.batch, d.prefill.instances, d.roles.roles) for d in found.designs]
        return self.best(x, keys).usd

    def best(self, x: float, keys: Iterable[Key]) -> _Best:
        """The cheapest of ``keys`` at ``x``; at equal cost the simplest plan."""
        if x in self._best:
            return self._best[x]
        self.points += 1
        order = sorted((self.lower(key, x), key[2], i, key) for i, key in enumerate(keys))
        found, simple = _Best(None, math.inf), (0, 0, 0)
        for usd, _, _, key in order:
            if not math.isfinite(usd) or usd > found.usd * (1 + SAME):
                break
            plan = self.price(key, x).plan
            if plan is None or plan.usd_per_hour > found.usd * (1 + SAME):
                continue
            own = simplicity(plan)
            if plan.usd_per_hour < found.usd * (1 - SAME) or own < simple:
                found, simple = _Best(key, plan.usd_per_hour), own
        self._best[x] = found
        return found

    def _alive(self, a: float, b: float, keys: Sequence[Key]) -> list[Key]:
        """Designs that may undercut the cost at ``b`` somewhere between."""
        self.best(a, keys)
        least = self.best(b, keys).usd * (1 - TOLERANCE)
        alive = [key for key in keys if self.lower(key, a) < least]
        return [key for key in alive if not self._idle(key, b, alive)] if self.system.inclusive else alive

    def _idle(self, key: Key, b: float, others: Sequence[Key]) -> bool:
        """Whether a synchronous tier of ``key`` stands idle at ``b``: then it does wherever fewer hits are needed.

        The design without that tier has no more paths to wait for, so it costs no more from here to ``b``.
        """
        plan = self.at(b).known(key)
        if plan is None or plan.decision.roles == key[3] or "prefetch" in key[3]:
            return False
        return (*key[:3], plan.decision.roles) in others

    def _settle(self, a: float, b: float, only: Key | None) -> None:
        """The frontier from ``a`` to ``b``: ``only``'s curve up to the cost at ``b``, then that."""
        last, first = self._best[b], self._best[a]
        assert last.key is not None
        if only is None and abs(b - a) <= RESOLUTION * abs(b) and first.key is not None:
            self.append(first.key, a, a)
            self.append(last.key, a, b)
            return
        if only is None or only == last.key:
            self.append(last.key, a, b)
            return
        turn = self._last_below(only, a, b, last.usd)
        if turn != a:
            self.append(only, a, turn)
        self.append(last.key, turn, b)

    def _last_below(self, key: Key, a: float, b: float, usd: float) -> float:
        """The hardest value from ``a`` on at which ``key`` costs at most ``usd``."""
        if self.price(key, a).usd > usd * (1 + SAME):
            return a
        while abs(b - a) > RESOLUTION * abs(b):
            middle = (a + b) / 2
            a, b = (middle, b) if self.price(key, middle).usd <= usd * (1 + SAME) else (a, middle)
        return a

    def append(self, key: Key, a: float, b: float) -> None:
        """The next segment; it joins the one before where the design is the same."""
        if self.segments and self.segments[-1].key == key:
            self.segments[-1] = Segment(key, self.segments[-1].easy, b)
        elif a != b:
            self.segments.append(Segment(key, a, b))

    def split_jumps(self) -> None:
        """End a segment where its design's plan changes in kind: a tier comes into use, or another decode pool.

        The cost may jump there: what a tier holds at least, its first drive, a node more for the memory of a pool.
        """
        self.segments = [part for segment in self.segments for part in self._by_kind(segment)]

    def _by_kind(self, segment: Segment) -> list[Segment]:
        key, a, b = segment.key, segment.easy, segment.hard
        if self._kind(key, a) == self._kind(key, b) or abs(b - a) <= RESOLUTION * abs(b):
            return [segment]
        middle = (a + b) / 2
        out: list[Segment] = []
        for part in (*self._by_kind(Segment(key, a, middle)), *self._by_kind(Segment(key, middle, b))):
            if out and self._kind(key, out[-1].easy) == self._kind(key, part.hard):
                out[-1] = Segment(key, out[-1].easy, part.hard)
            elif self._kind(key, part.easy) == self._kind(key, part.hard):
                out.append(part)
        return out or [segment]

    def _kind(self, key: Key, x: float) -> tuple[object, ...]:
        """What a design's plan is made of at ``x``, besides what is set by the design."""
        stream, plan = self.at(x).stream(*key[:2]), self.price(key, x).plan
        pool = stream.pool if stream is not None else None
        return (
            None if pool is None else (pool.config.name, pool.instances, pool.batch),
            None if plan is None else plan.decision.roles,
        )
