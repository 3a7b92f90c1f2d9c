"""Packaged timing tables: which exist, and their contents as frozen data.

One JSON file per engine version, model and hardware, named ``<engine>_<model>_<hardware>.json``; ``index.json`` lists
them, so that asking what exists reads one small file. ``roofline_fit.json`` holds the roofline's parameters as fitted
to these tables. Provenance and licence: ``README.md`` beside this file. Only the standard library is needed to read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DEFAULT_ENGINE = "vllm-0.31"  # whose fit a roofline uses when the scenario names no engine
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class TableKey:
    """One packaged table: engine version, the model's name in the tables, hardware."""

    engine: str
    model: str
    hardware: str

    @property
    def file_name(self) -> str:
        """The file that holds the table."""
        return f"{self.engine}_{self.model}_{self.hardware}.json"


@dataclass(frozen=True)
class MeasuredGrid:
    """A time in milliseconds at every point of ``rows x columns``, and the share of it that no kernel was timed for."""

    rows: tuple[float, ...]
    columns: tuple[float, ...]
    milliseconds: Rows
    non_silicon_pct_mean: float | None = None
    non_silicon_pct_max: float | None = None


@dataclass(frozen=True)
class MeasuredConfig:
    """One parallel configuration: ``gpus = tp * dp`` for attention and ``etp * ep`` for the experts.

    ``prefill`` is over new tokens (rows) and cached prefix tokens (columns), one pass over ``ways`` sequences;
    ``decode`` over sequences per instance (rows) and context (columns). Memory is per GPU, in GiB (2**30 bytes).
    """

    gpus: int
    tp: int
    dp: int
    etp: int
    ep: int
    ways: int
    prefill: MeasuredGrid
    decode: MeasuredGrid
    weights_gib: float | None = None
    reserve_gib: float | None = None  # activations, runtime and communication buffers
    kv_bytes_per_token_per_gpu: float | None = None
    instance_kv_tokens: float | None = None


@dataclass(frozen=True)
class MeasuredTable:
    """Every configuration of one model on one hardware under one engine version."""

    engine: str
    engine_title: str
    model: str
    hardware: str
    kv_dtype: str | None  # the KV cache's element type that the times assume
    source: str
    configs: tuple[MeasuredConfig, ...]
    capacity_bytes: float | None = None  # HBM per GPU that the memory figures assume
    hbm_fraction: float | None = None  # share of it that the engine may use ...
    hbm_fraction_of: str | None = None  # ... "total" memory, or what is "free" after the weights and buffers


@dataclass(frozen=True)
class PhaseFit:
    """How well a roofline follows the tables in one phase: relative errors in percent."""

    median_pct: float
    p90_pct: float
    points: int


@dataclass(frozen=True)
class RooflineFit:
    """Roofline parameters fitted to the tables of one engine version and compute precision, and their error."""

    engine: str
    engine_title: str
    compute_dtype: str
    mfu: float
    mbu: float
    prefill_overhead_ms: float
    step_overhead_ms: float
    prefill: PhaseFit
    decode: PhaseFit


@cache
def available_tables() -> tuple[tuple[str, str, str], ...]:
    """``(engine, model, hardware)`` of every packaged table.

    >>> ("vllm-0.31", "qwen3-235b-a22b-fp8", "h200-sxm") in available_tables()
    True
    """
    return tuple((t["engine"], t["model"], t["hardware"]) for t in _json(FOLDER / "index.json")["tables"])


@cache
def engine_titles() -> dict[str, str]:
    """Display name of every engine version that has tables, the default engine first.

    >>> list(engine_titles())[0]
    'vllm-0.31'
    """
    titles: dict[str, str] = _json(FOLDER / "index.json")["engines"]
    return dict(sorted(titles.items(), key=lambda item: (item[0] != DEFAULT_ENGINE, item[0])))


@cache
def load_table(engine: str, model: str, hardware: str) -> MeasuredTable:
    """Read one packaged table; KeyError when :func:`available_tables` does not list it."""
    if (engine, model, hardware) not in available_tables():
        raise KeyError((engine, model, hardware))
    document = _json(FOLDER / TableKey(engine, model, hardware).file_name)
    memory = document["memory"]
    return MeasuredTable(
        engine=engine,
        engine_title=engine_titles()[engine],
        model=model,
        hardware=hardware,
        kv_dtype=document["kv_dtype"],
        source=document["source"],
        configs=tuple(_config(document, entry) for entry in document["configs"]),
        capacity_bytes=memory["capacity_bytes"],
        hbm_fraction=memory["hbm_fraction"],
        hbm_fraction_of=memory["hbm_fraction_of"],
    )


@cache
def roofline_fits() -> tuple[RooflineFit, ...]:
    """Every fit: one per engine version and compute precision."""
    return tuple(map(_fit, _json(FOLDER / "roofline_fit.json")["fits"]))


def roofline_fit(engine: str = DEFAULT_ENGINE, compute_dtype: str | None = "fp8") -> RooflineFit:
    """The roofline as fitted to one engine's tables of models that compute in ``compute_dtype``.

    An engine without a fit gets the default engine's, an unknown precision that of bf16.

    >>> roofline_fit("roofline", "bf16").engine
    'vllm-0.31'
    """
    fits = {(fit.engine, fit.compute_dtype): fit for fit in roofline_fits()}
    name = engine if (engine, "bf16") in fits else DEFAULT_ENGINE
    return fits.get((name, compute_dtype or "bf16"), fits[name, "bf16"])


def _fit(entry: dict[str, Any]) -> RooflineFit:
    phases = {phase: PhaseFit(**entry[phase]) for phase in ("prefill", "decode")}
    return RooflineFit(**{**entry, "engine_title": engine_titles()[entry["engine"]], **phases})


def _config(document: dict[str, Any], entry: dict[str, Any]) -> MeasuredConfig:
    names = ("gpus", "tp", "dp", "etp", "ep", "ways", "weights_gib", "kv_bytes_per_token_per_gpu", "instance_kv_tokens")
    return MeasuredConfig(
        prefill=_grid(document["new_tokens"], document["prefix_tokens"], entry["prefill"]),
        decode=_grid(entry["batch"], document["context"], entry["decode"]),
        reserve_gib=entry["activations_gib"] + entry["runtime_gib"] + entry["comm_gib"],
        **{name: entry[name] for name in names},
    )


def _grid(rows: list[float], columns: list[float], entry: dict[str, Any]) -> MeasuredGrid:
    mean, largest = entry["non_silicon_pct"]
    return MeasuredGrid(tuple(rows), tuple(columns), tuple(map(tuple, entry["ms"])), mean, largest)


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
