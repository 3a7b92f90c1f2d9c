"""Timing tables that users bring: one CSV file with a row per measured point.

Columns (any order, others are ignored, lines that start with ``#`` are comments)::

    phase                 prefill | decode
    gpus                  GPUs of an instance
    tp, dp, etp, ep       how they are split; optional: tp = gpus/dp, dp = 1, etp = 1, ep = 1
    ways                  sequences of one prefill pass; optional: dp (seqs_per_pass is understood too)
    new_tokens            prefill: tokens to compute
    prefix_tokens         prefill: tokens already cached in HBM
    latency_ms            prefill: time of one pass
    batch, context        decode: sequences of the instance, tokens of each (batch_instance, ctx are understood too)
    step_ms               decode: time of one step
    model                 optional: rows of models other than the scenario's are skipped
    weights_gb_per_gpu    optional: else the model's weights
    reserve_gb_per_gpu    optional: else the hardware's runtime reserve

Each configuration needs both phases, each a complete grid with two or more values per axis.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import Diagnostic, InputError, Span
from planner.physics.timing import EngineConfig, config_name
from planner.physics.timing_table import measured_configs
from planner.scenario.catalog.timing import MeasuredConfig, MeasuredGrid, MeasuredTable
from planner.units import GB, GIB

if TYPE_CHECKING:
    from planner.scenario.schema import ModelSpec, Scenario

MAX_BYTES = 8 << 20
MAX_FIELD = 1 << 17  # characters of one field
MOST_PROBLEMS = 50  # of one file that are told
ALIASES = {"batch_instance": "batch", "ctx": "context", "seqs_per_pass": "ways"}
AXES = {"prefill": ("new_tokens", "prefix_tokens", "latency_ms"), "decode": ("batch", "context", "step_ms")}
LEAST = {"new_tokens": 1.0, "prefix_tokens": 0.0, "batch": 1.0, "context": 1.0}  # smallest value of an axis
Split = tuple[int, int, int, int, int, int]  # gpus, tp, dp, etp, ep, ways
Points = dict[tuple[float, float], float]


class _BadRowError(ValueError):
    """Why a row cannot be read."""


@dataclass
class _Measured:
    """What the rows of one configuration say."""

    line: int
    prefill: Points = field(default_factory=dict)
    decode: Points = field(default_factory=dict)
    weights_gb: float | None = None
    reserve_gb: float | None = None


def csv_configs(scenario: Scenario) -> tuple[EngineConfig, ...]:
    """Configurations of the CSV file that ``engine.timing`` names, relative to the scenario's folder or the current."""
    path = _find(scenario)
    table = read_csv(path, scenario.model, scenario.hardware.name)
    return measured_configs(scenario, table, (f"times from {path.name}, as the user measured them",))


def read_csv(path: Path, model: ModelSpec, hardware: str) -> MeasuredTable:
    """Read and check a table; every fault of the file is in the one InputError."""
    lines = _lines(path)
    measured, problems = _rows(path, lines, model)
    if not problems:  # a row that cannot be read leaves a gap that is no news
        gaps = ((rows.line, text) for split, rows in measured.items() for text in _gaps(split, rows))
        problems = [_problem(path, lines, line, text) for line, text in gaps]
    if not measured and not problems:
        problems.append(_problem(path, lines, 1, f"no row for model {model.name}"))
    if problems:
        raise InputError(*problems)
    configs = tuple(_config(split, rows) for split, rows in measured.items())
    return MeasuredTable(path.name, path.name, model.name, hardware, None, str(path), configs)


def _find(scenario: Scenario) -> Path:
    given = Path(scenario.engine.timing)
    candidates = (Path(scenario.file).parent / given, given)
    for path in candidates:
        if path.is_file():
            return path
    raise InputError(
        Diagnostic(
            code="no-timing-file",
            message=f"no such file: {given}",
            span=scenario.span("engine.timing"),
            path="engine.timing",
            hint=f"looked for {' and '.join(dict.fromkeys(map(str, candidates)))}",
        )
    )


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(_problem(path, [], 1, "larger than 8 MiB, which no timing table is"))
        return data.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(_problem(path, [], 1, f"cannot be read: {error}")) from error


def _rows(path: Path, lines: list[str], model: ModelSpec) -> tuple[dict[Split, _Measured], list[Diagnostic]]:
    """The measurements by configuration, and a diagnostic for each row that cannot be read."""
    measured: dict[Split, _Measured] = {}
    problems: list[Diagnostic] = []
    numbered = [(i, text) for i, text in enumerate(lines, start=1) if text.strip() and not text.startswith("#")]
    csv.field_size_limit(MAX_FIELD)  # the limit is the process's: a trace read before may have raised it
    records = csv.reader(text for _, text in numbered)
    header = [ALIASES.get(name.strip().lower(), name.strip().lower()) for name in next(records, [])]
    if missing := [name for name in ("phase", "gpus") if name not in header]:
        line = numbered[0][0] if numbered else 1
        return {}, [_problem(path, lines, line, f"the header lacks {' and '.join(missing)}")]
    for cells in _readable(records, path, lines):
        line = numbered[records.line_num - 1][0]
        row = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        if row.get("model") and row["model"] not in (model.name, model.timing_name):
            continue
        try:
            _add(measured, line, row)
        except _BadRowError as error:
            problems.append(_problem(path, lines, line, str(error)))
        if len(problems) == MOST_PROBLEMS:
            break
    return measured, problems


def _readable(records: Any, path: Path, lines: list[str]) -> Iterator[list[str]]:
    """The records of a CSV reader; what it cannot split is the user's mistake."""
    try:
        yield from records
    except csv.Error as error:
        raise InputError(_problem(path, lines, records.line_num, f"no CSV: {error}")) from error


def _add(measured: dict[Split, _Measured], line: int, row: dict[str, str]) -> None:
    phase = row.get("phase", "").lower()
    if phase not in AXES:
        raise _BadRowError(f"phase is {row.get('phase', '')[:40]!r}, not prefill or decode")
    into = measured.setdefault(_split(row), _Measured(line))
    first, second, value = AXES[phase]
    at = (_number(row, first, LEAST[first]), _number(row, second, LEAST[second]))
    points = into.prefill if phase == "prefill" else into.decode
    if at in points:
        raise _BadRowError(f"{first} {at[0]:g}, {second} {at[1]:g} is there twice")
    points[at] = _number(row, value, above=0.0)
    for name in ("weights_gb", "reserve_gb"):
        if row.get(f"{name}_per_gpu"):
            setattr(into, name, _number(row, f"{name}_per_gpu", 0.0))


def _split(row: dict[str, str]) -> Split:
    gpus = _count(row, "gpus", None)
    dp = _count(row, "dp", 1)
    tp = _count(row, "tp", max(1, gpus // dp))
    return gpus, tp, dp, _count(row, "etp", 1), _count(row, "ep", 1), _count(row, "ways", dp)


def _count(row: dict[str, str], name: str, default: int | None) -> int:
    if default is not None and not row.get(name):
        return default
    value = _number(row, name, 1.0)
    if not value.is_integer():
        raise _BadRowError(f"{name} is {row[name]!r}, not a whole number")
    return int(value)


def _number(row: dict[str, str], name: str, at_least: float = 0.0, above: float | None = None) -> float:
    text = row.get(name, "")
    try:
        value = float(text)
    except ValueError:
        raise _BadRowError(f"{name} is {text!r}, not a number" if text else f"{name} is missing") from None
    if not at_least <= value < float("inf") or (above is not None and value <= above):
        raise _BadRowError(f"{name} is {text}, but must be {'above' if above is not None else 'at least'} {at_least:g}")
    return value


def _gaps(split: Split, rows: _Measured) -> Iterator[str]:
    """What a configuration's grids lack."""
    gpus, tp, dp, etp, ep, _ = split
    name = f"{gpus} GPUs, {config_name(tp, dp, etp, ep)}"
    for phase, points in (("prefill", rows.prefill), ("decode", rows.decode)):
        first, second, _ = AXES[phase]
        axes = _axes(points)
        if any(len(axis) < 2 for axis in axes):
            yield f"{name}: {phase} needs two or more values of {first} and of {second}"
        elif len(points) < len(axes[0]) * len(axes[1]):
            x, y = next((x, y) for x in axes[0] for y in axes[1] if (x, y) not in points)
            yield f"{name}: {phase} has no row for {first} {x:g}, {second} {y:g}"


def _axes(points: Points) -> tuple[list[float], list[float]]:
    return sorted({x for x, _ in points}), sorted({y for _, y in points})


def _config(split: Split, rows: _Measured) -> MeasuredConfig:
    gpus, tp, dp, etp, ep, ways = split
    weights, reserve = rows.weights_gb, rows.reserve_gb
    return MeasuredConfig(
        gpus, tp, dp, etp, ep, ways, _grid(rows.prefill), _grid(rows.decode),
        weights_gib=None if weights is None else weights * GB / GIB,
        reserve_gib=None if reserve is None else reserve * GB / GIB,
    )  # fmt: skip


def _grid(points: Points) -> MeasuredGrid:
    xs, ys = _axes(points)
    return MeasuredGrid(tuple(xs), tuple(ys), tuple(tuple(points[x, y] for y in ys) for x in xs))


def _problem(path: Path, lines: Sequence[str], line: int, message: str) -> Diagnostic:
    text = lines[line - 1] if line <= len(lines) else ""
    return Diagnostic("bad-timing-file", message[:300], Span(str(path), line, 1, text), "engine.timing")
