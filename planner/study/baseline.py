"""The plan that a study starts from: today's cheapest, or an error that says why there is none."""

from __future__ import annotations

from planner.cells import SolveSettings
from planner.errors import GaveUpError, InfeasibleError, StoppedError
from planner.physics.system import System
from planner.plan import Evaluation
from planner.study.points import cheapest


def todays_plan(system: System, settings: SolveSettings, so: str) -> Evaluation:
    """The cheapest plan as the scenario is.

    ``so`` is what follows for the study where nothing fits.

    Raises:
        InfeasibleError: No design keeps every promise.
        StoppedError: Ctrl-C came before there was a plan.
        GaveUpError: The time limit did.
    """
    found = cheapest(system, settings)
    if found.plan is not None:
        return found.plan
    name = system.scenario.name
    if settings.stop is not None and settings.stop():
        raise StoppedError(f"{name}: interrupted before there was a plan")
    if found.interrupted:
        raise GaveUpError(f"{name}: stopped before there was a plan ({found.interrupted})")
    raise InfeasibleError(f"{name}: no design keeps every promise, {so} (planner solve says why)")
