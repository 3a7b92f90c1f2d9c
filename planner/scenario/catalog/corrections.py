"""The packaged corrections of the engine timing, fitted to measurements, and how far measurements strayed from them.

``timing/correction.json`` is written by ``python -m planner.fidelity.fit`` from the rows in ``measured/``; provenance
and licence of both: ``measured/README.md``. Only the standard library is needed to read it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FILE = FOLDER / "timing" / "correction.json"
MEASURED = FOLDER / "measured" / "h200_sxm.csv"

NUMBERS = (
    "prefill_factor", "prefill_fixed_ms", "decode_factor", "decode_fixed_ms", "decode_us_per_sequence",
    "first_token_ms", "first_token_us_per_token",
)  # fmt: skip


@dataclass(frozen=True)
class Correction:
    """What turns composed kernel times into those of a running engine. Times in the units of their names.

    ``kind`` says what is corrected. ``table``: factors on the measured times, fixed times added. ``moe``, ``mla`` and
    ``dense``: rooflines of such models; the factors divide the compute and the bandwidth that are reached, the fixed
    times take the place of the roofline's overheads. ``first_token`` is latency outside the GPU: it delays the first
    token and occupies nothing.
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
    most_gpus: int = 0  # of an instance, over the rows
    most_tokens: int = 0  # prompt and output together
    most_sequences: int = 0  # in flight on an instance
    planning: bool = False  # the version that plans use: the one with the most rows, where it meets them


@dataclass(frozen=True)
class Spread:
    """Quantiles of measured over predicted, from rows that took no part in the fit."""

    engine: str  # "*": all of them
    kind: str
    phase: str  # ttft or tpot
    rows: int
    ratios: tuple[float, ...]  # at LEVELS
    seen: bool = True  # other shapes of the same configuration were in the fit


BACKENDS = {"vllm-0.31": "vllm", "sglang-0.5.14": "sglang", "trtllm-1.3": "trtllm"}  # packaged timing -> backend
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@cache
def corrections() -> tuple[Correction, ...]:
    """Every packaged correction; none where the file does not exist."""
    names = {field.name for field in fields(Correction)}
    entries: list[dict[str, Any]] = _document().get("corrections", [])
    return tuple(
        Correction(**{**{k: v for k, v in entry.items() if k in names}, "models": tuple(entry["models"])})
        for entry in entries
    )


@cache
def spreads() -> tuple[Spread, ...]:
    """The packaged residual quantiles."""
    return tuple(Spread(**{**entry, "ratios": tuple(entry["ratios"])}) for entry in _document().get("spreads", ()))


def find(engine: str, version: str | None, mode: str, kind: str) -> Correction | None:
    """The correction of a measured version, else the one that plans use, else the other mode's; None if unmeasured.

    ``version`` None asks for planning's.
    """
    known = [c for c in corrections() if c.engine == engine and c.kind == kind]
    for wanted in (
        [c for c in known if c.version == version and c.mode == mode],
        [c for c in known if c.planning and c.mode == mode],
        [c for c in known if c.planning],
    ):
        if wanted:
            return wanted[0]
    return None


def spread(engine: str, kind: str, phase: str, seen: bool = True) -> Spread | None:
    """Residuals of an engine and kind, of all engines where too few rows say; ``seen``: the model was measured."""
    for e, k in ((engine, kind), (engine, "*"), ("*", "*")):
        for found in spreads():
            if (found.engine, found.kind, found.phase, found.seen) == (e, k, phase, seen):
                return found
    return None


@cache
def cross_validation() -> dict[str, tuple[float, float]]:
    """Predicted over measured (TPOT, TTFT) of each packaged row, by a fit without its configuration and shape."""
    return {row: (pair[0], pair[1]) for row, pair in _document().get("cross_validation", {}).items()}


@cache
def unseen() -> dict[str, float]:
    """Errors in percent where the whole configuration, with every shape, took no part in the fit."""
    return dict(_document().get("unseen", {}))


@cache
def _document() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
