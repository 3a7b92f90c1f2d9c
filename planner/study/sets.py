"""``--set KEY=VALUES``: which scenario values a sweep varies, as a grid or as a Latin hypercube.

``400:2000:50`` is a range with a step, ``0.2,0.4`` a list, ``400:2000`` a range to sample from; a factor such as ``x2``
is relative to the scenario's own value, and ``none`` leaves an optional one open. Models, hardware, engines and prices
go by their catalog names, as in a file: ``prices.gpu_usd_per_hour=reserved_1y,on_demand``. Tiers
and classes may be named: ``tiers[dram].usd_per_gb_hour``.
"""

from __future__ import annotations

import difflib
import itertools
import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args

from planner.errors import Diagnostic, InputError
from planner.physics.correction import faulty_table
from planner.physics.timing import ROOFLINE
from planner.scenario import Scenario
from planner.scenario.catalog.corrections import BACKENDS
from planner.scenario.introspect import field_at
from planner.scenario.meta import parse_path
from planner.study.worded import BY_NAME

MOST = 1_000_000  # points of a grid
NOT_VARIED = ("solve", "name", "description")
_NAMED = re.compile(r"^(tiers|workload\.classes)(?:\[([^\]\d][^\]]*)\]|\.([A-Za-z_][\w-]*))(?=\.)")


@dataclass(frozen=True)
class Setting:
    """One varied key: its listed values, or a range ``low`` to ``high`` to sample from."""

    key: str
    values: tuple[Any, ...] = ()
    low: float = math.nan
    high: float = math.nan

    @property
    def is_range(self) -> bool:
        """Whether it has no values of its own, only ends."""
        return not self.values


def parse_settings(texts: Sequence[str], scenario: Scenario) -> list[Setting]:
    """Every ``KEY=VALUES``, each key once.

    Raises:
        InputError: As of :func:`parse_setting`, or a key that is set twice.
    """
    settings: dict[str, Setting] = {}
    for text in texts:
        setting = parse_setting(text, scenario)
        if setting.key in settings:
            raise _wrong(text, f"{setting.key} is set twice; list all its values in one --set")
        settings[setting.key] = setting
    return list(settings.values())


def points(settings: Sequence[Setting], sample: int | None, seed: int) -> Iterator[dict[str, Any]]:
    """The grid, or a sample of ``sample`` points."""
    return grid(settings) if sample is None else latin_hypercube(settings, sample, seed)


def ignored_steps(settings: Sequence[Setting]) -> list[str]:
    """Ranges with a step, of which a sample uses only the ends."""
    return [
        f"{s.key}: --sample draws from all of {s.low:g} to {s.high:g}; the step is ignored"
        for s in settings
        if s.values and math.isfinite(s.low)
    ]


def without_effect(settings: Sequence[Setting], scenario: Scenario) -> list[str]:
    """Keys whose values decide nothing, as the scenario is."""
    keys = [s.key for s in settings]
    idle = [key for key in keys if key.startswith("engine.roofline.")]
    if "engine.timing" in keys or roofline_counts(scenario):
        return []
    return [f"{key} has no effect: the times are those of {scenario.engine.timing}, not a roofline's" for key in idle]


def roofline_counts(scenario: Scenario) -> bool:
    """Whether any time comes from ``engine.roofline``: it also replaces a packaged table that is faulty."""
    if scenario.engine.timing == ROOFLINE:
        return True
    backend = BACKENDS.get(scenario.engine.timing)
    return backend is not None and faulty_table(backend, scenario.model.attention.kind)


def parse_setting(text: str, scenario: Scenario) -> Setting:
    """One ``KEY=VALUES``.

    Raises:
        InputError: No such key, or values that are none.
    """
    key, separator, rest = text.partition("=")
    if not separator or not key.strip() or not rest.strip():
        raise _wrong(text, "write KEY=VALUE,VALUE or KEY=LOW:HIGH:STEP")
    path = resolve_key(key.strip(), scenario)
    if path.split(".")[0] in NOT_VARIED:
        raise _wrong(text, f"{path} does not say what is planned, only how: write it into the scenario")
    today = value_at(scenario, path)
    whole = _is_whole(path)
    if rest.strip().startswith("["):
        return Setting(path, (_json(text, rest),))
    if ":" in rest:
        return _range(text, path, rest.split(":"), today, whole)
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    values = tuple(
        None if _is_unset(path, part) else part if _is_name(path, part) else _value(text, part, today, whole)
        for part in parts
    )
    if not values:
        raise _wrong(text, "there is no value")
    return Setting(path, values)


def resolve_key(key: str, scenario: Scenario) -> str:
    """The key with names of tiers and classes as indices.

    Raises:
        InputError: The scenario has no such value.
    """
    named = _NAMED.match(key)
    if named is not None:
        items: Sequence[Any] = scenario.tiers if named[1] == "tiers" else scenario.workload.classes
        name = named[2] or named[3]
        names = [item.name for item in items]
        if name not in names:
            raise _unknown(key, f"{named[1]} are {', '.join(names) or 'none'}")
        key = f"{named[1]}[{names.index(name)}]{key[named.end() :]}"
    value_at(scenario, key)
    return key


def value_at(scenario: Scenario, key: str) -> Any:
    """The scenario's value at a key path."""
    holder: Any = scenario
    for part in parse_path(key) or ("",):
        try:
            holder = holder[part] if isinstance(part, int) else getattr(holder, _field(holder, part))
        except (AttributeError, IndexError, TypeError):
            raise _unknown(key, _near(key, holder)) from None
    return holder


def _field(holder: Any, part: str) -> str:
    if part not in getattr(type(holder), "model_fields", {}):
        raise AttributeError(part)
    return part


def _near(key: str, holder: Any) -> str:
    """Where the key's last part is at home, or keys like it beside where it was looked for."""
    from planner.scenario.introspect import homes

    last = str((parse_path(key) or ("",))[-1])
    beside = [*getattr(type(holder), "model_fields", {})]
    places = [*homes(last)] or difflib.get_close_matches(last, beside, 2)
    if places:
        return f"did you mean {' or '.join(places)}?"
    return f"there are {', '.join(beside)}" if beside else "planner schema lists the keys"


def _unknown(key: str, hint: str) -> InputError:
    return InputError(Diagnostic("unknown-key", f"the scenario has no value at {key!r}", path=key, hint=hint))


def _wrong(text: str, why: str) -> InputError:
    return InputError(Diagnostic("bad-set", f"--set {text}: {why}"))


def _is_whole(path: str) -> bool:
    field = field_at(parse_path(path))
    return field is not None and "int" in str(field.annotation) and "float" not in str(field.annotation)


def _is_unset(path: str, part: str) -> bool:
    """Whether a value is left open, as an optional key that a file does not give."""
    field = field_at(parse_path(path))
    return part in ("none", "null") and field is not None and NoneType in get_args(field.annotation)


def _is_name(path: str, part: str) -> bool:
    """Whether a value stands for something in the catalog."""
    return path in BY_NAME and re.match(r"x?[0-9.+-]", part) is None


def _json(text: str, rest: str) -> Any:
    try:
        return json.loads(rest)
    except ValueError:
        raise _wrong(text, "not a JSON list") from None


def _value(text: str, part: str, today: Any, whole: bool) -> Any:
    if isinstance(today, bool):
        known = {"true": True, "false": False}
        if part not in known:
            raise _wrong(text, f"{part!r} is neither true nor false")
        return known[part]
    if isinstance(today, str):
        return part
    if hasattr(type(today), "model_fields"):
        raise _wrong(text, f"this is a section; set one of its keys: {', '.join(type(today).model_fields)}")
    factor = re.fullmatch(r"x([0-9.eE+-]+)", part)
    try:
        number = float(factor[1]) * float(today) if factor else float(part)
    except (TypeError, ValueError):
        if today is None:
            return part
        raise _wrong(text, f"{part!r} is no number") from None
    if not math.isfinite(number):
        raise _wrong(text, f"{part!r} is no finite number")
    if whole and not factor and number != round(number):
        raise _wrong(text, f"{part!r} is no whole number")
    return round(number) if whole else number


def _range(text: str, path: str, parts: list[str], today: Any, whole: bool) -> Setting:
    if len(parts) not in (2, 3):
        raise _wrong(text, "a range is LOW:HIGH:STEP, or LOW:HIGH with --sample")
    low, high = (_value(text, part.strip(), today, False) for part in parts[:2])
    if isinstance(low, str) or isinstance(high, str):
        raise _wrong(text, "the ends of a range are numbers")
    if not low < high:
        raise _wrong(text, f"the low end comes first and lies below the high end: {high:g} … {low:g}")
    if len(parts) == 2:
        return Setting(path, (), low, high)
    step = _value(text, parts[2].strip(), 1.0, False)
    if step <= 0 or (high - low) / step > MOST:
        raise _wrong(text, "the step must be above 0 and leave at most a million values")
    count = math.floor((high - low) / step + 1e-9)
    values = [low + k * step for k in range(count + 1)]
    exact = [round(v) if whole else float(f"{v:.12g}") for v in values]
    return Setting(path, tuple(dict.fromkeys(exact)), low, high)


def grid(settings: Sequence[Setting]) -> Iterator[dict[str, Any]]:
    """Every combination, the last setting moving fastest.

    Raises:
        InputError: A range without step, or more than a million points.
    """
    for setting in settings:
        if setting.is_range:
            raise _wrong(setting.key, "a range without step needs --sample N")
    if math.prod(len(s.values) for s in settings) > MOST:
        raise InputError(Diagnostic("too-many-points", f"the grid has more than {MOST:,} points"))
    for values in itertools.product(*(s.values for s in settings)):
        yield dict(zip((s.key for s in settings), values, strict=True))


def latin_hypercube(settings: Sequence[Setting], count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """``count`` points: each range cut into as many strata, each stratum used once; lists are used evenly.

    McKay, Beckman and Conover, Technometrics 21 (1979): every margin is covered evenly whatever the dimension.
    """
    source = random.Random(seed)
    columns = []
    for setting in settings:
        order = list(range(count))
        source.shuffle(order)
        ends = math.isfinite(setting.low) and math.isfinite(setting.high)
        if ends:
            whole = bool(setting.values) and all(isinstance(v, int) for v in setting.values)
            width = setting.high - setting.low
            drawn = [setting.low + width * (k + source.random()) / count for k in order]
            columns.append([round(v) if whole or _is_whole(setting.key) else float(f"{v:.12g}") for v in drawn])
        else:
            columns.append([setting.values[k % len(setting.values)] for k in order])
    for values in zip(*columns, strict=True):
        yield dict(zip((s.key for s in settings), values, strict=True))
