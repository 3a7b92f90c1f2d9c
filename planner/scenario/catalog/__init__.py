"""The packaged catalog: hardware, nodes, links, cache tiers, prices, models and defaults, each with its provenance.

The files hold ``{value, unit, source, date, confidence}`` (and ``low``, ``high``, ``note`` where known) for every
value. The functions here return plain mappings in the scenario's own form; :func:`provenance` returns where the values
come from. A file is read when something in it is first asked for, and once per process: a short scenario reads one
model, one GPU, the tiers, the prices and the defaults.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

_ROOT = Path(__file__).parent
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where libyaml is there

KINDS = ("model", "hardware", "tier", "price", "node", "link")


class Sourced(NamedTuple):
    """One catalog value and where it comes from. ``path`` is its key inside the entry, dotted."""

    path: str
    unit: str
    source: str
    date: str
    confidence: str
    value: Any
    low: float | None = None
    high: float | None = None
    note: str = ""


class UnknownName(LookupError):
    """A name that the catalog does not have; ``candidates`` are the names it has of that kind."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"no {kind} named {name!r} in the catalog")
        self.kind = kind
        self.name = name
        self.candidates = tuple(names(kind))


def model(name: str) -> dict[str, Any]:
    """Return the fields of a model, quantisation included, for a catalog name or alias.

    >>> spec = model("deepseek-r1")
    >>> spec["name"], spec["layers"], spec["attention"]["kv_lora_rank"], spec["compute_dtype"]
    ('deepseek-v3', 61, 512, 'fp8')
    """
    entry, variant = _model_entry(name)
    fields: dict[str, Any] = {"name": variant, "title": entry["variants"][variant]["title"]}
    fields.update(_plain(_model_values(entry, variant)))
    return fields


def hardware(name: str) -> dict[str, Any]:
    """Return the fields of a GPU; ``peak_tflops`` is a mapping by compute type.

    >>> hardware("h200-nvl")["nvlink_domain_gpus"], hardware("h200-sxm")["peak_tflops"]["fp8"]
    (4, 1979)
    """
    entry = _hardware_entry(name)
    return {"name": entry["name"], "title": entry["title"], **_plain(entry["fields"])}


def default_tiers() -> list[dict[str, Any]]:
    """Return the tiers below HBM that a scenario without ``tiers`` gets, fast to slow.

    >>> [tier["name"] for tier in default_tiers()]
    ['dram', 'nvme']
    """
    limits = _read("tiers.yaml")["limits"]
    return [
        {"name": name, **tier_defaults(name), **_plain(limits.get(name, {}))} for name in _read("tiers.yaml")["tiers"]
    ]


def usual_endurance(name: str) -> tuple[float, str] | None:
    """Return ``(drive writes per day, source)`` that are usual for a tier, or None where writes do not wear it out."""
    found = _read("tiers.yaml")["limits"].get(name, {}).get("dwpd")
    return (float(found["value"]), str(found["source"])) if found else None


def tier_defaults(name: str) -> dict[str, Any]:
    """Return the default fields of a tier, ``{}`` for a name the catalog does not know.

    Optional limits (drive size, write bandwidth, endurance) are not among them: in a listed tier they bind only where
    they are stated.
    """
    return cast("dict[str, Any]", _plain(_read("tiers.yaml")["tiers"].get(name, {})))


def price(kind: str) -> float:
    """Return a price: USD per GPU-hour (``reserved_1y`` …) or per GB-hour (``dram_owned`` …).

    >>> price("reserved_1y")
    2.8
    """
    return float(_named("price", "prices.yaml", "prices", kind)["value"])


def defaults() -> dict[str, Any]:
    """Return every default of a scenario but its tiers, nested at the scenario's own keys."""
    values = cast("dict[str, Any]", _plain(_read("defaults.yaml")["defaults"]))
    values["prices"] = {"gpu_usd_per_hour": price("reserved_1y"), **values["prices"]}
    return values


def roofline_defaults(engine: str, compute_dtype: str | None) -> dict[str, float]:
    """Return the roofline fitted to an engine's tables for models that compute in ``compute_dtype``.

    An engine without tables gets the default engine's fit, an unknown precision that of bf16.

    >>> sorted(roofline_defaults("roofline", "fp8")) == sorted(defaults()["engine"]["roofline"])
    True
    """
    from planner.scenario.catalog.timing import roofline_fit

    fit = roofline_fit(engine, compute_dtype)
    return {key: getattr(fit, key) for key in _read("defaults.yaml")["defaults"]["engine"]["roofline"]}


def names(kind: str) -> list[str]:
    """Return the names of a kind, aliases included, sorted. Reads no model and no hardware file."""
    if kind == "model":
        return sorted(_read("names.yaml"))
    if kind == "hardware":
        return sorted(path.stem for path in (_ROOT / "hardware").glob("*.yaml"))
    return sorted(_read(f"{kind}s.yaml")[f"{kind}s"])


def provenance(kind: str, name: str) -> tuple[Sourced, ...]:
    """Return every value of an entry with its unit, source, date and confidence.

    ``kind`` is one of :data:`KINDS`, or ``"defaults"`` (any name), whose paths are the scenario's keys.
    """
    if kind == "model":
        tree = _model_values(*_model_entry(name))
    elif kind == "hardware":
        tree = _hardware_entry(name)["fields"]
    elif kind == "defaults":
        gpu = _read("prices.yaml")["prices"]["reserved_1y"]
        return (*_rows(_read("defaults.yaml")["defaults"]), *_rows({"prices": {"gpu_usd_per_hour": gpu}}))
    else:
        tree = _named(kind, f"{kind}s.yaml", f"{kind}s", name)
        if kind == "tier":
            tree = {**tree, **_read("tiers.yaml")["limits"].get(name, {})}
    return tuple(_rows(tree, name if kind == "price" else ""))


def usual_range(key: str) -> tuple[float, float, str] | None:
    """Return ``(low, high, source)`` of the values usual for a scenario key, or None where the catalog states none.

    The key has no indices, and tiers go by name.

    >>> usual_range("slo.ttft_ms")[:2], usual_range("tiers.dram.latency_ms")[:2]
    ((50, 120000), (0.5, 30))
    """
    found = _read("defaults.yaml")["ranges"].get(key)
    if found is None and key == "prices.gpu_usd_per_hour":
        found = {**_read("prices.yaml")["prices"]["on_demand"], "low": _read("prices.yaml")["prices"]["owned"]["low"]}
    if found is None:
        tree: Any = {**_read("defaults.yaml")["defaults"], "tiers": _read("tiers.yaml")["tiers"]}
        for part in key.split("."):
            tree = tree.get(part) if isinstance(tree, dict) else None
        found = tree
    if not isinstance(found, dict) or "low" not in found or "high" not in found:
        return None
    return found["low"], found["high"], found["source"]


@cache
def _read(relative: str) -> dict[str, Any]:
    with (_ROOT / relative).open("rb") as stream:
        return cast("dict[str, Any]", yaml.load(stream, Loader=_LOADER))


def _model_entry(name: str) -> tuple[dict[str, Any], str]:
    found = _read("names.yaml").get(name)
    if found is None:
        raise UnknownName("model", name)
    file, variant = found
    return _read(f"models/{file}.yaml"), variant


def _model_values(entry: dict[str, Any], variant: str) -> dict[str, Any]:
    own = {key: value for key, value in entry["variants"][variant].items() if key != "title"}
    return {**entry["fields"], **own}


def _hardware_entry(name: str) -> dict[str, Any]:
    if name not in names("hardware"):
        raise UnknownName("hardware", name)
    return _read(f"hardware/{name}.yaml")


def _named(kind: str, file: str, section: str, name: str) -> dict[str, Any]:
    entries = _read(file)[section]
    if name not in entries:
        raise UnknownName(kind, name)
    return cast("dict[str, Any]", entries[name])


def _is_value(tree: dict[str, Any]) -> bool:
    return "value" in tree and "source" in tree


def _plain(tree: dict[str, Any]) -> Any:
    """Strip the provenance: every ``{value, unit, …}`` becomes its value, copied so that callers may change it."""
    if _is_value(tree):
        value = tree["value"]
        return list(value) if isinstance(value, list) else value
    return {key: _plain(branch) for key, branch in tree.items()}


def _rows(tree: dict[str, Any], path: str = "") -> list[Sourced]:
    if _is_value(tree):
        stated = {key: tree[key] for key in ("low", "high", "note") if key in tree}
        known = (tree["unit"], tree["source"], tree["date"], tree["confidence"], tree["value"])
        return [Sourced(path, *known, **stated)]
    return [row for key, branch in tree.items() for row in _rows(branch, f"{path}.{key}" if path else key)]
