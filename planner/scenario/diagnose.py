"""Turns what validation found into diagnostics: the key, what was expected with its unit, the likely fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from planner.errors import Diagnostic
from planner.scenario import numerals
from planner.scenario.filled import did_you_mean
from planner.scenario.findings import percent_hint
from planner.scenario.introspect import choices, expectation, field_at, homes, model_at, unit_of
from planner.scenario.yamltree import Document, Path, dotted

OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")
CODES = {
    **dict.fromkeys(OUT_OF_RANGE, "out-of-range"),
    **dict.fromkeys(("too_short", "too_long", "missing"), "wrong-length"),
    **dict.fromkeys(("string_pattern_mismatch", "string_too_long", "value_error"), "bad-name"),
    "literal_error": "unknown-value",
}
NAME_HINT = "letters, digits, '.', '_' and '-', beginning with a letter or digit; at most 64"


def diagnostics(error: ValidationError, document: Document, failed: set[Path]) -> Iterator[Diagnostic]:
    """One diagnostic per mistake that validation found; nothing is said again about what already failed."""
    meant: set[Path] = set()  # keys that an unknown key beside them stands for
    missing: list[tuple[Path, Diagnostic]] = []
    for found in error.errors(include_url=False):
        path: Path = tuple(p for p in found["loc"] if isinstance(p, str | int))
        if any(path[: len(f)] == f for f in failed) or _repeats(dict(found), path, document):
            continue
        if found["type"] == "extra_forbidden":
            diagnostic, key = _unknown_key(path, document)
            meant.add((*path[:-1], key))
            yield diagnostic
        elif found["type"] == "missing" and isinstance(path[-1], str):
            missing.append((path, _missing(path, document)))
        else:
            yield _diagnostic(dict(found), path, document)
    yield from (diagnostic for path, diagnostic in missing if path not in meant)


def _repeats(found: dict[str, Any], path: Path, document: Document) -> bool:
    """A list that is short because its items are wrong, or a value copied from a key that is wrong itself."""
    if found["type"] == "too_short":
        return len(found["input"]) >= found["ctx"]["min_length"]
    copied = path[-1:] == ("at_requests_per_second",)
    return copied and document.root is not None and document.node(path) is None


def _diagnostic(found: dict[str, Any], path: Path, document: Document) -> Diagnostic:
    kind = found["type"]
    path = path[:-1] if kind == "missing" else path  # the second item of a pair: speak of the pair
    field = field_at(path)
    node = document.node(path)
    message, hint = _mistake(found, node.raw if node is not None else "", field, path)
    return Diagnostic(CODES.get(kind, "wrong-type"), message, document.nearest(path), dotted(path), hint)


def _mistake(found: dict[str, Any], raw: str, field: FieldInfo | None, path: Path) -> tuple[str, str]:
    """What is wrong with a value, and how to mend it."""
    kind, value = found["type"], found["input"]
    expected = expectation(field, item=isinstance(path[-1], int), value=value) if field else "a mapping of keys"
    start = f"{dotted(path)}: expected {expected}"
    if kind == "string_pattern_mismatch":
        return f"{dotted(path)}: {_shown(value, raw)} is not a name", NAME_HINT
    if kind == "value_error":
        return f"{dotted(path)}: {found['ctx']['error']}", ""
    if kind == "string_too_long":
        return f"{dotted(path)}: at most {found['ctx']['max_length']} characters, got {len(value)}", ""
    if kind == "too_short":
        return f"{dotted(path)}: needs at least one", ""
    if kind == "too_long" and "pair" not in expected:
        return f"{dotted(path)}: at most {found['ctx']['max_length']}, got {len(value)}", ""
    if value is None:
        return f"{start}, but it is empty", ""
    if isinstance(value, bool):
        quoted = "write it in quotes" if choices(field) or "text" in expected else ""
        return f"{start}, got {raw or value}, which YAML reads as {str(value).lower()}", quoted
    if kind == "literal_error":
        return f"{start}, got {_shown(value, raw)}", did_you_mean(raw or value, choices(field))
    if isinstance(value, str) and "number" in expected and "list" not in expected:
        detail, hint = numerals.explain(value, unit_of(field))
        got = "" if value.strip() in detail else f", got {_shown(value, raw)}"
        return f"{start}{detail}{got}", hint
    return f"{start}, got {_shown(value, raw)}", _hint(kind, value, expected)


def _hint(kind: str, value: Any, expected: str) -> str:
    number = isinstance(value, int | float)
    if kind in OUT_OF_RANGE and number and "fraction" in expected:
        return percent_hint(value)
    if kind in OUT_OF_RANGE and expected.endswith("both excluded"):
        return "a curve that does not bend so is no power law: use hill or measured"
    if "text" in expected and number:
        return "write it in quotes"
    if "list" in expected and not isinstance(value, tuple | list | dict):
        return "write it in brackets: [...]"
    return ""


def _shown(value: Any, raw: str) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple | list):
        return f"a list of {len(value)}"
    text = raw or str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return repr(text) if isinstance(value, str) else text


def _unknown_key(path: Path, document: Document) -> tuple[Diagnostic, str]:
    """The diagnostic, and the key that was probably meant."""
    owner = model_at(path[:-1])
    hint = did_you_mean(path[-1], owner.model_fields if owner else ())
    elsewhere = [home for home in homes(str(path[-1])) if home != dotted(path)]
    if elsewhere and not hint.startswith("did you mean"):
        hint = f"the key belongs at {elsewhere[0]}"
    where = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    key = str(path[-1])
    shown = key if len(key) <= 60 else key[:57] + "..."
    span = document.span(path, of_key=True)
    meant = hint.removeprefix("did you mean ").removesuffix("?")
    return Diagnostic("unknown-key", f"unknown key {shown!r}{where}", span, dotted(path), hint), meant


def _missing(path: Path, document: Document) -> Diagnostic:
    field = field_at(path)
    where = dotted(path[:-1]) or "the scenario"
    about = f": {field.description}" if field and field.description else ""
    span = document.nearest(path[:-1]) or (document.at(1, 1) if document.root else None)
    return Diagnostic("missing-key", f"{where} needs the key {path[-1]}{about}", span, dotted(path))
