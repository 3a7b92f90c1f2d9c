"""What a cell would cost if instances could be bought in fractions: how much of a difference is rounding.

An estimate, never part of a proof: the configurations nearest the optimum are priced at counts in sixteenths, with
each tier assignment's rent floor, and decode pools at exactly the slots they need.
"""

from __future__ import annotations

import math
from dataclasses import replace

from planner.bounds import hbm_suffices, reachable, rent_floor
from planner.derive import Stream, streams_of
from planner.designs import Candidates, DecodeOption, role_sets
from planner.physics import decode
from planner.physics.system import System

PARTS = 16
NEAREST = 5  # configurations tried per cell


def fractional_cost(found: Candidates, usd: float, tiered: bool) -> float:
    """Least cost in dollars per hour with fractional instance counts, at most the whole-count optimum ``usd``."""
    system = found.system
    if not math.isfinite(usd):
        return math.inf
    sets = role_sets(system.tiers, tiered)
    pools = tuple(_fractional_pool(system, d) for d in found.decodes)
    near = {(d.prefill.config.name, d.prefill.batch): d.prefill.instances for d in found.designs[:NEAREST][::-1]}
    best = usd
    for stream in streams_of(system, found.architecture, sets, pools):
        count = near.get((stream.config.name, stream.batch))
        if count is not None:
            best = min(best, _least(stream, count))
    return best


def _fractional_pool(system: System, pool: DecodeOption) -> DecodeOption:
    slots = decode.slots_needed(system.concurrency(system.steps_s(pool.config, pool.batch)), system.z)
    gpus = slots / pool.batch * pool.config.gpus
    return replace(pool, billed_gpus=gpus, nodes=gpus / system.gpus_per_node)


def _least(stream: Stream, count: int) -> float:
    """Cheapest of counts up to one instance below and above ``count``."""
    system = stream.system
    pool = stream.pool.billed_gpus if stream.pool else 0.0
    best = math.inf
    for part in range(1 - PARTS, PARTS + 1):
        n = count + part / PARTS
        if n <= 0:
            continue
        gpus = n * stream.config.gpus
        option = replace(  # bounds read nodes, HBM and laws, not the count itself
            stream.option(1),
            nodes=gpus / system.gpus_per_node,
            hbm_bytes=n * stream.hbm,
            laws=tuple(system.partition_law(j, stream.architecture, n) for j in range(len(system.laws))),
        )
        usd = (gpus + pool) * system.gpu_usd_per_hour
        if usd >= best:
            break
        for roles in stream.sets:
            rows = stream.rows(n, _admissible(stream, n, stream.budgets[roles]))
            if not reachable(option, rows):
                continue
            if hbm_suffices(option, rows):
                best = min(best, usd)
            elif roles.used:
                best = min(best, usd + rent_floor(system, option, roles, rows))
    return best


def _admissible(stream: Stream, count: float, budget_s: float) -> float:
    """Admissible load between whole counts: exact where instances queue alone, else linear between neighbours."""
    if stream.batch is not None:
        return stream.admissible(count, budget_s)
    low = math.floor(count)
    below = stream.admissible(low, budget_s) if low else 0.0
    return below + (count - low) * (stream.admissible(low + 1, budget_s) - below)
