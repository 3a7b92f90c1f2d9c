"""Dollars per hour and per million tokens (MODEL.md section 11)."""

from __future__ import annotations

import math


def pool_nodes(instances: int, gpus: int, gpus_per_node: int, whole_nodes: bool) -> float:
    """Nodes of a pool: ``n g / gpus_per_node``, rounded up where whole nodes are billed.

    >>> pool_nodes(3, 4, 8, False), pool_nodes(3, 4, 8, True)
    (1.5, 2)
    """
    exact = instances * gpus / gpus_per_node
    return math.ceil(exact - 1e-9) if whole_nodes else exact


def rent_usd_per_hour(capacity: float, included: float, usd_per_byte_hour: float) -> float:
    """Rent of a tier: only what exceeds the capacity that comes with the nodes is paid."""
    return usd_per_byte_hour * max(0.0, capacity - included)


def usd_per_million_tokens(usd_per_hour: float, tokens_per_s: float) -> float:
    """Cost per million tokens served.

    >>> round(usd_per_million_tokens(36.0, 10_000), 12)
    1.0
    """
    return usd_per_hour / (tokens_per_s * 3600 / 1e6)
