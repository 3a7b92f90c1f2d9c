"""Request classes by prompt length, and the reuse that they share.

A scenario says: a request of class k repeats ``reusable_tokens`` P_k of its prompt, and finds them resident with
probability h(K). A trace only tells the hit tokens x of each request under an unlimited cache. The two agree in
their totals if ``P_k · c = mean of x`` in each class, c being h without a limit of capacity. c is chosen so that hits
come as concentrated as in the trace: a typical reused token belongs to a prompt of which the part
``rho_k = Σ x·(x/L) / Σ x`` was reused, so a class alone would have ``c_k = (Σ x / Σ L) / rho_k``. Classes share one
curve, hence one c: the largest, with which no class reuses more than that part of its prompt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.trace.records import Floats, Ints
from planner.trace.stack import Runs
from planner.trace.trace import Trace

NAMES = {
    1: ("all",),
    2: ("short", "long"),
    3: ("short", "medium", "long"),
    4: ("short", "medium", "long", "longest"),
}


@dataclass(frozen=True)
class TraceClass:
    """One class; tokens are means over its requests, ``hit_tokens`` those of an unlimited cache."""

    name: str
    requests: int
    share: float
    prompt_tokens: float
    reusable_tokens: float
    output_tokens: float
    hit_tokens: float
    prompt_cv: float
    from_tokens: int  # the range of prompt lengths
    to_tokens: int


@dataclass(frozen=True)
class Classes:
    """All classes; ``Σ share · reusable_tokens · hit_probability`` is the trace's mean of hit tokens per request."""

    classes: tuple[TraceClass, ...]
    hit_probability: float  # c above: the ceiling of h in a scenario
    token_ceiling: float  # the same hits over all prompt tokens


def unlimited_hits(trace: Trace, runs: Runs) -> Floats:
    """Hit tokens of each request under an unlimited cache."""
    tokens = runs.tokens(trace) / trace.sample_rate
    hits = np.bincount(runs.request, weights=tokens, minlength=len(trace))
    return np.asarray(np.minimum(hits, trace.input_tokens), np.float64)


def request_classes(trace: Trace, runs: Runs, count: int = 3) -> Classes:
    """Cut the requests by prompt length into classes with about equal shares of all prompt tokens."""
    length = trace.input_tokens
    hits = unlimited_hits(trace, runs)
    group = _groups(length, count)
    members = [np.flatnonzero(group == k) for k in range(int(group.max()) + 1)]
    members = [which for which in members if len(which)]
    ceiling = float(hits.sum() / max(1, length.sum()))
    everyone = np.arange(len(trace))
    probability = max(_hit_probability(hits[w], length[w]) for w in [everyone, *members])
    names = NAMES.get(len(members), tuple(f"length-{k + 1}" for k in range(len(members))))
    made = tuple(_class(n, trace, w, hits, probability) for n, w in zip(names, members, strict=True))
    return Classes(made, probability, ceiling)


def _hit_probability(hits: Floats, length: Ints) -> float:
    """``(Σ x / Σ L) / rho``, between 0 and 1 (see the module)."""
    total = float(hits.sum())
    if total <= 0:
        return 0.0
    rho = float((hits * hits / np.maximum(1, length)).sum()) / total
    return min(1.0, total / float(length.sum()) / rho)


def _groups(length: Ints, count: int) -> Ints:
    """Class numbers by prompt length; equal lengths stay together."""
    values, back, members = np.unique(length, return_inverse=True, return_counts=True)
    mass = np.cumsum(values * members)
    middle = (mass - values * members / 2) / max(1, mass[-1])
    return np.asarray(np.minimum((middle * count).astype(np.int64), count - 1)[back], np.int64)


def _class(name: str, trace: Trace, which: Ints, hits: Floats, probability: float) -> TraceClass:
    length = trace.input_tokens[which]
    mean = float(length.mean())
    hit = float(hits[which].mean())
    return TraceClass(
        name=name,
        requests=len(which),
        share=len(which) / len(trace),
        prompt_tokens=mean,
        reusable_tokens=hit / probability if probability > 0 else 0.0,
        output_tokens=float(trace.output_tokens[which].mean()),
        hit_tokens=hit,
        prompt_cv=float(length.std() / mean) if mean > 0 else 0.0,
        from_tokens=int(length.min()),
        to_tokens=int(length.max()),
    )
