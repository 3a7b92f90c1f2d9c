"""Which correction a scenario's engine configurations get, and what a plan says about it (``engine.correction``).

Applied to packaged tables and to rooflines with the packaged fit's parameters. Numbers that the scenario gives itself,
as ``engine.roofline`` or as a CSV file, are taken as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.physics.correction import (
    CorrectedTiming,
    Errors,
    corrected,
    correction_kind,
    errors_of,
    faulty_table,
    wider,
)
from planner.physics.roofline import packaged_fit, roofline_timing
from planner.physics.timing import ROOFLINE, EngineConfig, Timing, config_name
from planner.scenario.catalog.corrections import BACKENDS, FRONT_END, Correction, find, other_builds, spread

if TYPE_CHECKING:
    from planner.scenario.schema import Scenario

NONE = "none"
TOLD_BIAS = 0.05
SWITCH = "`correction: none` leaves it out"
KINDS = {
    "table": "the timing table",
    "mla": "an MLA roofline",
    "moe": "an MoE roofline",
    "dense": "a dense roofline",
}


def corrected_configs(scenario: Scenario, configs: tuple[EngineConfig, ...]) -> tuple[EngineConfig, ...]:
    """``configs`` with their engine's correction and the margin of ``slo.confidence``; as they are without both."""
    confidence = scenario.slo.confidence
    if own_numbers(scenario):
        if confidence is None:
            return configs
        note = f"slo.confidence: {confidence:g} has no effect: the error of times that you give yourself is not known"
        return tuple(replace(c, timing=CorrectedTiming(c.timing, extra_notes=(note,))) for c in configs)
    backend = corrected_backend(scenario)
    if backend is None and confidence is None:
        return configs
    return tuple(replace(c, timing=_corrected(scenario, c, backend, confidence)) for c in configs)


def own_numbers(scenario: Scenario) -> bool:
    """Whether the times are the user's own: a CSV file, or a roofline with parameters of no packaged fit."""
    engine = scenario.engine
    if engine.timing.lower().endswith(".csv"):
        return True
    return engine.timing == ROOFLINE and packaged_fit(engine.roofline) is None


def corrected_backend(scenario: Scenario) -> str | None:
    """The measured engine whose correction applies; None where none does."""
    engine = scenario.engine
    if engine.correction == NONE or own_numbers(scenario):
        return None
    fit = packaged_fit(engine.roofline)
    if engine.timing == ROOFLINE:
        return BACKENDS.get(fit.engine) if fit else None
    return BACKENDS.get(engine.timing)


def _corrected(scenario: Scenario, config: EngineConfig, backend: str | None, confidence: float | None) -> Timing:
    timing, notes = config.timing, []
    found: Correction | None = None
    kind = correction_kind(timing, scenario.model)
    if backend is not None and (kind == "table" or packaged_fit(scenario.engine.roofline)):
        if kind == "table" and faulty_table(backend, scenario.model.attention.kind):
            timing = roofline_timing(scenario, config.gpus, config.tp, config.ways, f"roofline of {backend}")
            kind = correction_kind(timing, scenario.model)
            notes.append(
                "the roofline takes the table's place: SGLang's MLA decode is a fault of the data (`correction: none` "
                "takes it as it is)"
            )
        found = find(backend, None, "agg", kind, scenario.model.name)
        notes += _notes(scenario, config, backend, kind, found)
    made = CorrectedTiming(timing) if found is None else corrected(timing, found, _apart(scenario, backend, kind))
    near, far = _errors(scenario, config, backend, kind, found, confidence)
    if confidence is not None and near is not None and far is not None:
        notes.append(_margin_note(near, far, confidence, found))
    if found is None:
        margins = replace(made, near=near, far=far, extra_notes=tuple(notes))
        return margins if confidence is not None else replace(made, extra_notes=tuple(notes)) if notes else timing
    return replace(made, near=near, far=far, most_sequences=float(found.most_sequences), extra_notes=tuple(notes))


def _errors(
    scenario: Scenario, config: EngineConfig, backend: str | None, kind: str, found: Correction | None,
    confidence: float | None,
) -> tuple[Errors | None, Errors | None]:  # fmt: skip
    """The errors of a configuration at batches that were measured, and beyond; the latter claim no less."""

    def left_out(what: str) -> Errors | None:
        tpot, ttft = (spread(backend or "*", kind, phase, what) for phase in ("tpot", "ttft"))
        return errors_of(tpot, ttft, confidence) if tpot and ttft else None

    if found is None or scenario.model.name not in found.models or found.kind == FRONT_END:
        both = left_out("model")
        return both, both
    near, far = left_out("shape"), left_out("configuration")
    if near is None or far is None:
        return near, near
    far = wider(near, far)
    return (far if _far(scenario, config, found) else near), far


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
        f"{found.decode_fixed_ms:.1f} ms{_per_sequence(found)}, first token {_first_token(found)} later; {SWITCH}"
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
        f"packaged, a step {found.decode_us_per_sequence:.1f} us longer a sequence, first token {_first_token(found)} "
        f"later, as measured of {backend} with {len(found.models)} other models; {SWITCH}"
    ]
    for entry in (c for c in other_builds(backend) if model in c.models):
        notes.append(
            f"in {entry.rows} measurements of this very model on {backend} {entry.version or 'of no stated version'}, "
            f"TPOT was {entry.tpot_ratio:.2f} and TTFT {entry.ttft_ratio:.2f} times these: taken for another build and "
            "left out of the error of these times; measure yours before buying"
        )
    return notes


def _per_sequence(found: Correction) -> str:
    """What each sequence of a batch adds to a decode step; empty where that is nothing."""
    added = found.decode_us_per_sequence
    return f" and {added:.1f} us a sequence" if added >= 0.05 else ""


def _first_token(found: Correction) -> str:
    return f"{found.first_token_ms:.0f} ms and {found.first_token_us_per_token:.1f} us a prompt token"


def longest_tokens(scenario: Scenario) -> int:
    """Prompt and output of the longest class, tokens."""
    return max(k.prompt_tokens + k.output_tokens for k in scenario.workload.classes)


def _far(scenario: Scenario, config: EngineConfig, found: Correction) -> list[str]:
    """How the plan leaves the rows behind the correction."""
    far = []
    longest = longest_tokens(scenario)
    name = config_name(config.tp, config.dp, config.etp, config.ep)
    if scenario.hardware.name != "h200-sxm":
        far.append(f"{scenario.hardware.name}, measured h200-sxm")
    if scenario.model.name not in found.models:
        far.append(f"{scenario.model.name} was not measured")
    elif name not in found.configs:
        far.append(f"{name}, measured {', '.join(found.configs)}")
    if longest > found.most_tokens:
        far.append(f"{longest:,} tokens, measured up to {found.most_tokens:,}")
    return far


def _margin_note(near: Errors, far: Errors, confidence: float, found: Correction | None) -> str:
    beyond = ""
    if found is not None and far.margin_tpot > near.margin_tpot:
        beyond = f" ({far.margin_tpot:.2f} beyond {found.most_sequences} sequences)"
    which = "" if found else "; of corrected predictions: without a correction the error is larger"
    return (
        f"planned with the upper end at {100 * confidence:.0f} % confidence: prefill and first token x "
        f"{near.margin_ttft:.2f}, decode x {near.margin_tpot:.2f}{beyond}{which}"
    )


def expected_errors(prefill: Timing, decode: Timing, batch: float) -> Errors | None:
    """The errors of a plan's times: TPOT's of the pool that decodes, the first token's the wider of both pools."""
    if not isinstance(prefill, CorrectedTiming) or not isinstance(decode, CorrectedTiming):
        return None
    first, last = prefill.near if decode is not prefill else prefill.errors_at(batch), decode.errors_at(batch)
    if first is None or last is None:
        return None
    return replace(wider(first, last), tpot=last.tpot)


def uncertainty(errors: Errors | None, tpot_s: float, ttft_s: float, confidence: float | None) -> tuple[str, ...]:
    """One note with the plan's times and the band that held 80 % of the measurements; none without a correction.

    None either where the plan counts on the upper end: its times are not what is expected.
    """
    if errors is None or confidence is not None:
        return ()
    middle = ""
    if max(abs(errors.ttft.middle), abs(errors.tpot.middle)) >= TOLD_BIAS:
        middle = f"; half lay above {_signed(errors.tpot.middle)} and {_signed(errors.ttft.middle)}"
    return (
        f"TPOT {1e3 * tpot_s:.0f} ms {_signed(errors.tpot.low)} … {_signed(errors.tpot.high)}, TTFT "
        f"{1e3 * ttft_s:,.0f} ms {_signed(errors.ttft.low)} … {_signed(errors.ttft.high)}: what 80 % of comparable "
        f"measurements (closed loop, means) were against predictions that had not seen them{middle}",
    )


def beyond_measured(decode: Timing, batch: float) -> tuple[str, ...]:
    """A note where more sequences share an instance than were measured."""
    if not isinstance(decode, CorrectedTiming) or not decode.most_sequences < batch:
        return ()
    return (f"batch {batch:,.0f}: measured up to {decode.most_sequences:,.0f} sequences an instance",)


def _signed(share: float) -> str:
    return f"{100 * share:+.0f} %".replace("-", "\N{MINUS SIGN}")
