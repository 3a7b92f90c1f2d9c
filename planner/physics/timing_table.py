"""Timing from measured tables (MODEL.md section 3): packaged ones and what a user's CSV holds."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from planner.errors import Diagnostic, InputError
from planner.physics.grid import Axis, Surface, largest_rise, rising
from planner.physics.roofline import roofline_configs, weight_bytes
from planner.physics.timing import EngineConfig, config_name
from planner.scenario.catalog.timing import (
    MeasuredConfig,
    MeasuredGrid,
    MeasuredTable,
    available_tables,
    engine_titles,
    load_table,
)
from planner.units import GB, GIB, KV_DTYPE_BYTES, seconds

if TYPE_CHECKING:
    from planner.scenario.schema import EngineConfigSpec, Scenario

LEAST_STEP = 0.5  # a step at context 0 costs at least this share of one at the first measured context
NON_SILICON_PCT = 50.0  # above this mean share of estimated time, a note says so
SPLIT = ("gpus", "tp", "dp", "etp", "ep", "ways")


@dataclass(frozen=True)
class TableTiming:
    """Times interpolated in two measured grids; see :mod:`planner.physics.grid` for the rule.

    Below the first measured number of new tokens, prefill is linear between it and a floor at 0: the continuation of
    the first interval, but at least one decode step over the same sequences. Below the first measured context, decode
    is linear down to its continuation at 0, but at least half of the first point. Below the first measured batch it is
    flat: idle data-parallel ranks step along. A fully cached prompt still computes its last
    token.
    """

    source: str
    notes: tuple[str, ...]
    prefill: Surface  # new tokens x prefix tokens -> s
    decode: Surface  # sequences per instance x context -> s

    def prefill_s(self, new_tokens: float, prefix_tokens: float) -> float:
        """One prefill pass over ``ways`` sequences, seconds."""
        return self.prefill(max(new_tokens, 1.0), prefix_tokens)  # a fully cached prompt computes its last token

    def decode_s(self, batch: float, context: float) -> float:
        """One decode step, seconds."""
        return self.decode(batch, context)

    def prefill_in_grid(self, new_tokens: float, prefix_tokens: float) -> bool:
        """Whether the point lies within the measured grid; nothing to compute needs no measurement."""
        return new_tokens <= 0 or self.prefill.contains(new_tokens, prefix_tokens)

    def decode_in_grid(self, batch: float, context: float) -> bool:
        """Whether the point lies within the measured grid."""
        return self.decode.contains(batch, context)


def table_timing(table: MeasuredTable, config: MeasuredConfig, notes: Iterable[str] = ()) -> TableTiming:
    """The timing of one configuration; what had to be changed to make it monotone is added to the notes."""
    decode, decode_change = _decode_surface(config.decode)
    prefill, prefill_change = _prefill_surface(config.prefill, decode, config.ways)
    own = [*_monotone_notes(prefill_change, decode_change), *_estimate_notes(config), _grid_note(config)]
    source = f"{table.engine_title} table of {table.model} on {table.hardware} ({table.source})"
    return TableTiming(source, (*notes, *own), prefill, decode)


def _decode_surface(grid: MeasuredGrid) -> tuple[Surface, float]:
    measured = _in_seconds(grid)
    raised = rising(measured)
    ratio = grid.columns[0] / (grid.columns[1] - grid.columns[0])
    at_zero = accumulate((max(r[0] - ratio * (r[1] - r[0]), LEAST_STEP * r[0]) for r in raised), max)
    values = tuple((zero, *row) for zero, row in zip(at_zero, raised, strict=True))
    surface = Surface(Axis(grid.rows), Axis((0.0, *grid.columns), from_zero=True), values)
    return surface, largest_rise(measured, raised)


def _prefill_surface(grid: MeasuredGrid, decode: Surface, ways: int) -> tuple[Surface, float]:
    measured = _in_seconds(grid)
    raised = rising(measured)
    ratio = grid.rows[0] / (grid.rows[1] - grid.rows[0])
    floors = (decode(ways, prefix) for prefix in grid.columns)
    line = (max(a - ratio * (b - a), floor) for a, b, floor in zip(raised[0], raised[1], floors, strict=True))
    at_zero = tuple(map(min, accumulate(line, max), raised[0]))
    surface = Surface(Axis((0.0, *grid.rows), from_zero=True), Axis(grid.columns), (at_zero, *raised))
    return surface, largest_rise(measured, raised)


def _in_seconds(grid: MeasuredGrid) -> Sequence[Sequence[float]]:
    return tuple(tuple(map(seconds, row)) for row in grid.milliseconds)


def _monotone_notes(prefill_change: float, decode_change: float) -> Iterator[str]:
    for phase, axes, change in (
        ("prefill", "new and cached tokens", prefill_change),
        ("decode", "batch and context", decode_change),
    ):
        if change > 0:
            yield f"{phase} made monotone in {axes}: the largest value raised by {100 * change:.1f} %"


def _estimate_notes(config: MeasuredConfig) -> Iterator[str]:
    for phase, grid in (("prefill", config.prefill), ("decode", config.decode)):
        mean, largest = grid.non_silicon_pct_mean, grid.non_silicon_pct_max
        if mean is not None and mean > NON_SILICON_PCT:
            yield f"{phase}: {mean:.0f} % of the time (up to {largest:.0f} %) is estimated from neighbouring kernels"


def _grid_note(config: MeasuredConfig) -> str:
    new, prefix = config.prefill.rows, config.prefill.columns
    batch, context = config.decode.rows, config.decode.columns
    return (
        f"measured for {_span(new)} new x {_span(prefix)} cached tokens, batch {_span(batch)} x context "
        f"{_span(context)}; beyond, the last interval is continued linearly (too fast for very long prompts, whose "
        "attention grows with the square)"
    )


def _span(points: Sequence[float]) -> str:
    return f"{points[0]:,.0f}-{points[-1]:,.0f}"


def table_configs(scenario: Scenario) -> tuple[EngineConfig, ...]:
    """Configurations of a packaged table, or of the roofline fitted to its engine where it does not exist."""
    engine = scenario.engine.timing
    titles = engine_titles()
    if engine not in titles:
        raise InputError(_unknown_engine(scenario, tuple(titles)))
    key = (engine, scenario.model.timing_name or "", scenario.hardware.name)
    if key not in available_tables():
        return roofline_configs(scenario, stands_in_for=engine)
    table = load_table(*key)
    return measured_configs(scenario, table, packaged_notes(scenario, table))


def measured_configs(scenario: Scenario, table: MeasuredTable, notes: tuple[str, ...]) -> tuple[EngineConfig, ...]:
    """The table's configurations that ``engine.configs`` and the NVLink domain allow.

    Weights and reserve come from the table (MODEL.md section 4), else from the model and the hardware.
    """
    specs = scenario.engine.configs
    domain = scenario.hardware.nvlink_domain_gpus
    chosen = [c for c in table.configs if specs is None or any(_matches(c, spec) for spec in specs)]
    named = {field for spec in specs or () for field in ("tp", "etp") if getattr(spec, field) is not None}
    within = [c for c in chosen if all(domain is None or f in named or getattr(c, f) <= domain for f in ("tp", "etp"))]
    if not within:
        raise InputError(_no_config(scenario, table, bool(chosen)))
    return tuple(_engine_config(scenario, table, config, notes) for config in within)


def _matches(config: MeasuredConfig, spec: EngineConfigSpec) -> bool:
    return all(getattr(spec, name) in (None, getattr(config, name)) for name in SPLIT)


def _engine_config(
    scenario: Scenario, table: MeasuredTable, config: MeasuredConfig, notes: tuple[str, ...]
) -> EngineConfig:
    model_weights, _ = weight_bytes(scenario.model)
    weights, reserve = config.weights_gib, config.reserve_gib
    return EngineConfig(
        name=config_name(config.tp, config.dp, config.etp, config.ep),
        gpus=config.gpus,
        tp=config.tp,
        dp=config.dp,
        ways=config.ways,
        weight_bytes=model_weights if weights is None else config.gpus * weights * GIB,
        reserve_bytes=config.gpus * (scenario.hardware.runtime_reserve_gb * GB if reserve is None else reserve * GIB),
        timing=table_timing(table, config, notes),
        etp=config.etp,
        ep=config.ep,
    )


def packaged_notes(scenario: Scenario, table: MeasuredTable) -> tuple[str, ...]:
    """What holds for every configuration of a packaged table."""
    composed = "composed from kernels timed one by one, not an end-to-end measurement"
    notes = [composed + ("; no scheduler or framework time" if scenario.engine.correction == "none" else "")]
    notes.append("attention over a cached prefix is scaled from attention without one, not measured")
    if table.engine.startswith("sglang") and scenario.model.attention.kind == "mla":
        notes.append(
            "SGLang's MLA decode is about 3 times slower here than vLLM's and TensorRT-LLM's: a fault of the data"
        )
    assumed = KV_DTYPE_BYTES[table.kv_dtype] if table.kv_dtype else None
    kept = kv_element_bytes(scenario)
    if assumed is not None and assumed != kept:
        faster = "optimistic" if kept > assumed else "pessimistic"
        notes.append(
            f"times assume {table.kv_dtype} KV ({assumed:g} byte per element), the scenario keeps {kept:g}: decode at "
            f"long context is {faster}; memory counts the scenario's"
        )
    return tuple(notes)


def kv_element_bytes(scenario: Scenario) -> float:
    """Bytes of one element of the KV cache: ``engine.kv_dtype``, else the model's."""
    dtype = scenario.engine.kv_dtype
    return KV_DTYPE_BYTES[dtype] if dtype else scenario.model.kv_bytes_per_element


def _unknown_engine(scenario: Scenario, known: tuple[str, ...]) -> Diagnostic:
    name = scenario.engine.timing
    near = difflib.get_close_matches(name, known, n=1)
    choices = f"choose one of {', '.join(known)}, roofline, or a .csv file"
    return Diagnostic(
        code="unknown-timing",
        message=f"no timing table named {name!r}",
        span=scenario.span("engine.timing"),
        path="engine.timing",
        hint=f"did you mean {near[0]!r}? {choices}" if near else choices,
    )


def _no_config(scenario: Scenario, table: MeasuredTable, crossing: bool) -> Diagnostic:
    has = ", ".join(dict.fromkeys(f"{config_name(c.tp, c.dp, c.etp, c.ep)}" for c in table.configs))
    limit = f"every match spans more than the {scenario.hardware.nvlink_domain_gpus} GPUs that NVLink joins"
    return Diagnostic(
        code="no-engine-config",
        message=limit if crossing else f"{table.engine_title} has no such configuration of {table.model}",
        span=scenario.span("engine.configs"),
        path="engine.configs",
        hint=f"the table has {has}",
    )
