"""Solved points on disk, one small file each, so that a second or an interrupted run costs nothing.

The key is a hash of everything that decides a point: the resolved scenario (not its name), the files it times with, the
gap and the planner's version. A file appears whole or not at all; one that cannot be read counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from planner import __version__
from planner.scenario import Scenario

FORMAT = 1
LEFT_OUT = {"name", "description", "solve"}
Row = dict[str, Any]


def point_key(scenario: Scenario, gap: float, what: str = "point") -> str:
    """The hash of one point."""
    values = scenario.model_dump(mode="json", exclude=LEFT_OUT)
    timing = Path(scenario.engine.timing)
    table = hashlib.sha256(timing.read_bytes()).hexdigest() if timing.suffix and timing.is_file() else ""
    whole = [FORMAT, __version__, what, gap, table, values]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


class Cache:
    """A folder of solved points; without a folder it remembers nothing."""

    def __init__(self, folder: Path | None) -> None:
        """Keep points below ``folder``."""
        self.folder = folder
        self.lost = 0  # values that could not be stored

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Any:
        """The stored value, or None."""
        if self.folder is None:
            return None
        try:
            stored = json.loads(self._path(key).read_text("utf-8"))
            return stored["value"] if stored["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Store ``value``: written beside its place, then renamed over it."""
        if self.folder is None:
            return
        target = self._path(key)
        hidden = target.with_name(f".{key}.{os.getpid()}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            hidden.write_text(json.dumps({"key": key, "value": value}), "utf-8")
            os.replace(hidden, target)
        except OSError:  # a full disk costs the cache, not the answer
            self.lost += 1
            with contextlib.suppress(OSError):
                hidden.unlink(missing_ok=True)
