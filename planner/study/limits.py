"""Which limit of the scenario makes a value impossible: the one without which it would be possible."""

from __future__ import annotations

from planner.cells import SolveSettings
from planner.errors import InputError
from planner.physics.system import System
from planner.scenario import replace
from planner.study.axes import Axis
from planner.study.cell_frontier import CellFrontier
from planner.study.envelope import Envelope, HaltedError

MORE = 4  # times the limit, which the rule is blamed for if that would do
# key, factor that loosens it, how it is told
LIMITS = (
    ("deployment.max_gpus", MORE, "needs more than deployment.max_gpus {:,g}"),
    ("slo.ttft_ms", MORE, "slo.ttft_ms {:,g} is in the way"),
    ("slo.tpot_ms", MORE, "slo.tpot_ms {:,g} is in the way"),
)


def limit_in_the_way(system: System, axis: Axis, cell: CellFrontier, settings: SolveSettings) -> str:
    """The first limit that alone stands in the way of ``cell.impossible_from``; empty where none does.

    The axis's own limit is not one: that it is too hard is what the frontier says already. Of the rest, whether
    ``MORE`` times as much would do is looked at.
    """
    x = cell.impossible_from
    if x is None:
        return ""
    there = axis.at(system, x)
    for key, factor, told in LIMITS:
        section, name = key.split(".")
        value = getattr(getattr(system.scenario, section), name)
        if key == axis.key or value is None:
            continue
        try:
            looser = System(replace(there.scenario, {key: value * factor}), like=there)
            if Envelope(looser, axis, cell.architecture, cell.tiered, settings.halted).possible(x):
                return told.format(value)
        except InputError:
            continue  # as loose as a scenario may have it
        except HaltedError:
            return ""
    return ""
