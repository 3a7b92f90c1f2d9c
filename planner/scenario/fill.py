"""Fills a scenario's gaps: catalog names become their entries, missing keys the catalog's defaults.

Works on unchecked values: whatever does not have the expected type is left for validation to complain about.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from planner.errors import Diagnostic
from planner.scenario import catalog
from planner.scenario.yamltree import Document, Path, dotted

Values = dict[str, Any]


@dataclass
class Filled:
    """The completed values, what was wrong on the way, and which paths need no further complaint."""

    document: Document
    values: Values
    problems: list[Diagnostic] = field(default_factory=list)
    failed: set[Path] = field(default_factory=set)
    warnings: list[Diagnostic] = field(default_factory=list)
    sources: list[tuple[str, str]] = field(default_factory=list)

    def problem(self, code: str, path: Path, message: str, hint: str = "") -> None:
        """Record an error at a value, and that validation need not repeat it."""
        self.failed.add(path)
        self.problems.append(Diagnostic(code, message, self.document.span(path), dotted(path), hint))

    def warn(self, code: str, path: Path, message: str, hint: str = "") -> None:
        """Record a warning at a value."""
        span = self.document.span(path)
        self.warnings.append(Diagnostic(code, message, span, dotted(path), hint, severity="warning"))


def did_you_mean(word: object, candidates: Iterable[str]) -> str:
    """A hint with the nearest candidate, else all of them when they are few.

    >>> did_you_mean("colocatd", ["colocated", "disaggregated"])
    'did you mean colocated?'
    """
    names = sorted(set(candidates))
    lowered = {name.lower(): name for name in reversed(names)}
    near = difflib.get_close_matches(str(word)[:80].lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f"did you mean {lowered[near[0]]}?"
    return f"one of: {', '.join(names)}" if names and len(", ".join(names)) <= 300 else ""


def fill(document: Document) -> Filled:
    """Complete the values of a document."""
    plain = document.plain()
    filled = Filled(document, dict(plain) if isinstance(plain, dict) else {})
    values = filled.values
    if "name" not in values:
        stem = PurePath(document.file).stem.strip("<>")
        values["name"] = stem if stem.replace("-", "").replace("_", "").replace(".", "").isalnum() else "scenario"
    defaults = _tuples(catalog.defaults())
    for key in ("workload", "slo", "engine", "deployment", "prices", "solve", "read_utilization"):
        values[key] = _merged(values.get(key, _ABSENT), defaults.get(key, _ABSENT), key)
        if values[key] is _ABSENT:
            del values[key]
    values.setdefault("hardware", defaults.get("hardware", "h200-sxm"))
    _named(filled, "model", catalog.model)
    _named(filled, "hardware", catalog.hardware)
    _fill_model(values)
    _fill_hardware(values)
    _fill_workload(values)
    _fill_tiers(values)
    _fill_prices(filled)
    return filled


_ABSENT: Any = object()


def _tuples(value: Any) -> Any:
    """The catalog's lists as tuples, as the schema has them."""
    if isinstance(value, dict):
        return {k: _tuples(v) for k, v in value.items()}
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _merged(given: Any, default: Any, key: str = "") -> Any:
    """The given value with the default's keys where it lacks them; a given mapping of a law is complete."""
    if given is _ABSENT:
        return default
    if not isinstance(given, dict) or not isinstance(default, Mapping) or key == "reuse":
        return given
    keys = [*given, *(k for k in default if k not in given)]
    return {k: _merged(given.get(k, _ABSENT), default.get(k, _ABSENT), k) for k in keys}


def _named(filled: Filled, kind: str, look_up: Callable[[str], Values]) -> None:
    """Replace a catalog name by its entry."""
    name = filled.values.get(kind)
    if not isinstance(name, str):
        return
    try:
        filled.values[kind] = look_up(name)
    except LookupError:
        hint = did_you_mean(name, catalog.names(kind))
        filled.problem(f"unknown-{kind}", (kind,), f"{kind}: the catalog has no {kind} {name!r}", hint)
        filled.failed.add((kind,))
        del filled.values[kind]


def _fill_model(values: Values) -> None:
    model = values.get("model")
    if not isinstance(model, dict):
        return
    model = values["model"] = dict(model)
    per_param, layers, windowed = (model.get(k) for k in ("weight_bytes_per_param", "layers", "windowed_layers"))
    if _number(per_param):
        model.setdefault("compute_dtype", "fp8" if per_param <= 1 else "bf16")
    if isinstance(layers, int):
        model.setdefault("full_attention_layers", layers - (windowed if isinstance(windowed, int) else 0))


def _fill_hardware(values: Values) -> None:
    """Choose the peak of the model's compute precision where the entry gives one per precision."""
    hardware, model = values.get("hardware"), values.get("model")
    if not isinstance(hardware, dict) or not isinstance(hardware.get("peak_tflops"), dict):
        return
    dtype = model.get("compute_dtype", "bf16") if isinstance(model, dict) else "bf16"
    peaks = hardware["peak_tflops"]
    values["hardware"] = {**hardware, "peak_tflops": peaks.get(dtype, peaks.get("bf16"))}


def _fill_workload(values: Values) -> None:
    workload = values.get("workload")
    if not isinstance(workload, dict):
        return
    load = workload.get("requests_per_second")
    workload["reuse"] = _with_load(workload.get("reuse"), load)
    if workload["reuse"] is None:
        del workload["reuse"]
    classes = workload.get("classes")
    if isinstance(classes, tuple):
        workload["classes"] = tuple(_fill_class(c, i, len(classes), load) for i, c in enumerate(classes))


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
    return {"at_requests_per_second": load, **reuse} if isinstance(reuse, dict) and _number(load) else reuse


def _fill_tiers(values: Values) -> None:
    tiers = values.get("tiers", _ABSENT)
    if tiers is _ABSENT:
        values["tiers"] = _tuples(catalog.default_tiers())
    elif isinstance(tiers, tuple):
        values["tiers"] = tuple(_fill_tier(tier) for tier in tiers)


def _fill_tier(given: Any) -> Any:
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        return given
    return {**_tuples(catalog.tier_defaults(given["name"])), **given}


def _fill_prices(filled: Filled) -> None:
    prices = filled.values.get("prices")
    kind = prices.get("gpu_usd_per_hour") if isinstance(prices, dict) else None
    if not isinstance(kind, str) or not kind[:1].isalpha():
        return
    try:
        filled.values["prices"] = {**prices, "gpu_usd_per_hour": catalog.price(kind)}
    except LookupError:
        path = ("prices", "gpu_usd_per_hour")
        hint = did_you_mean(kind, catalog.names("price"))
        filled.problem("unknown-price", path, f"prices.gpu_usd_per_hour: the catalog has no price {kind!r}", hint)
        filled.values["prices"] = {k: v for k, v in prices.items() if k != "gpu_usd_per_hour"}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
