"""Fills a scenario's gaps: catalog names become their entries, missing keys the catalog's defaults.

Works on unchecked values: whatever does not have the expected type is left for validation to complain about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from planner.scenario import catalog
from planner.scenario.engine import resolve_timing
from planner.scenario.filled import Filled, Values, did_you_mean
from planner.scenario.yamltree import Document

SECTIONS = ("workload", "slo", "engine", "deployment", "prices", "solve", "read_utilization")
REQUIRED = ("model", "workload", "slo")
GPU_PRICES = ("on_demand", "owned", "reserved_1y", "reserved_3y", "spot")
ASSUMED_REUSE = {
    "law": "hill",
    "floor": 0.08,
    "ceiling": 0.80,
    "half_tokens": 5.1e6,
    "slope": 1.84,
    "at_requests_per_second": 3.2,
}
ASSUMED_REUSE_SOURCE = (
    "assumption: the shape of Mooncake's conversation trace (FAST'25, 3.2 requests/s), scaled to a ceiling of 0.8"
)
_ABSENT: Any = object()


def fill(document: Document) -> Filled:
    """Complete the values of a document."""
    given = document.plain()
    filled = Filled(document, dict(given) if isinstance(given, dict) else {})
    values = filled.values
    values.setdefault("name", _name_of(document.file))
    defaults = _tuples(catalog.defaults())
    for key in SECTIONS:
        if key in values or key not in REQUIRED:
            values[key] = _merged(values.get(key, _ABSENT), defaults[key])
    values.setdefault("hardware", defaults["hardware"])
    _named(filled, "model", catalog.model)
    _named(filled, "hardware", catalog.hardware)
    _fill_model(values)
    _fill_hardware(values)
    _fill_workload(filled)
    _fill_tiers(values)
    _fill_prices(filled)
    resolve_timing(filled, given=document.node(("engine", "timing")) is not None)
    return filled


def _name_of(file: str) -> str:
    """A scenario without a name is called like its file.

    >>> _name_of("scenarios/chat.yaml"), _name_of("<string>")
    ('chat', 'scenario')
    """
    stem = PurePath(file).stem
    return stem if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", stem) else "scenario"


def _tuples(value: Any) -> Any:
    """The catalog's lists as tuples, as the schema has them."""
    if isinstance(value, dict):
        return {k: _tuples(v) for k, v in value.items()}
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _merged(given: Any, default: Any) -> Any:
    """The given value, with the default's keys where it lacks them."""
    if given is _ABSENT:
        return default
    if not isinstance(given, dict) or not isinstance(default, Mapping):
        return given
    keys = [*given, *(k for k in default if k not in given)]
    return {k: _merged(given.get(k, _ABSENT), default.get(k, _ABSENT)) for k in keys}


def _named(filled: Filled, kind: str, look_up: Callable[[str], Values]) -> None:
    """Replace a catalog name by its entry, and remember the name."""
    name = filled.values.get(kind)
    if not isinstance(name, str):
        return
    try:
        filled.values[kind] = look_up(name)
        filled.entries.append((kind, name))
    except LookupError:
        hint = did_you_mean(name, catalog.names(kind))
        filled.problem(f"unknown-{kind}", (kind,), f"the catalog has no {kind} {name!r}", hint)
        del filled.values[kind]


def _fill_model(values: Values) -> None:
    model = values.get("model")
    if not isinstance(model, dict):
        return
    model = values["model"] = dict(model)
    per_param, layers, windowed = (model.get(k) for k in ("weight_bytes_per_param", "layers", "windowed_layers"))
    if isinstance(per_param, int | float):
        model.setdefault("compute_dtype", "fp8" if per_param <= 1 else "bf16")
    if isinstance(layers, int):
        model.setdefault("full_attention_layers", layers - (windowed if isinstance(windowed, int) else 0))


def _fill_hardware(values: Values) -> None:
    """Choose the peak of the model's compute precision where the entry gives one per precision."""
    hardware, model = values.get("hardware"), values.get("model")
    if not isinstance(hardware, dict) or not isinstance(hardware.get("peak_tflops"), dict):
        return
    dtype = model.get("compute_dtype") if isinstance(model, dict) else None
    peaks = hardware["peak_tflops"]
    peak = peaks.get(dtype, peaks.get("bf16")) if isinstance(dtype, str | None) else None
    values["hardware"] = {**hardware, "peak_tflops": peaks if peak is None else peak}


def _fill_workload(filled: Filled) -> None:
    workload = filled.values.get("workload")
    if not isinstance(workload, dict):
        return
    load = workload.get("requests_per_second")
    classes = workload.get("classes")
    if isinstance(classes, tuple):
        workload["classes"] = tuple(_fill_class(c, i, len(classes), load) for i, c in enumerate(classes))
    if "reuse" in workload:
        workload["reuse"] = _with_load(workload["reuse"], load)
        return
    workload["reuse"] = dict(ASSUMED_REUSE)
    if isinstance(classes, tuple) and any(isinstance(c, dict) and c.get("reusable_tokens") for c in classes):
        message = "not given: a curve of the shape of a public chat trace is assumed, and decides how much cache pays"
        filled.warn("assumed-reuse", ("workload", "reuse"), message, "measure your own from a trace and state it here")


def _fill_class(given: Any, index: int, count: int, load: Any) -> Any:
    if not isinstance(given, dict):
        return given
    filled = {"name": "all" if count == 1 else f"class-{index + 1}", **given}
    if count == 1:
        filled.setdefault("share", 1.0)
    if "reuse" in filled:
        filled["reuse"] = _with_load(filled["reuse"], load)
    return filled


def _with_load(reuse: Any, load: Any) -> Any:
    """A law observed at no stated load was observed at the scenario's own."""
    if not isinstance(reuse, dict) or reuse.get("at_requests_per_second") is not None:
        return reuse
    usable = isinstance(load, int | float) and not isinstance(load, bool)
    return {**reuse, "at_requests_per_second": load} if usable else reuse


def _fill_tiers(values: Values) -> None:
    tiers = values.get("tiers", _ABSENT)
    if tiers is _ABSENT:
        values["tiers"] = _tuples(catalog.default_tiers())
    elif isinstance(tiers, tuple):
        values["tiers"] = tuple(_fill_tier(tier) for tier in tiers)


def _fill_tier(given: Any) -> Any:
    """A tier that the catalog knows needs no more than its name; its optional limits bind only where stated."""
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        return given
    return {**_tuples(catalog.tier_defaults(given["name"])), **given}


def _fill_prices(filled: Filled) -> None:
    prices = filled.values.get("prices")
    if not isinstance(prices, dict):
        return
    kind = prices.get("gpu_usd_per_hour")
    if not isinstance(kind, str) or not re.match("[A-Za-z]", kind):
        return
    if kind in GPU_PRICES:
        filled.values["prices"] = {**prices, "gpu_usd_per_hour": catalog.price(kind)}
        filled.entries.append(("price", kind))
        return
    path = ("prices", "gpu_usd_per_hour")
    message = f"expected a number, in $/h, or the name of a catalog price, got {kind[:60]!r}"
    filled.problem("unknown-price", path, message, did_you_mean(kind, GPU_PRICES))
