"""Engine timing (MODEL.md section 3): one interface over measured tables and the roofline, and its configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from planner.scenario.schema import Scenario

ROOFLINE = "roofline"


class Timing(Protocol):
    """Times of one engine configuration, in seconds.

    Both never fall when an argument grows. ``source`` says where the times come from; ``notes`` what to know
    before resting a plan on them.
    """

    @property
    def source(self) -> str:
        """Where the times come from, in one line."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before resting a plan on them."""

    def prefill_s(self, new_tokens: float, prefix_tokens: float) -> float:
        """One pass over ``ways`` sequences, each with ``new_tokens`` to compute and ``prefix_tokens`` in HBM."""

    def decode_s(self, batch: float, context: float) -> float:
        """One step of an instance with ``batch`` sequences at ``context`` tokens each."""

    def prefill_in_grid(self, new_tokens: float, prefix_tokens: float) -> bool:
        """Whether the time is interpolated between measurements (a roofline has none: always true)."""

    def decode_in_grid(self, batch: float, context: float) -> bool:
        """Whether the time is interpolated between measurements (a roofline has none: always true)."""


@dataclass(frozen=True)
class EngineConfig:
    """A way to split an instance over GPUs, what it keeps in HBM, and its times. Bytes are of the whole instance."""

    name: str
    gpus: int
    tp: int
    dp: int
    ways: int  # sequences of one prefill pass
    weight_bytes: float
    reserve_bytes: float
    timing: Timing
    etp: int = 1
    ep: int = 1


def config_name(tp: int, dp: int = 1, etp: int = 1, ep: int = 1) -> str:
    """Name of a parallel configuration; parts that do nothing are left out.

    >>> config_name(4, 2, ep=8), config_name(8)
    ('tp4·dp2·ep8', 'tp8')
    """
    parts = [f"{label}{size}" for label, size in (("dp", dp), ("etp", etp), ("ep", ep)) if size > 1]
    return "·".join([f"tp{tp}", *parts])


def engine_configs(scenario: Scenario) -> tuple[EngineConfig, ...]:
    """Every configuration that the scenario allows, with its times.

    ``engine.timing`` names a packaged table, a CSV file (see :mod:`planner.physics.timing_csv`) or the roofline. Where
    a packaged engine has no table for the model on the hardware, the roofline fitted to that engine stands in, and its
    notes say so. Attention and expert tensor parallelism stay within ``hardware.nvlink_domain_gpus`` unless
    ``engine.configs`` names them; data-parallel attention and expert parallelism may cross it, so an instance may have
    more GPUs than the domain. ``engine.correction`` then turns kernel times into those of a running engine.
    """
    from planner.physics.corrected import corrected_configs

    return corrected_configs(scenario, _uncorrected(scenario))


def _uncorrected(scenario: Scenario) -> tuple[EngineConfig, ...]:
    name = scenario.engine.timing
    if name == ROOFLINE:
        from planner.physics.roofline import roofline_configs

        return roofline_configs(scenario)
    if name.lower().endswith(".csv"):
        from planner.physics.timing_csv import csv_configs

        return csv_configs(scenario)
    from planner.physics.timing_table import table_configs

    return table_configs(scenario)
