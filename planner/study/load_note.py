"""What stays where only the load moves: a reuse curve was observed at a load of its own, and is kept as observed.

A file without ``workload.reuse.at_requests_per_second`` says by that that its curve was observed at its own load, so
another load written into the file gives another answer than the same load asked for by a study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.scenario import Scenario

LOAD = "workload.requests_per_second"
AT = "workload.reuse.at_requests_per_second"
SHOWN = 4  # services


def observed_at(scenario: Scenario) -> tuple[float, ...]:
    """The loads at which the curves in use were observed, in requests per second."""
    work = scenario.workload
    laws = [k.reuse or work.reuse for k in work.classes]
    rates = {law.at_requests_per_second or work.requests_per_second for law in laws}
    return tuple(sorted(rates))


def load_notes(scenario: Scenario, keys: Sequence[str]) -> tuple[str, ...]:
    """The note on a study that moves ``keys``: empty where the load is not among them, or the curve is too."""
    if LOAD not in keys or any("reuse" in key for key in keys):
        return ()
    return kept_notes({"": observed_at(scenario)})


def kept_notes(observed: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """The note on services by name.

    >>> kept_notes({"": (40.0,)})
    ('reuse curve kept as observed at 40 req/s (workload.reuse.at_requests_per_second)',)
    >>> kept_notes({"chat": (40.0,), "rag": (12.5, 60.0)})[0].split(" (")[0]
    'reuse curves kept as observed: chat at 40 req/s, rag at 12.5 and 60 req/s'
    """
    if not observed:
        return ()
    if len(observed) == 1:
        told = f"reuse curve kept as observed {_at(next(iter(observed.values())))}"
    else:
        shown = [f"{name} {_at(rates)}" for name, rates in list(observed.items())[:SHOWN]]
        left = len(observed) - SHOWN
        told = f"reuse curves kept as observed: {', '.join(shown)}" + (f" and {left} more" if left > 0 else "")
    return (f"{told} ({AT})",)


def _at(rates: Sequence[float]) -> str:
    return f"at {' and '.join(f'{rate:,.12g}' for rate in rates)} req/s"
