"""Which correction a scenario's engine configurations get, and what a plan says about it (``engine.correction``).

Applied to packaged tables and to rooflines with the packaged fit's parameters. Numbers that the scenario gives itself,
as ``engine.roofline`` or as a CSV file, are taken as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.physics.correction import (
    CorrectedTiming,
    corrected,
    correction_kind,
    faulty_table,
    half_width,
    upper_ratio,
)
from planner.physics.roofline import packaged_fit, roofline_timing
from planner.physics.timing import ROOFLINE, EngineConfig, Timing
from planner.scenario.catalog.corrections import BACKENDS, FRONT_END, Correction, Spread, find, other_builds, spread

if TYPE_CHECKING:
    from planner.scenario.schema import Scenario

NONE = "none"
SWITCH = "`correction: none` leaves it out"
KINDS = {
    "table": "the timing table",
    "mla": "an MLA roofline",
    "moe": "an MoE roofline",
    "dense": "a dense roofline",
}


def corrected_configs(scenario: Scenario, configs: tuple[EngineConfig, ...]) -> tuple[EngineConfig, ...]:
    """``configs`` with their engine's correction and the margin of ``slo.confidence``; as they are without both."""
    backend = corrected_backend(scenario)
    confidence = scenario.slo.confidence
    if backend is None and confidence is None:
        return configs
    return tuple(replace(c, timing=_corrected(scenario, c, backend, confidence)) for c in configs)


def corrected_backend(scenario: Scenario) -> str | None:
    """The measured engine whose correction applies; None where none does."""
    engine = scenario.engine
    if engine.correction == NONE or engine.timing.lower().endswith(".csv"):
        return None
    fit = packaged_fit(engine.roofline)
    if engine.timing == ROOFLINE:
        return BACKENDS.get(fit.engine) if fit else None
    return BACKENDS.get(engine.timing)


def _corrected(scenario: Scenario, config: EngineConfig, backend: str | None, confidence: float | None) -> Timing:
    timing = config.timing
    notes: list[str] = []
    found: Correction | None = None
    kind = correction_kind(timing, scenario.model)
    if backend is not None and (kind == "table" or packaged_fit(scenario.engine.roofline)):
        if kind == "table" and faulty_table(backend, scenario.model.attention.kind):
            timing = roofline_timing(scenario, config.gpus, config.tp, config.ways, timing.source, timing.notes)
            kind = correction_kind(timing, scenario.model)
            notes.append("the roofline takes the table's place: SGLang's MLA decode is a fault of the data")
        found = find(backend, None, "agg", kind, scenario.model.name)
        notes += _notes(scenario, config, backend, kind, found)
    made = CorrectedTiming(timing) if found is None else corrected(timing, found, _apart(scenario, backend, kind))
    seen = found is not None and found.kind != FRONT_END and not _far(scenario, config, found)
    ttft, tpot = (spread(backend or "*", kind, phase, seen) for phase in ("ttft", "tpot"))
    if confidence is not None and ttft and tpot:
        made = replace(made, margin_ttft=upper_ratio(ttft, confidence), margin_tpot=upper_ratio(tpot, confidence))
        notes.append(_margin_note(made, confidence, found))
    if found is None:
        return replace(made, extra_notes=tuple(notes)) if confidence is not None or notes else timing
    return replace(made, extra_notes=tuple(notes), half_ttft=_half(ttft), half_tpot=_half(tpot))


def _half(found: Spread | None) -> float | None:
    return None if found is None else half_width(found)


def _apart(scenario: Scenario, backend: str | None, kind: str) -> Correction | None:
    """Where the first token's latency of a disaggregated deployment was measured."""
    return find(backend or "", None, "disagg", kind, scenario.model.name)


def _notes(scenario: Scenario, config: EngineConfig, backend: str, kind: str, found: Correction | None) -> list[str]:
    """What was measured, and how far this configuration is from it."""
    if found is None:
        return [f"not corrected: nothing was measured of {backend} against {KINDS[kind]}"]
    if found.kind == FRONT_END:
        return _unmeasured_notes(scenario, backend, kind, found)
    version = f" {found.version}" if found.version else ""
    notes = [
        f"corrected by {found.rows} measurements of {backend}{version} ({', '.join(found.models)}): prefill "
        f"x {found.prefill_factor:.2f} with {found.prefill_fixed_ms:.0f} ms, decode x {found.decode_factor:.2f} with "
        f"{found.decode_fixed_ms:.1f} ms, first token {_first_token(found)} later; {SWITCH}"
    ]
    far = _far(scenario, config, found)
    if far:
        notes.append(f"far from anything measured ({', '.join(far)}): the correction is an extrapolation")
    return notes


def _unmeasured_notes(scenario: Scenario, backend: str, kind: str, found: Correction) -> list[str]:
    """Of a model without measurements of its own: what is left as it is, and what its rejected measurements said."""
    model = scenario.model.name
    notes = [
        f"far from anything measured: {model} has no measurement on {backend} that plans use: {KINDS[kind]} as "
        f"packaged, first token {_first_token(found)} later, as measured of {backend} with {len(found.models)} other "
        f"models; {SWITCH}"
    ]
    for entry in other_builds(backend):
        notes.append(
            f"not used: {entry.rows} measurements of {', '.join(entry.models)} on {backend} "
            f"{entry.version or 'of no stated version'}, TPOT {entry.tpot_ratio:.2f} and TTFT {entry.ttft_ratio:.2f} "
            "times the packaged: not the same build"
        )
    return notes


def _first_token(found: Correction) -> str:
    return f"{found.first_token_ms:.0f} ms and {found.first_token_us_per_token:.1f} us a prompt token"


def longest_tokens(scenario: Scenario) -> int:
    """Prompt and output of the longest class, tokens."""
    return max(k.prompt_tokens + k.output_tokens for k in scenario.workload.classes)


def _far(scenario: Scenario, config: EngineConfig, found: Correction) -> list[str]:
    """How the plan leaves the rows behind the correction."""
    far = []
    longest = longest_tokens(scenario)
    if scenario.hardware.name != "h200-sxm":
        far.append(f"{scenario.hardware.name}, measured h200-sxm")
    if scenario.model.name not in found.models:
        far.append(f"{scenario.model.name} was not measured")
    if config.gpus > found.most_gpus:
        far.append(f"{config.gpus} GPUs an instance, measured up to {found.most_gpus}")
    if longest > 2 * found.most_tokens:
        far.append(f"{longest:,} tokens, measured up to {found.most_tokens:,}")
    return far


def _margin_note(made: CorrectedTiming, confidence: float, found: Correction | None) -> str:
    which = "" if found else " (of corrected predictions: without a correction the error is larger)"
    return (
        f"planned with the upper end at {100 * confidence:.0f} % confidence: prefill and first token x "
        f"{made.margin_ttft:.2f}, decode x {made.margin_tpot:.2f}{which}"
    )


def uncertainty(timing: Timing, tpot_s: float, ttft_s: float) -> tuple[str, ...]:
    """One note with the plan's times and the band that held 80 % of the measurements; none without a correction."""
    if not isinstance(timing, CorrectedTiming) or timing.half_tpot is None or timing.half_ttft is None:
        return ()
    tpot, ttft = 1e3 * tpot_s / timing.margin_tpot, 1e3 * ttft_s / timing.margin_ttft
    return (
        f"TPOT {tpot:.0f} ms ± {100 * timing.half_tpot:.0f} %, TTFT {ttft:,.0f} ms ± {100 * timing.half_ttft:.0f} %: "
        "the band that held 80 % of the measurements that the fit had not seen",
    )
