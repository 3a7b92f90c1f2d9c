"""Solved points on disk, one small file each, so that a second or an interrupted run costs nothing.

The key is a hash of everything that decides a point: the resolved scenario (not its name), the content of the file it
times with, the gap, and the planner itself: its version, source and packaged data. A file appears whole or not at all;
one that cannot be read counts as absent.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import planner
from planner.scenario import Scenario
from planner.scenario.loader import timing_name

FORMAT = 2
LEFT_OUT = {"name", "description", "solve"}
PACKAGED = (".py", ".json", ".yaml", ".csv")
Row = dict[str, Any]


@functools.cache
def package_digest() -> str:
    """The hash of the planner's own source and data files: what two planners of one version may differ in.

    Content, not dates: the same package installed twice is the same. Read once per process, in about 25 ms.
    """
    root = Path(planner.__file__).parent
    digest = hashlib.sha256(planner.__version__.encode())
    for path in sorted(p for p in root.rglob("*") if p.suffix in PACKAGED):
        data = path.read_bytes()
        digest.update(f"\0{path.relative_to(root).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def point_key(scenario: Scenario, gap: float, what: str = "point") -> str:
    """The hash of one point; a timing file counts by its content, wherever it lies."""
    values = scenario.model_dump(mode="json", exclude=LEFT_OUT)
    timing = timing_name(scenario)
    if timing.lower().endswith(".csv"):
        values["engine"]["timing"] = content(timing)
    whole = [FORMAT, package_digest(), what, gap, values]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def content(file: str) -> str:
    """The hash of a file's content; of its name where it cannot be read."""
    try:
        state = os.stat(file)
        return _hashed(file, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return f"unreadable: {file}"


@functools.lru_cache(maxsize=64)
def _hashed(file: str, changed_ns: int, size: int) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


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
