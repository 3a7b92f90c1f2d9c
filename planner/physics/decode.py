"""Generation: slots, steps and the share of time that prefill may take (MODEL.md section 10)."""

from __future__ import annotations

import math


def slots_needed(concurrency: float, z: float) -> float:
    """Sequences in flight at the percentile of ``z``: ``m + z sqrt(m)`` (Poisson occupancy), not rounded.

    >>> slots_needed(100, 2.0)
    120.0
    """
    return concurrency + z * math.sqrt(concurrency)


def instances_needed(concurrency: float, z: float, batch: int) -> int:
    """Decode instances: ``ceil(ceil(m + z sqrt(m)) / batch)``."""
    return -(-math.ceil(slots_needed(concurrency, z) - 1e-9) // batch)


def concurrency_within(slots: float, z: float) -> float:
    """The largest mean ``y`` with ``y + z sqrt(y) <= slots``: ``((sqrt(z^2 + 4 slots) - z) / 2)^2``."""
    return ((math.sqrt(z * z + 4 * slots) - z) / 2) ** 2


def max_prefill_share(concurrency: float, slots: float, z: float, step_s: float, tpot_s: float) -> float:
    """Largest share of time that prefill may take on instances that also decode; negative where none is left.

    A share ``r`` stretches every step to ``step / (1 - r) <= tpot`` and the mean in flight to ``m / (1 - r)``, for
    which the slots must suffice. Both are monotone in ``r``, so the limit has a closed form.
    """
    fits = concurrency_within(slots, z)
    if fits <= 0:
        return -1.0
    return 1.0 - max(concurrency / fits, step_s / tpot_s)
