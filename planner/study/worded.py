"""Values that a file may give by name, as a catalog price, a model or an engine: what they stand for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.errors import InputError
from planner.scenario import Scenario, loads
from planner.scenario.meta import parse_path
from planner.scenario.yamltree import Path

BY_NAME = ("model", "hardware", "engine.timing", "prices.gpu_usd_per_hour")
Changes = Mapping[str, Any]


class Words:
    """Resolves what is given by name as the scenario's file would, each combination of names once."""

    def __init__(self, scenario: Scenario) -> None:
        """Keep what the file says; of a scenario without a file, all of its values."""
        document = scenario._meta.document
        self.file = scenario.file
        self.given: Any = document.plain() if document else scenario.model_dump(mode="json", exclude_none=True)
        self.known: dict[tuple[tuple[str, str], ...], Changes] = {}

    def exact(self, changes: Changes) -> Changes:
        """The changes without names: sections that a name changes come first, as a whole.

        Raises:
            InputError: The catalog has no such name, or not all of them fit together.
        """
        named = tuple((k, v) for k, v in changes.items() if k in BY_NAME and isinstance(v, str))
        if not named:
            return changes
        if named not in self.known:
            self.known[named] = self._sections(named)
        rest = {k: v for k, v in changes.items() if (k, v) not in named}
        return {**self.known[named], **rest}

    def _sections(self, named: tuple[tuple[str, str], ...]) -> Changes:
        before, tree = self._load(self.given), self.given
        for key, value in named:
            tree = _with(tree, parse_path(key), value)
        after = self._load(tree)
        parts = [key for key in Scenario.model_fields if getattr(after, key) != getattr(before, key)]
        return {key: getattr(after, key) for key in parts}

    def _load(self, tree: Any) -> Scenario:
        try:
            return loads(json.dumps(tree), self.file)
        except InputError as error:  # its places are not those of any file
            raise InputError(*(replace(d, span=None) for d in error.diagnostics)) from None


def _with(tree: Any, path: Path, value: str) -> Any:
    if not path:
        return value
    inner = tree.get(path[0]) if isinstance(tree, dict) else None
    return {**(tree if isinstance(tree, dict) else {}), path[0]: _with(inner, path[1:], value)}
