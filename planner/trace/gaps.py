"""Reuse gaps: how long a prefix rests between two uses, and how much of the reuse a prefetch could foresee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.trace.records import Floats
from planner.trace.stack import Runs
from planner.trace.trace import Trace

GAP_EDGES_S = (1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
LEADS_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True)
class ReuseGaps:
    """Hit tokens of an unlimited cache by the time since the prefix was last used."""

    hit_tokens: float
    shares: tuple[tuple[float, float | None, float], ...]  # (from s, to s or None, share of hit tokens)
    quantiles_s: tuple[tuple[float, float], ...]
    coverage: tuple[tuple[float, float], ...]  # (lead s, share of hit tokens with at least that gap)

    def coverage_at(self, lead_s: float) -> float:
        """The stored coverage at a lead."""
        return dict(self.coverage)[lead_s]


def reuse_gaps(trace: Trace, runs: Runs, lead_s: float = 5.0) -> ReuseGaps:
    """The gaps of all reuse, weighted by tokens.

    Coverage at a lead is the share of hit tokens whose prefix had rested at least that long: what a prefetch that
    foresees every reuse could pull up in time. A real predictor reaches less, so it is an upper bound.
    """
    tokens = runs.tokens(trace).astype(np.float64) / trace.sample_rate
    gap_s = (trace.timestamp_ms[runs.request] - trace.timestamp_ms[runs.owner]) / 1000.0
    total = float(tokens.sum())
    edges = np.array([-np.inf, *GAP_EDGES_S, np.inf])
    held = np.histogram(gap_s, edges, weights=tokens)[0]
    bounds = [0.0, *GAP_EDGES_S, None]
    shares = tuple(
        (float(low or 0.0), high, float(part / total) if total else 0.0)
        for low, high, part in zip(bounds, bounds[1:], held, strict=False)
    )
    leads = sorted({*LEADS_S, lead_s})
    coverage = tuple((lead, float(tokens[gap_s >= lead].sum() / total) if total else 0.0) for lead in leads)
    return ReuseGaps(total, shares, _quantiles(gap_s, tokens), coverage)


def _quantiles(gap_s: Floats, tokens: Floats) -> tuple[tuple[float, float], ...]:
    if not len(gap_s):
        return ()
    order = np.argsort(gap_s, kind="stable")
    mass = np.cumsum(tokens[order])
    places = np.searchsorted(mass, np.array(QUANTILES) * mass[-1])
    return tuple((q, float(gap_s[order][min(p, len(order) - 1)])) for q, p in zip(QUANTILES, places, strict=True))
