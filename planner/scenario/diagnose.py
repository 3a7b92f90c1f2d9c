"""Turns what validation found into diagnostics: the key, what was expected with its unit, the likely fix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from planner.errors import Diagnostic
from planner.scenario.fill import did_you_mean
from planner.scenario.schema import TINY, Scenario
from planner.scenario.yamltree import Document, Path, dotted

WITH_UNIT = re.compile(r"\s*([-+]?[0-9][0-9_,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%$µ][A-Za-z%$/µ·-]*)\s*")
EXPONENT = re.compile(r"([-+]?[0-9]+)(\.[0-9]*)?[eE]([-+]?)([0-9]+)")
FACTORS = {  # to the unit of the key, from what people write
    "GB": {"GB": 1, "TB": 1e3, "PB": 1e6, "MB": 1e-3, "GiB": 2**30 / 1e9, "TiB": 2**40 / 1e9, "G": 1, "T": 1e3},
    "GB/s": {"GB/s": 1, "TB/s": 1e3, "MB/s": 1e-3, "GiB/s": 2**30 / 1e9, "GBps": 1, "Gbps": 0.125, "Gbit/s": 0.125},
    "ms": {"ms": 1, "s": 1e3, "us": 1e-3, "µs": 1e-3, "sec": 1e3},
    "s": {"s": 1, "ms": 1e-3, "min": 60, "m": 60, "h": 3600, "sec": 1},
    "fraction": {"%": 0.01, "percent": 0.01},
    "tokens": {"tokens": 1, "k": 1e3, "K": 1e3, "M": 1e6, "Mtok": 1e6, "ktok": 1e3},
    "$/h": {"$": 1, "USD": 1, "usd": 1, "$/h": 1},
    "requests/s": {"rps": 1, "qps": 1, "req/s": 1, "requests/s": 1, "/s": 1},
    "billion": {"B": 1, "b": 1, "T": 1e3, "M": 1e-3},
    "TFLOPS": {"TFLOPS": 1, "PFLOPS": 1e3, "TFLOPs": 1},
    "GPUs": {"GPUs": 1, "GPU": 1, "gpus": 1},
}


def diagnostics(error: ValidationError, document: Document, failed: set[Path]) -> Iterator[Diagnostic]:
    """One diagnostic per mistake that validation found."""
    for found in error.errors(include_url=False, include_context=True):
        path: Path = tuple(p for p in found["loc"] if isinstance(p, str | int))
        if path not in failed:
            yield _diagnostic(dict(found), path, document)


def _diagnostic(found: dict[str, Any], path: Path, document: Document) -> Diagnostic:
    kind, value = found["type"], found["input"]
    if kind == "extra_forbidden":
        return _unknown_key(path, document)
    if kind == "missing" and (not path or isinstance(path[-1], str)):
        return _missing(path, document)
    field = field_at(path)
    expected = expectation(field) if field else "a value"
    node = document.node(path)
    raw = node.raw if node is not None else ""
    message, hint = _mistake(kind, value, raw, expected, field)
    return Diagnostic(_code(kind), f"{dotted(path)}: {message}", nearest(document, path), dotted(path), hint)


def _code(kind: str) -> str:
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"):
        return "out-of-range"
    if kind == "literal_error":
        return "unknown-value"
    if kind in ("too_short", "too_long", "missing"):
        return "wrong-length"
    return "bad-name" if kind in ("string_pattern_mismatch", "string_too_long") else "wrong-type"


def _mistake(kind: str, value: Any, raw: str, expected: str, field: FieldInfo | None) -> tuple[str, str]:
    """What is wrong with a value, and how to mend it."""
    if kind == "literal_error":
        choices = _choices(field)
        if isinstance(value, bool):
            return f"expected {expected}, got {raw!r}, which YAML reads as {_yaml_name(value)}", "write it in quotes"
        return f"expected {expected}, got {_shown(value, raw)}", did_you_mean(raw or value, choices)
    if kind == "string_pattern_mismatch":
        return f"{_shown(value, raw)} is not a name", "letters, digits, '.', '_' and '-', starting with a letter or digit"
    if value is None:
        return f"expected {expected}, but it is empty", ""
    if isinstance(value, bool):
        hint = "write it in quotes" if "text" in expected else ""
        return f"expected {expected}, got {raw or value!s}, which YAML reads as {_yaml_name(value)}", hint
    if isinstance(value, str) and "number" in expected:
        return _not_a_number(value, expected, field)
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return f"expected {expected}, got {_shown(value, raw)}", _percent(value, expected)
    return f"expected {expected}, got {_shown(value, raw)}", _quotes(value, expected)


def _percent(value: Any, expected: str) -> str:
    is_percent = "fraction" in expected and isinstance(value, int | float) and 1 < value <= 100
    return f"a fraction, not percent: write {value / 100:g}" if is_percent else ""


def _quotes(value: Any, expected: str) -> str:
    return "write it in quotes" if "text" in expected and isinstance(value, int | float) else ""


def _not_a_number(value: str, expected: str, field: FieldInfo | None) -> tuple[str, str]:
    text = value.strip()
    exponent = EXPONENT.fullmatch(text)
    if exponent:
        whole, decimals, sign, power = exponent.groups()
        proper = f"{whole}{decimals or '.0'}{'0' if decimals == '.' else ''}e{sign or '+'}{power}"
        return f"expected {expected}, got {text!r}, which YAML reads as text", f"write {proper}"
    with_unit = WITH_UNIT.fullmatch(text)
    if with_unit:
        number, unit = with_unit.groups()
        factor = FACTORS.get(unit_of(field), {}).get(unit)
        hint = f"write {float(number.replace(',', '').replace('_', '')) * factor:.12g}" if factor else ""
        return f"expected {expected}, without a unit, got {text!r}", hint
    plain = text.replace(",", "").replace(" ", "")
    if re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", plain):
        if plain == value:
            decimal = plain.lstrip("+-").lstrip("0") or "0"
            return f"expected {expected}, got text {value!r}", f"write {decimal} without quotes or leading zeros"
        return f"expected {expected}, got {text!r}", f"write {plain}"
    if re.fullmatch(r"[-+]?[0-9]+(:[0-9.]+)+|[-+]?0[xob][0-9a-fA-F_]+", text):
        return f"expected {expected}, got {text!r}", "a plain decimal number"
    return f"expected {expected}, got {_shown(value, text)}", ""


def _yaml_name(value: bool) -> str:
    return "true" if value else "false"


def _shown(value: Any, raw: str) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple | list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    return raw[:60] or str(value)[:60]


def _unknown_key(path: Path, document: Document) -> Diagnostic:
    owner = model_at(path[:-1])
    known = list(owner.model_fields) if owner else []
    hint = did_you_mean(path[-1], known)
    homes = [home for home in _homes(str(path[-1])) if home != dotted(path)]
    if homes and not hint.startswith("did you mean"):
        hint = f"the key belongs at {homes[0]}"
    where = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    span = document.span(path, of_key=True)
    return Diagnostic("unknown-key", f"unknown key {str(path[-1])!r}{where}", span, dotted(path), hint)


def _homes(name: str, owner: type[BaseModel] = Scenario, path: Path = ()) -> Iterator[str]:
    """Where in the schema a key of this name lives."""
    for key, field in owner.model_fields.items():
        if key == name:
            yield dotted((*path, key))
        inner = _inner_model(field.annotation)
        if inner:
            yield from _homes(name, inner, (*path, key))


def _missing(path: Path, document: Document) -> Diagnostic:
    field = field_at(path)
    where = dotted(path[:-1]) or "the scenario"
    about = f": {field.description}" if field and field.description else ""
    span = nearest(document, path[:-1]) or document.at(1, 1)
    return Diagnostic("missing-key", f"{where} needs the key {path[-1]}{about}", span, dotted(path))


def nearest(document: Document, path: Path) -> Any:
    """The span of a path, or of what contains it."""
    for end in range(len(path), 0, -1):
        span = document.span(path[:end])
        if span:
            return span
    return None


def expectation(field: FieldInfo) -> str:
    """What a field accepts, in words, with range and unit."""
    annotation = _without_none(field.annotation)
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(annotation)))}"
    if get_origin(annotation) is tuple:
        item = _without_none(get_args(annotation)[0])
        if get_origin(item) is tuple:
            return f"a list of pairs [capacity in {unit_of(field)}, hit rate]"
        return "a list"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a mapping of keys"
    if annotation is bool:
        return "true or false"
    if annotation is str:
        return "text"
    return f"a {'whole ' if annotation is int else ''}number{_range(field)}{_in_unit(field)}"


def _range(field: FieldInfo) -> str:
    low = next((m.ge for m in field.metadata if getattr(m, "ge", None) is not None), None)
    high = next((m.le for m in field.metadata if getattr(m, "le", None) is not None), None)
    if low == TINY:
        return " above 0" + (f" and at most {high:g}" if high is not None else "")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of at least {low:g}" if low is not None else f" of at most {high:g}" if high is not None else ""


def _in_unit(field: FieldInfo) -> str:
    unit = unit_of(field)
    return {"": "", "fraction": " (a fraction)"}.get(unit, f", in {unit}")


def unit_of(field: FieldInfo | None) -> str:
    """The unit of a field, empty where it has none."""
    extra = field.json_schema_extra if field else None
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def _choices(field: FieldInfo | None) -> list[str]:
    annotation = _without_none(field.annotation) if field else None
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)[0]
    return [str(a) for a in get_args(annotation)] if get_origin(annotation) is Literal else []


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        return next(a for a in get_args(annotation) if a is not NoneType)
    return annotation


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    annotation = _without_none(annotation)
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)[0]
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def model_at(path: Path) -> type[BaseModel] | None:
    """The schema class that the mapping at a path belongs to."""
    owner: type[BaseModel] | None = Scenario
    for part in path:
        if isinstance(part, str) and owner is not None:
            field = owner.model_fields.get(part)
            owner = _inner_model(field.annotation) if field else None
    return owner


def field_at(path: Path) -> FieldInfo | None:
    """The schema field at a path; an index stands for the list's field."""
    keys = [i for i, part in enumerate(path) if isinstance(part, str)]
    if not keys:
        return None
    owner = model_at(path[: keys[-1]])
    return owner.model_fields.get(str(path[keys[-1]])) if owner else None
