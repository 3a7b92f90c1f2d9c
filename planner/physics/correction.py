"""From composed kernel times to those of a running engine: factors and fixed times fitted to measurements.

Nothing here breaks monotonicity: factors are positive, fixed times and the cost per sequence are not negative.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

from planner.physics.roofline import RooflineTiming
from planner.physics.timing import Timing
from planner.scenario.catalog.corrections import FRONT_END, LEVELS, Correction, Spread
from planner.scenario.schema import ModelSpec
from planner.units import seconds


@dataclass(frozen=True)
class Band:
    """What measurements were, relative to what had been predicted: 0.1 is 10 % above."""

    low: float  # a tenth lay below
    middle: float  # half lay below
    high: float  # a tenth lay above

    def joined(self, other: Band) -> Band:
        """The band that holds both; the higher middle."""
        return Band(min(self.low, other.low), max(self.middle, other.middle), max(self.high, other.high))


@dataclass(frozen=True)
class Errors:
    """The errors to expect of times, and the factors that plan for their upper end."""

    tpot: Band
    ttft: Band
    margin_tpot: float = 1.0
    margin_ttft: float = 1.0


@dataclass(frozen=True)
class CorrectedTiming:
    """A timing with ``prefill' = f_p * prefill + c_p`` and ``decode' = f_d * decode + c_d + s * batch``.

    The margins of ``near`` and ``far`` are factors on top, for plans that count on the upper end of the error
    (``slo.confidence``); decode takes that of ``far`` beyond ``most_sequences``.

    >>> from planner.physics.roofline import RooflineTiming
    >>> base = RooflineTiming("example", (), 2e9, 0.0, 1e12, 4e9, 0.0, 1.0, 0.0, 1e12, 0.0, 0.002, 0.001)
    >>> timing = CorrectedTiming(base, 2.0, 0.001, 1.5, 0.002, 1e-5)
    >>> round(timing.prefill_s(1000, 0), 6), round(timing.decode_s(1, 1000), 6)
    (4.005, 0.01251)
    """

    base: Timing
    prefill_factor: float = 1.0
    prefill_fixed_s: float = 0.0
    decode_factor: float = 1.0
    decode_fixed_s: float = 0.0
    decode_s_per_sequence: float = 0.0
    first_token_fixed_s: float = 0.0
    first_token_s_per_token: float = 0.0
    handover_fixed_s: float = 0.0  # the first token's, where prefill and decode are apart
    handover_s_per_token: float = 0.0
    near: Errors | None = None  # of configurations, lengths and batches like the measured
    far: Errors | None = None  # of those that go beyond them
    most_sequences: float = math.inf  # that were measured in one instance
    extra_notes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Where the times come from, in one line."""
        return f"{self.base.source}, corrected by measurements"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before resting a plan on them."""
        return (*self.base.notes, *self.extra_notes)

    def prefill_s(self, new_tokens: float, prefix_tokens: float) -> float:
        """One prefill pass, seconds."""
        base = self.base.prefill_s(new_tokens, prefix_tokens)
        return self.margin_ttft * (self.prefill_factor * base + self.prefill_fixed_s)

    @property
    def margin_ttft(self) -> float:
        """The factor on times of the first token."""
        return self.near.margin_ttft if self.near else 1.0

    def margin_tpot(self, batch: float) -> float:
        """The factor on steps of ``batch`` sequences."""
        errors = self.errors_at(batch)
        return errors.margin_tpot if errors else 1.0

    def errors_at(self, batch: float) -> Errors | None:
        """The errors to expect at ``batch`` sequences."""
        return self.far if batch > self.most_sequences else self.near

    def decode_s(self, batch: float, context: float) -> float:
        """One decode step, seconds."""
        base = self.base.decode_s(batch, context)
        step = self.decode_factor * base + self.decode_fixed_s + self.decode_s_per_sequence * batch
        return self.margin_tpot(batch) * step

    def first_token_s(self, prompt_tokens: float, disaggregated: bool = False) -> float:
        """Latency of the first token outside the GPU: front end, tokeniser, scheduler, and the second engine's."""
        if disaggregated:
            return self.margin_ttft * (self.handover_fixed_s + self.handover_s_per_token * prompt_tokens)
        return self.margin_ttft * (self.first_token_fixed_s + self.first_token_s_per_token * prompt_tokens)

    def prefill_text(self) -> str:
        """How a pass follows from the base's time, for a derivation."""
        return self._text(self.prefill_factor, self.prefill_fixed_s, 0.0, self.margin_ttft)

    def decode_text(self, batch: float) -> str:
        """How a step follows from the base's time, for a derivation."""
        return self._text(self.decode_factor, self.decode_fixed_s, self.decode_s_per_sequence, self.margin_tpot(batch))

    def _text(self, factor: float, fixed_s: float, per_sequence_s: float, margin: float) -> str:
        if isinstance(self.base, RooflineTiming) and (factor, fixed_s) == (1.0, 0.0):
            text = "roofline with peaks and overheads as measured"
        else:
            text = f"x {factor:.3f} + {1e3 * fixed_s:.2f} ms"
        if per_sequence_s > 0:
            text += f" + {1e6 * per_sequence_s:.1f} us a sequence"
        return text if margin == 1.0 else f"({text}) x {margin:.3f} for slo.confidence"

    def prefill_in_grid(self, new_tokens: float, prefix_tokens: float) -> bool:
        """Whether the time is interpolated between measurements."""
        return self.base.prefill_in_grid(new_tokens, prefix_tokens)

    def decode_in_grid(self, batch: float, context: float) -> bool:
        """Whether the time is interpolated between measurements."""
        return self.base.decode_in_grid(batch, context)


def corrected(timing: Timing, correction: Correction, apart: Correction | None = None) -> CorrectedTiming:
    """``timing`` as the correction says: a roofline's reachable peaks and overheads, a table's factor and fixed time.

    ``apart`` gives the first token's latency where prefill and decode are apart; default: the same.
    """
    handover = apart or correction
    outside = CorrectedTiming(
        timing,
        decode_s_per_sequence=correction.decode_us_per_sequence / 1e6,
        first_token_fixed_s=seconds(correction.first_token_ms),
        first_token_s_per_token=correction.first_token_us_per_token / 1e6,
        handover_fixed_s=seconds(handover.first_token_ms),
        handover_s_per_token=handover.first_token_us_per_token / 1e6,
    )
    if correction.kind == FRONT_END:
        return outside
    if isinstance(timing, RooflineTiming):
        reached = replace(
            timing,
            flops_per_s=timing.flops_per_s / correction.prefill_factor,
            bytes_per_s=timing.bytes_per_s / correction.decode_factor,
            prefill_overhead_s=seconds(correction.prefill_fixed_ms),
            step_overhead_s=seconds(correction.decode_fixed_ms),
        )
        return replace(outside, base=reached)
    return replace(
        outside,
        prefill_factor=correction.prefill_factor,
        prefill_fixed_s=seconds(correction.prefill_fixed_ms),
        decode_factor=correction.decode_factor,
        decode_fixed_s=seconds(correction.decode_fixed_ms),
    )


def first_token_s(timing: Timing, prompt_tokens: float, disaggregated: bool = False) -> float:
    """Latency of the first token outside the GPU; 0 where nothing was measured of it."""
    return timing.first_token_s(prompt_tokens, disaggregated) if isinstance(timing, CorrectedTiming) else 0.0


def correction_text(timing: Timing, batch: float | None = None) -> str:
    """The arithmetic of a correction, of a step at ``batch`` or else of a pass; empty where there is none."""
    if not isinstance(timing, CorrectedTiming):
        return ""
    return f", corrected: {timing.prefill_text() if batch is None else timing.decode_text(batch)}"


def correction_kind(timing: Timing, model: ModelSpec) -> str:
    """What a correction corrects: a ``table``, or the roofline of a ``dense``, ``mla`` or ``moe`` model."""
    if not isinstance(timing, RooflineTiming):
        return "table"
    if model.attention.kind == "mla":
        return "mla"
    return "moe" if model.experts.count else "dense"


def faulty_table(engine: str, attention: str) -> bool:
    """Whether the roofline takes the place of a packaged table: SGLang's MLA decode is a fault of the data."""
    return engine.startswith("sglang") and attention == "mla"


def quantile(spread: Spread, level: float) -> float:
    """Measured over predicted at a level, linear between the quantiles that are known.

    >>> spread = Spread("*", "*", "tpot", 100, (0.8, 0.85, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2, 1.3))
    >>> quantile(spread, 0.9), round(quantile(spread, 0.85), 3), quantile(spread, 0.3)
    (1.2, 1.15, 0.95)
    """
    i = min(max(bisect_left(LEVELS, level), 1), len(LEVELS) - 1)
    low, high = LEVELS[i - 1], LEVELS[i]
    weight = min(max((level - low) / (high - low), 0.0), 1.0)
    return spread.ratios[i - 1] + weight * (spread.ratios[i] - spread.ratios[i - 1])


def errors_of(tpot: Spread, ttft: Spread, confidence: float | None) -> Errors:
    """The band that held the middle 80 % of the measurements, and the margins of a confidence, none below 1."""
    margins = [1.0 if confidence is None else max(1.0, quantile(spread, confidence)) for spread in (tpot, ttft)]
    return Errors(_band(tpot), _band(ttft), *margins)


def _band(spread: Spread) -> Band:
    low, middle, high = (quantile(spread, level) - 1 for level in (0.1, 0.5, 0.9))
    return Band(low, middle, high)


def wider(a: Errors, b: Errors) -> Errors:
    """Errors that claim no more than either."""
    return Errors(
        a.tpot.joined(b.tpot),
        a.ttft.joined(b.ttft),
        max(a.margin_tpot, b.margin_tpot),
        max(a.margin_ttft, b.margin_ttft),
    )
