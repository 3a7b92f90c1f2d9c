"""One cell along an axis: where its cheapest plan turns, and what any value between costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from planner.cells import preferred
from planner.plan import Architecture, Evaluation
from planner.study.axes import Axis
from planner.study.points import same_cost

if TYPE_CHECKING:
    from planner.study.envelope import Envelope, Segment


@dataclass(frozen=True)
class Vertex:
    """A plan that no other beats in both cost and ``x``; with its design the cheapest from ``asked`` up to ``x``."""

    x: float  # the hardest value that the plan keeps
    asked: float
    usd_per_hour: float
    usd_per_million_tokens: float
    relative_gap: float
    plan: Evaluation


@dataclass(frozen=True)
class Stretch:
    """One design is the cheapest from ``first.x`` (easy) to ``last.x``; its cost rises between, or is the same.

    Where the one before it ends is where it begins: ``first`` lies just beyond that, at the far side of a jump.
    """

    first: Vertex
    last: Vertex

    @property
    def flat(self) -> bool:
        """Whether the cost is the same all along."""
        return same_cost(self.first.usd_per_hour, self.last.usd_per_hour)


@dataclass(frozen=True)
class CellFrontier:
    """One cell's vertices, easiest (cheapest) first, what lies between them, and what they took."""

    architecture: Architecture
    tiered: bool
    vertices: tuple[Vertex, ...]
    solves: int
    impossible_from: float | None  # the easiest value asked for that no design keeps; None where all were kept
    interrupted: str = ""
    stretches: tuple[Stretch, ...] = ()
    proven_gap: float = 0.0  # relative: nowhere in the range is a plan cheaper than shown by more
    compared: int = 0  # values at which designs were compared by their floors and exact plans, without a solve
    impossible_why: str = ""  # the rule that makes it so, where one alone does
    programmes: int = 0  # single designs whose hits the model had to split, with nothing to choose between
    envelope: Envelope | None = field(default=None, compare=False, repr=False)
    untiered: CellFrontier | None = field(default=None, compare=False, repr=False)

    @property
    def hardest_reached(self) -> float | None:
        """The hardest value with a plan."""
        return self.stretches[-1].last.x if self.stretches else None

    def reached(self, axis: Axis, x: float) -> bool:
        """Whether ``x`` was looked at: all of the range is, unless the search was stopped."""
        far = self.hardest_reached
        return not self.interrupted or (far is not None and axis.keeps(far, x))

    def at(self, axis: Axis, x: float) -> Vertex | None:
        """The cheapest plan that keeps ``x``: a vertex, or the design of its stretch priced at ``x``.

        None where there is no plan, and where the search was stopped before ``x`` (see :meth:`reached`).
        """
        if not self.reached(axis, x):
            return None  # the same cell without tiers has a plan perhaps, but not this one's cheapest
        own = self._own(axis, x)
        other = self.untiered.at(axis, x) if self.untiered is not None else None  # tiers need not be bought
        if own is None or (other is not None and preferred(other.plan, own.plan)):
            return other
        return own

    def along(self, axis: Axis, stretch: Stretch, grid: Sequence[float]) -> list[Vertex]:
        """Both ends of ``stretch``; of a curve also its cost at every value of ``grid`` between them."""
        between: list[Vertex] = []
        if not stretch.flat:
            inside = (x for x in grid if axis.is_harder(x, stretch.first.x) and axis.is_harder(stretch.last.x, x))
            between = [v for x in inside if (v := self._own(axis, x)) is not None]
        return [stretch.first, *between, stretch.last]

    def _own(self, axis: Axis, x: float) -> Vertex | None:
        k = next((k for k, s in enumerate(self.stretches) if axis.keeps(s.last.x, x)), None)
        if k is None:
            return None
        stretch = self.stretches[k]
        if self.envelope is None or stretch.flat or not axis.is_harder(stretch.last.x, x):
            return stretch.last
        if not axis.is_harder(x, stretch.first.x):
            return stretch.first
        plan = self.envelope.price(self.envelope.segments[k].key, x).plan
        if plan is None or plan.usd_per_hour > stretch.last.usd_per_hour:  # by rounding: what is harder serves
            return stretch.last
        return _vertex(plan, x, stretch.first.x, self.proven_gap)


def _vertex(plan: Evaluation, x: float, asked: float, gap: float) -> Vertex:
    return Vertex(x, asked, plan.usd_per_hour, plan.usd_per_million_tokens, gap, plan)


def stretches_of(axis: Axis, envelope: Envelope) -> tuple[Stretch, ...]:
    """Both ends of every segment with their plans; a jump is entered just beyond the design before it."""
    out: list[Stretch] = []
    kept: list[Segment] = []
    envelope.split_jumps()
    for segment in envelope.segments:
        easy = segment.easy
        last = envelope.price(segment.key, segment.hard).plan
        if out and last is not None:
            beyond = axis.beyond(easy)
            here = envelope.price(segment.key, easy)
            if here.usd > out[-1].last.usd_per_hour * (1 + envelope.proven) and axis.is_harder(segment.hard, beyond):
                easy = beyond
        first = envelope.price(segment.key, easy).plan
        if first is None or last is None:
            continue
        pair = _vertex(first, easy, easy, envelope.proven), _vertex(last, segment.hard, easy, envelope.proven)
        out.append(Stretch(*pair))
        kept.append(segment)
    envelope.segments = kept
    return _rising(out)


def _rising(stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """The same, never dearer than a harder value: the plan of that keeps what is easier, too."""
    out: list[Stretch] = []
    least: Vertex | None = None
    for stretch in reversed(stretches):
        ends = []
        for end in (stretch.last, stretch.first):
            if least is not None and end.usd_per_hour > least.usd_per_hour:
                end = _vertex(least.plan, end.x, end.asked, end.relative_gap)
            ends.append(least := end)
        out.append(Stretch(ends[1], ends[0]))
    return tuple(reversed(out))


def vertices_of(axis: Axis, stretches: tuple[Stretch, ...]) -> tuple[Vertex, ...]:
    """Ends of stretches, each once: a flat one has only its hard end, two that meet share one."""
    out: list[Vertex] = []
    for stretch in stretches:
        last, meets = stretch.last, bool(out) and same_cost(out[-1].usd_per_hour, stretch.first.usd_per_hour)
        if stretch.flat and meets:
            last = replace(last, asked=out.pop().asked)
        elif not stretch.flat and not meets and (not out or axis.is_harder(stretch.first.x, out[-1].x)):
            out.append(stretch.first)
        out.append(last)
    return tuple(out)


def flat_stretches(vertices: tuple[Vertex, ...]) -> tuple[Stretch, ...]:
    """Where every cost is a whole unit's, a vertex is the cheapest from where it was asked for."""
    return tuple(Stretch(replace(v, x=v.asked), v) for v in vertices)
