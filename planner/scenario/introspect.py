"""What the schema says about a key path: the field, its unit, and what it accepts in words."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from planner.scenario.fields import TINY
from planner.scenario.schema import Scenario
from planner.scenario.yamltree import Path, dotted

SMALL_LIMIT = 100  # upper limits up to here mean something; larger ones only catch slips


def field_at(path: Path) -> FieldInfo | None:
    """The schema field at a path; an index stands for the list's field."""
    keys = [i for i, part in enumerate(path) if isinstance(part, str)]
    if not keys:
        return None
    owner = model_at(path[: keys[-1]])
    return owner.model_fields.get(str(path[keys[-1]])) if owner else None


def model_at(path: Path) -> type[BaseModel] | None:
    """The schema class that the mapping at a path belongs to."""
    owner: type[BaseModel] | None = Scenario
    for part in path:
        if isinstance(part, str) and owner is not None:
            field = owner.model_fields.get(part)
            owner = inner_model(field.annotation) if field else None
    return owner


def homes(name: str, owner: type[BaseModel] = Scenario, path: Path = ()) -> Iterator[str]:
    """Where in the schema a key of this name lives."""
    for key, field in owner.model_fields.items():
        if key == name:
            yield dotted((*path, key))
        inner = inner_model(field.annotation)
        if inner:
            yield from homes(name, inner, (*path, key))


def expectation(field: FieldInfo, *, item: bool = False, value: Any = None) -> str:
    """What a field accepts, in words, with range and unit; ``item`` asks for one item of a list.

    A large upper limit is mentioned only where the value exceeds it.

    >>> expectation(field_at(("slo", "ttft_ms")))
    'a number above 0, in ms'
    """
    annotation = without_none(field.annotation)
    if get_origin(annotation) is tuple and not item:
        return _list_of(field, without_none(get_args(annotation)[0]))
    if get_origin(annotation) is tuple:
        annotation = without_none(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(annotation)))}"
    if get_origin(annotation) is tuple:
        return f"a pair [{unit_of(field)}, hit rate]"
    if inner_model(annotation):
        return "a mapping of keys"
    plain = {bool: "true or false", str: "text"}.get(annotation)
    whole = "whole " if annotation is int or "int" in str(annotation) else ""
    return plain or f"a {whole}number{_range(field, value)}{_in_unit(field)}"


def _list_of(field: FieldInfo, item: Any) -> str:
    if get_origin(item) is tuple:
        return f"a list of pairs [{unit_of(field)}, hit rate]"
    if get_origin(item) is Literal:
        return f"a list of {' and '.join(map(str, get_args(item)))}"
    if inner_model(item):
        return "a list of mappings"
    return f"a list of numbers{_in_unit(field)}"


def _range(field: FieldInfo, value: Any) -> str:
    bounds = _bounds(field)
    low, high = bounds.get("ge"), bounds.get("le")
    if "gt" in bounds and "lt" in bounds:
        return f" between {bounds['gt']:g} and {bounds['lt']:g}, both excluded"
    exceeded = isinstance(value, int | float) and high is not None and value > high
    if high is not None and high > SMALL_LIMIT and not exceeded:
        high = None
    if low is None or low == TINY:
        above = "" if low is None else " above 0"
        return above if high is None else f"{above} and at most {high:,}" if above else f" of at most {high:,}"
    return f" of at least {low:g}" if high is None else f" from {low:g} to {high:,}"


def _bounds(field: FieldInfo) -> dict[str, Any]:
    """Limits of a field, or of a list's items where they are stated on the items."""
    metadata = list(field.metadata)
    if get_origin(without_none(field.annotation)) is tuple:
        own = getattr(get_args(without_none(field.annotation))[0], "__metadata__", ())
        metadata = [limit for part in own if isinstance(part, FieldInfo) for limit in part.metadata]
    return {name: getattr(m, name) for m in metadata for name in ("ge", "gt", "le", "lt") if hasattr(m, name)}


def _in_unit(field: FieldInfo) -> str:
    unit = unit_of(field)
    return {"": "", "fraction": " (a fraction)"}.get(unit, f", in {unit}")


def unit_of(field: FieldInfo | None) -> str:
    """The unit of a field, empty where it has none."""
    extra = field.json_schema_extra if field else None
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def choices(field: FieldInfo | None) -> list[str]:
    """The values that an enumeration accepts."""
    annotation = without_none(field.annotation) if field else None
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)[0]
    return [str(a) for a in get_args(annotation)] if get_origin(annotation) is Literal else []


def without_none(annotation: Any) -> Any:
    """The annotation without its optional part."""
    if get_origin(annotation) in (Union, UnionType):
        return next(a for a in get_args(annotation) if a is not NoneType)
    return annotation


def inner_model(annotation: Any) -> type[BaseModel] | None:
    """The schema class of a mapping or of a list's items."""
    annotation = without_none(annotation)
    if get_origin(annotation) is tuple:
        annotation = without_none(get_args(annotation)[0])
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
