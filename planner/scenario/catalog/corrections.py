"""The packaged corrections of the engine timing, fitted to measurements, and how far measurements strayed from them.

``timing/correction.json`` is written by ``python -m planner.fidelity.fit`` from the rows in ``measured/``; provenance
and licence of both: ``measured/README.md``. Only the standard library is needed to read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent
FILE = FOLDER / "timing" / "correction.json"
MEASURED = FOLDER / "measured" / "h200_sxm.csv"

FRONT_END = "front end"
NUMBERS = (
    "prefill_factor", "prefill_fixed_ms", "decode_factor", "decode_fixed_ms", "decode_us_per_sequence",
    "first_token_ms", "first_token_us_per_token",
)  # fmt: skip


@dataclass(frozen=True)
class Correction:
    """What turns composed kernel times into those of a running engine. Times in the units of their names.

    ``kind`` says what is corrected. ``front end``: nothing but the first token's latency and the time of a sequence in
    a step. ``table``: factors on the measured times, fixed times added. ``moe``, ``mla`` and ``dense``: rooflines of
    such models; the factors divide the compute and the bandwidth that are reached, the fixed times take the place of
    the roofline's overheads. ``first_token`` is latency outside the GPU: it delays the first token, occupies nothing.
    """

    engine: str  # backend: vllm, sglang, trtllm
    version: str  # measured version; "" where the source names none
    mode: str  # agg or disagg
    kind: str  # table, moe, mla or dense
    prefill_factor: float
    prefill_fixed_ms: float
    decode_factor: float
    decode_fixed_ms: float
    decode_us_per_sequence: float
    first_token_ms: float
    first_token_us_per_token: float
    rows: int = 0
    models: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()  # parallel configurations of the rows, of both pools
    most_gpus: int = 0  # of an instance, over the rows
    most_tokens: int = 0  # prompt and output together
    most_sequences: int = 0  # in flight on an instance
    tpot_ratio: float = 1.0  # median of measured over uncorrected
    ttft_ratio: float = 1.0
    same_build: bool = True  # False: the uncorrected table is off by too much to be of the build that was measured
    planning: bool = False  # the version that plans use: the model's with the most rows, where it meets them


@dataclass(frozen=True)
class Spread:
    """Quantiles of measured over predicted, from rows that took no part in the fit."""

    engine: str  # "*": all of them
    kind: str
    phase: str  # ttft or tpot
    rows: int
    ratios: tuple[float, ...]  # at LEVELS
    left_out: str = "shape"  # what took no part: the lengths of the row, its whole "configuration", or its "model"


BACKENDS = {"vllm-0.31": "vllm", "sglang-0.5.14": "sglang", "trtllm-1.3": "trtllm"}  # packaged timing -> backend
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@cache
def corrections() -> tuple[Correction, ...]:
    """Every packaged correction; none where the file does not exist."""
    names = {field.name for field in fields(Correction)}
    entries: list[dict[str, Any]] = _document().get("corrections", [])
    made: list[Correction] = []
    for entry in entries:
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items() if k in names}
        made.append(Correction(**known))
    return tuple(made)


@cache
def spreads() -> tuple[Spread, ...]:
    """The packaged residual quantiles."""
    return tuple(Spread(**{**entry, "ratios": tuple(entry["ratios"])}) for entry in _document().get("spreads", ()))


def find(engine: str, version: str | None, mode: str, kind: str, model: str) -> Correction | None:
    """The correction for a model on an engine: its own if it was measured there, else what carries over to it.

    Its own is that of the measured ``version`` (None: planning's), else the one that plans use, else the other mode's.
    Of a model that was not measured, a dense roofline takes the engine's other dense models'; the times of any other
    kind stay as they are, but for what the engine adds (``front_end``).
    """
    own = [c for c in corrections() if c.engine == engine and c.kind == kind and model in c.models]
    for wanted in (
        [c for c in own if c.version == version and c.mode == mode],
        [c for c in own if c.planning and c.mode == mode],
        [c for c in own if c.planning],
    ):
        if wanted:
            return wanted[0]
    return for_unmeasured(corrections(), engine, mode, kind)


def for_unmeasured(known: Iterable[Correction], engine: str, mode: str, kind: str) -> Correction | None:
    """What ``known`` corrections of other models say about one that was not measured; None if nothing."""
    used = [c for c in known if c.engine == engine and c.planning]
    front = front_end(used, mode) or front_end(used, "agg")
    if kind == "dense":
        other = next((c for c in used if c.kind == kind and c.mode == mode), None)
        if other is None or front is None:
            return other
        return replace(other, decode_us_per_sequence=max(other.decode_us_per_sequence, front.decode_us_per_sequence))
    return front


def front_end(known: Iterable[Correction], mode: str) -> Correction | None:
    """What an engine adds whatever the model: the medians over its corrections of one mode.

    The first token's latency outside the GPU (tokeniser, scheduler, HTTP) and the time that a step takes longer for
    each sequence in it (scheduling, sampling, detokenising: 15 to 18 us on each of the three engines). Factors on
    kernel times are the model's, and do not carry over (of models left out, they made TPOT worse).
    """
    used = [c for c in known if c.mode == mode]
    if not used:
        return None
    return replace(
        used[0],
        version="",
        kind=FRONT_END,
        prefill_factor=1.0,
        prefill_fixed_ms=0.0,
        decode_factor=1.0,
        decode_fixed_ms=0.0,
        decode_us_per_sequence=median(c.decode_us_per_sequence for c in used),
        tpot_ratio=1.0,
        ttft_ratio=1.0,
        first_token_ms=median(c.first_token_ms for c in used),
        first_token_us_per_token=median(c.first_token_us_per_token for c in used),
        rows=sum(c.rows for c in used),
        models=tuple(sorted({m for c in used for m in c.models})),
        configs=tuple(sorted({name for c in used for name in c.configs})),
        most_gpus=max(c.most_gpus for c in used),
        most_tokens=max(c.most_tokens for c in used),
        most_sequences=max(c.most_sequences for c in used),
    )


def other_builds(engine: str) -> tuple[Correction, ...]:
    """Measurements of an engine that no plan uses, as they are too far from its table to be of the same build."""
    return tuple(c for c in corrections() if c.engine == engine and not c.same_build)


def spread(engine: str, kind: str, phase: str, left_out: str = "shape") -> Spread | None:
    """Residuals of an engine and kind, of all where too few rows say; ``left_out``: what had no part in the fit.

    Of models that were not measured, all engines speak together: none has enough of them alone.
    """
    pairs = (("*", kind), ("*", "*")) if left_out == "model" else ((engine, kind), (engine, "*"), ("*", "*"))
    for e, k in pairs:
        for found in spreads():
            if (found.engine, found.kind, found.phase, found.left_out) == (e, k, phase, left_out):
                return found
    return None


@cache
def cross_validation() -> dict[str, tuple[float, float]]:
    """Predicted over measured (TPOT, TTFT) of each packaged row, by a fit without its configuration and shape."""
    return {row: (pair[0], pair[1]) for row, pair in _document().get("cross_validation", {}).items()}


@cache
def summary(name: str) -> dict[str, float]:
    """Errors in percent where more was left out: ``unseen`` configurations, or ``unmeasured`` models."""
    return dict(_document().get(name, {}))


@cache
def _document() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
