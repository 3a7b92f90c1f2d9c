"""Which timing an engine gets: a packaged table, a CSV file or the roofline, and the roofline's parameters."""

from __future__ import annotations

import re
from pathlib import Path as FilePath
from typing import Any

from planner.scenario.catalog import timing
from planner.scenario.filled import Filled, did_you_mean

ROOFLINE = "roofline"
PATH = ("engine", "timing")
ENGINES = {"tensorrt-llm": "trtllm", "trt-llm": "trtllm", "trt": "trtllm"}  # other spellings


def resolve_timing(filled: Filled, *, given: bool) -> None:
    """Replace ``engine.timing`` by the name of what is used; ``given`` tells whether the file named it."""
    engine = filled.values.get("engine")
    if not isinstance(engine, dict):
        return
    name = engine.get("timing")
    if isinstance(name, str):
        if not given:
            name = name if _covers(filled, name) else ROOFLINE
        elif name.lower().endswith(".csv"):
            _check_csv(filled, name)
        elif name != ROOFLINE:
            name = _shipped(filled, name)
        engine["timing"] = name
    _fill_roofline(filled, engine)


def _shipped(filled: Filled, name: str) -> str:
    """The packaged version of a named engine, with a warning where it is another one."""
    shipped = list(timing.engine_titles())
    family = re.split(r"[-_ ]?v?\d", name.lower(), maxsplit=1)[0]
    family = ENGINES.get(family, family)
    match = next((s for s in shipped if s == name), None) or next((s for s in shipped if _family(s) == family), None)
    if match is None:
        hint = did_you_mean(name, [*shipped, ROOFLINE, "a .csv file"])
        filled.problem("unknown-timing", PATH, f"there is no timing table {name!r}", hint)
        return name
    if match != name:
        hint = f"write {match} to say so, or give the times of your version as a CSV file"
        filled.warn("timing-version", PATH, f"no table for {name!r}: the times of {match} are used", hint)
    if not _covers(filled, match):
        model, hardware = _names(filled)
        covered = sorted({m for e, m, h in timing.available_tables() if e == match and h == hardware})
        on = f"on {hardware} it covers {', '.join(covered)}" if covered else f"it has no table for {hardware}"
        if model and hardware:
            message = f"{match} has no table for {model} on {hardware}"
            filled.problem("timing-coverage", PATH, message, f"write roofline, or a CSV file; {on}")
    return match


def _family(engine: str) -> str:
    return engine.rsplit("-", 1)[0]


def _names(filled: Filled) -> tuple[str | None, str | None]:
    """The model's name (in the timing tables where it has one) and the hardware's, None where unknown."""
    model, hardware = filled.values.get("model"), filled.values.get("hardware")
    name = (model.get("timing_name") or model.get("name")) if isinstance(model, dict) else None
    return name, hardware.get("name") if isinstance(hardware, dict) else None


def _covers(filled: Filled, engine: str) -> bool:
    model = filled.values.get("model")
    name = model.get("timing_name") if isinstance(model, dict) else None
    return (engine, name, _names(filled)[1]) in timing.available_tables()


def _check_csv(filled: Filled, name: str) -> None:
    candidates = (FilePath(filled.document.file).parent / name, FilePath(name))
    if not any(_is_file(path) for path in candidates):
        hint = f"looked for {' and '.join(dict.fromkeys(map(str, candidates)))}"
        filled.problem("no-timing-file", PATH, f"no such file: {name}", hint)


def _is_file(path: FilePath) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _fill_roofline(filled: Filled, engine: dict[str, Any]) -> None:
    """Missing roofline parameters are those fitted to the tables, at the model's compute precision."""
    given = engine.get("roofline", {})
    if not isinstance(given, dict):
        return
    model = filled.values.get("model")
    dtype = model.get("compute_dtype") if isinstance(model, dict) else None
    fit = timing.roofline_fit(str(engine.get("timing")), dtype if isinstance(dtype, str) else None)
    names = ("mfu", "mbu", "prefill_overhead_ms", "step_overhead_ms")
    engine["roofline"] = {**{name: getattr(fit, name) for name in names}, **given}
