"""Routing over several caches: round robin, random and affinity, measured, beside the closed form.

N instances have ``floor(C / N)`` blocks each. *Affinity* sends a request to the instance that last served the longest
prefix it shares, if that is at least half of the prompt, and to the instance with the fewest prompt tokens so far
otherwise, so a conversation stays where it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.trace.curve import HitCurve, hit_curve
from planner.trace.records import Floats, Ints
from planner.trace.stack import Runs
from planner.trace.trace import Trace

STICKY_SHARE = 0.5  # of the prompt that must be found for a request to follow its prefix
COMPARED_AT = 40
SEED = 0


@dataclass(frozen=True)
class Routed:
    """One routing: hit tokens at each capacity of all instances together, and how uneven their load was."""

    routing: str
    hit_tokens: tuple[int, ...]
    hit_tokens_unlimited: int
    load_imbalance: float  # prompt tokens of the busiest instance over the mean


@dataclass(frozen=True)
class SplitStudy:
    """All routings over ``servers`` instances at ``capacity_blocks``, and the errors of the closed forms."""

    servers: int
    capacity_blocks: tuple[int, ...]
    input_tokens: int
    pooled_tokens: tuple[int, ...]
    routed: tuple[Routed, ...]
    formula_rates: tuple[float, ...]
    formula_error_points: tuple[float, float]  # largest and mean against random routing, over the whole curve
    naive_error_points: tuple[float, float]  # the same of h(K/n)
    floor: float  # the hot floor that the hill law found
    floor_error_points: tuple[float, float]  # the same of the formula with that floor


def split_study(
    trace: Trace,
    runs: Runs,
    pooled: HitCurve,
    servers: int,
    capacities: Sequence[int] | None = None,
    floor: float = 0.0,
) -> SplitStudy:
    """Measure the routings at the capacities given (by default spread over the curve)."""
    top = max(servers, pooled.saturation_blocks)
    wide = np.unique(np.rint(np.geomspace(max(servers, top / 1000), top, COMPARED_AT)).astype(np.int64))
    at = np.array(capacities, np.int64) if capacities is not None else wide[:: max(1, len(wide) // 12)]
    ways = {
        "round_robin": np.arange(len(trace)) % servers,
        "random": np.random.default_rng(SEED).integers(0, servers, len(trace)),
        "affinity": affinity(trace, runs, servers),
    }
    curves = {name: _curves(trace, server, servers) for name, server in ways.items()}
    routed = tuple(_routed(name, trace, ways[name], curves[name], servers, at) for name in ways)
    random = _tokens(curves["random"], wide, servers) / trace.total_input_tokens
    formula, naive = random_routing_rates(pooled, wide, servers), pooled.rates(wide / servers)
    floored = random_routing_rates(pooled, wide, servers, floor)
    return SplitStudy(
        servers, tuple(at.tolist()), trace.total_input_tokens, tuple(pooled.tokens_at(at).tolist()), routed,
        tuple(random_routing_rates(pooled, at, servers).tolist()), _errors(formula, random), _errors(naive, random),
        floor, _errors(floored, random),
    )  # fmt: skip


def random_routing_rates(curve: HitCurve, capacities: Ints, servers: int, floor: float = 0.0) -> Floats:
    """The closed form for random routing: with ``x = h(K·D/n)``, ``min(x, floor) + max(x - floor, 0) / D``.

    ``D = n - (n-1)·z``, ``z = (ceiling - floor) / (1 - floor)``: each block is seen about ``1/(1-z)`` times, so n
    caches hold n/D copies of what they share. The floor is what any cache holds at once; 0 for a measured table.
    """
    distinct = servers - (servers - 1) * max(0.0, curve.ceiling - floor) / (1 - floor)
    pooled = curve.rates(capacities * distinct / servers)
    return np.asarray(np.minimum(pooled, floor) + np.maximum(pooled - floor, 0.0) / distinct, np.float64)


def affinity(trace: Trace, runs: Runs, servers: int) -> Ints:
    """The instance of each request under affinity routing (see the module)."""
    tokens = np.zeros(len(trace))
    np.add.at(tokens, runs.request, runs.tokens(trace) / trace.sample_rate)
    holder = np.full(len(trace), -1, np.int64)
    holder[runs.request] = runs.owner  # the last run of a request, its deepest, is written last
    sticky = tokens >= STICKY_SHARE * np.maximum(1, trace.input_tokens)
    load = [0] * servers
    server: list[int] = []
    for prompt, last, follows in zip(trace.input_tokens.tolist(), holder.tolist(), sticky.tolist(), strict=True):
        place = server[last] if follows and last >= 0 else load.index(min(load))
        server.append(place)
        load[place] += prompt
    return np.array(server, np.int64)


def _curves(trace: Trace, server: Ints, servers: int) -> list[HitCurve | None]:
    members = [np.flatnonzero(server == s) for s in range(servers)]
    return [hit_curve(trace.pick(which)) if len(which) else None for which in members]


def _tokens(curves: list[HitCurve | None], capacities: Ints, servers: int) -> Ints:
    total = np.zeros(len(capacities), np.int64)
    for curve in curves:
        if curve is not None:
            total += curve.tokens_at(capacities // servers)
    return total


def _routed(
    name: str, trace: Trace, server: Ints, curves: list[HitCurve | None], servers: int, at: Ints
) -> Routed:  # fmt: skip
    load = np.bincount(server, weights=trace.input_tokens, minlength=servers)
    unlimited = sum(curve.unlimited_tokens for curve in curves if curve is not None)
    imbalance = float(load.max() / load.mean()) if load.sum() else 1.0
    return Routed(name, tuple(_tokens(curves, at, servers).tolist()), unlimited, imbalance)


def _errors(predicted: Floats, measured: Floats) -> tuple[float, float]:
    off = np.abs(predicted - measured) * 100.0
    return float(off.max()), float(off.mean())
