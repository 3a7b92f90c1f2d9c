"""Candidates with a role assignment, and the load that each pair admits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .brute import load_limit, role_sets, wait_budget
from .candidates import Prefill, candidates_of
from .partitions import Part, parts_of
from .physics import Physics


@dataclass(frozen=True)
class Option:
    """One candidate with one role assignment and the load its wait budget admits."""

    candidate: Prefill
    roles: tuple[str, ...]
    limit: float
    parts: list[Part]


def options_of(p: Physics, architecture: str, tiered: bool) -> list[Option]:
    """Pairs that can meet the load at the ceiling, up to the cheapest that meets it with HBM alone."""
    random = architecture == "colocated" and p.dep["colocated_routing"] == "random"
    listed = p.doc["tiers"]
    assignments = [r for r in role_sets(listed) if tiered or all(x == "unused" for x in r)]
    out, stop = [], math.inf
    for c in sorted(candidates_of(p, architecture), key=lambda c: c.usd):
        if c.usd > stop:
            break
        parts = parts_of(p, c, c.n if random else 1)
        whole = sum(k.rate * s for k, s in zip(p.classes, c.miss, strict=True))
        for roles in assignments:
            limit = load_limit(p, c, wait_budget(p, c, roles))
            if limit is None or whole - sum(q.gain * q.law.ceiling for q in parts) > limit:
                continue
            out.append(Option(c, roles, limit, parts))
            if whole <= limit and pure_load(p, c) <= c.pure_limit and set(roles) <= {"unused"}:
                stop = min(stop, c.usd)
    return out


def pure_load(p: Physics, c: Prefill) -> float:
    """Prefill work without hits and without the decode steps between chunks."""
    return sum(k.rate * s for k, s in zip(p.classes, c.pure_miss, strict=True))
