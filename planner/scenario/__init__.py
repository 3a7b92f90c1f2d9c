"""Scenario files: schema, loader, catalog.

>>> from planner.scenario import loads
>>> loads("workload: {}")  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
planner.errors.InputError: ...
"""

from planner.scenario.loader import load, loads, replace
from planner.scenario.schema import Scenario

__all__ = ["Scenario", "load", "loads", "replace"]
