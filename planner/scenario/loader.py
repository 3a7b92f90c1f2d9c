"""From a file to a checked scenario, with every mistake reported at once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from planner.errors import Diagnostic, InputError
from planner.scenario import checks, diagnose
from planner.scenario.fill import fill
from planner.scenario.filled import Filled
from planner.scenario.findings import Usable
from planner.scenario.improbable import improbable
from planner.scenario.meta import Meta, parse_path
from planner.scenario.schema import Scenario
from planner.scenario.yamltree import MAX_MIB, Document, Path, dotted, parse
from planner.textfile import read_text


def load(path: str | FilePath) -> Scenario:
    """Load a scenario file; every mistake in it raises one InputError that lists them all by line."""
    return loads(read_text(FilePath(path), MAX_MIB, "scenario"), str(path))


def loads(text: str, file: str = "<string>") -> Scenario:
    """Load a scenario from text; ``file`` is the name that diagnostics show."""
    document = parse(text, file)
    problems = list(document.problems)
    if document.root is None or not isinstance(document.root.value, dict):
        message = "a scenario is a mapping of keys: model, workload, slo, ..."
        raise InputError(*problems, Diagnostic("not-a-mapping", message, document.at(1, 1)))
    filled = fill(document)
    problems += filled.problems
    scenario, subject, broken = _validate(filled)
    places = {p.span for p in document.problems}  # a value that YAML refused is refused once
    problems += [p for p in broken if p.span not in places]
    bad = {p.path for p in problems}
    problems += [d for d in checks.conflicts(subject, document) if d.path not in bad]
    if scenario is None or problems:
        raise InputError(*problems)
    meta = Meta(
        file=file,
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        defaults=tuple(_defaulted(scenario, document.plain())),
        entries=tuple(filled.entries),
        warnings=(*filled.warnings, *improbable(scenario, document)),
        document=document,
    )
    return _with_meta(scenario, meta)


def replace(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """A copy with some values changed, checked like a file; for solving the same scenario again.

    Untouched sections stay the very same objects. Raises InputError where a value or a combination is not allowed.
    """
    tree: dict[str, Any] = {key: getattr(scenario, key) for key in Scenario.model_fields}
    for path, value in changes.items():
        tree = _set(tree, parse_path(path) or ("",), _frozen(value), path)
    try:
        changed = Scenario.model_validate(tree)
    except ValidationError as error:
        raise InputError(*diagnose.diagnostics(error, Document("<replace>", []), set())) from None
    conflicts = tuple(checks.conflicts(changed, Document("<replace>", [])))
    if conflicts:
        raise InputError(*conflicts)
    touched = {parse_path(path)[0] for path in changes}
    changed.__dict__.update((key, value) for key, value in scenario if key not in touched)
    return _with_meta(changed, scenario._meta)


def timing_name(scenario: Scenario) -> str:
    """``engine.timing``; of a CSV file that is there, its whole path, found as the timing's reader finds it."""
    given = scenario.engine.timing
    if given.lower().endswith(".csv"):
        for path in (FilePath(scenario.file).parent / given, FilePath(given)):
            if os.path.isfile(path):
                return str(path.absolute())
    return given


def located(scenario: Scenario) -> Scenario:
    """The same scenario with its timing file's whole path: it means the same in any folder and process."""
    name = timing_name(scenario)
    return scenario if name == scenario.engine.timing else replace(scenario, {"engine.timing": name})


def _with_meta(scenario: Scenario, meta: Meta) -> Scenario:
    object.__setattr__(scenario, "__pydantic_private__", {"_meta": meta})
    return scenario


def _frozen(value: Any) -> Any:
    """Lists as tuples, as the schema has them."""
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    return {k: _frozen(v) for k, v in value.items()} if isinstance(value, dict) else value


def _set(holder: Any, path: Path, value: Any, text: str) -> Any:
    """A copy of a holder with one value set, opening only the models on the way."""
    if not path:
        return value
    try:
        if isinstance(holder, tuple) and isinstance(path[0], int):
            changed = _set(holder[path[0]], path[1:], value, text)
            return (*holder[: path[0]], changed, *holder[path[0] + 1 :])
        opened: dict[Any, Any] = dict(holder)
        opened[path[0]] = _set(opened[path[0]], path[1:], value, text)
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError(Diagnostic("unknown-key", f"the scenario has no value at {text!r}", path=text)) from None
    return opened


def _validate(filled: Filled) -> tuple[Scenario | None, Any, list[Diagnostic]]:
    """The scenario, or what of it is usable for further checks, and the mistakes."""
    try:
        scenario = Scenario.model_validate(filled.values)
    except ValidationError as error:
        broken = list(diagnose.diagnostics(error, filled.document, filled.failed))
        paths = {tuple(e["loc"]) for e in error.errors(include_url=False, include_context=False, include_input=False)}
        return None, Usable(filled.values, (), frozenset(paths | filled.failed)), broken
    return scenario, scenario, []


def _defaulted(scenario: Scenario, given: Any) -> Iterator[tuple[str, str]]:
    """Key path and value of everything that is in the scenario and not in the file."""
    if "hardware" not in given:
        yield "hardware", scenario.hardware.name
    for key in Scenario.model_fields:
        if key in ("model", "hardware") and not isinstance(given.get(key), dict):
            continue
        for path, value in _leaves(getattr(scenario, key), given.get(key), (key,)):
            if scenario.engine.timing == "roofline" or not path.startswith("engine.roofline."):
                yield path, value


def _leaves(value: Any, given: Any, path: Path) -> Iterator[tuple[str, str]]:
    if isinstance(value, BaseModel):
        known = given if isinstance(given, dict) else {"name": given} if isinstance(given, str) else {}
        for key, inner in value:
            yield from _leaves(inner, known.get(key), (*path, key))
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for index, inner in enumerate(value):
            yield from _leaves(inner, given[index] if isinstance(given, tuple) else None, (*path, index))
    elif given is None and value is not None and value != "":
        yield dotted(path), _rendered(value)


def _rendered(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_rendered(v) for v in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)
