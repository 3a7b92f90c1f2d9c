"""JSON Schema of a scenario file, for editors: what may be written, not what a loaded scenario holds."""

from __future__ import annotations

from typing import Any

from planner.scenario import catalog
from planner.scenario.catalog.timing import engine_titles
from planner.scenario.fields import TINY
from planner.scenario.fill import GPU_PRICES, REQUIRED
from planner.scenario.schema import Scenario

SECTIONS = {  # schema class, scenario key
    "Workload": "workload",
    "Prefetch": "workload.prefetch",
    "Slo": "slo",
    "Engine": "engine",
    "Deployment": "deployment",
    "Transfer": "deployment.transfer",
    "Prices": "prices",
    "Solve": "solve",
}


def json_schema() -> dict[str, Any]:
    """The schema, with descriptions, units, ranges and the catalog's defaults.

    >>> json_schema()["required"]
    ['model', 'workload', 'slo']
    """
    schema = Scenario.model_json_schema()
    parts = schema["$defs"]
    defaults = catalog.defaults()
    for part in (schema, *parts.values()):
        for entry in part.get("properties", {}).values():
            _readable(entry)
    for name, key in SECTIONS.items():
        _optional(parts[name], _at(defaults, key))
    _optional(schema, {key: defaults[key] for key in ("hardware", "read_utilization")})
    _named(schema, parts, defaults)
    schema["required"] = list(REQUIRED)
    schema["title"] = "Scenario of the planner"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _at(tree: dict[str, Any], key: str) -> dict[str, Any]:
    for part in key.split("."):
        tree = tree[part]
    return tree


def _optional(part: dict[str, Any], defaults: dict[str, Any]) -> None:
    """A key with a default need not be given; a default that is a mapping is described where its keys are."""
    part["required"] = [key for key in part.get("required", []) if key not in defaults]
    for key, value in defaults.items():
        if not isinstance(value, dict | None):
            part["properties"][key]["default"] = value


def _readable(entry: dict[str, Any]) -> None:
    """Bounds as people read them, and no null where leaving the key out means the same."""
    options = entry.get("anyOf", [])
    kept = [option for option in options if option.get("type") != "null"]
    if len(kept) == 1 != len(options):
        del entry["anyOf"]
        entry.update(kept[0])
        if entry.get("default", "") is None:
            del entry["default"]
    for bound, name in (("ge", "minimum"), ("le", "maximum")):
        if bound in entry:
            entry[name] = entry.pop(bound)
    if entry.get("minimum") == TINY:
        del entry["minimum"]
        entry["exclusiveMinimum"] = 0


def _named(schema: dict[str, Any], parts: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Where the file may name a catalog entry, or leave out what the catalog or the only class implies."""
    for kind in ("model", "hardware"):
        entry = schema["properties"][kind]
        entry["anyOf"] = [{"enum": catalog.names(kind)}, {"$ref": entry.pop("$ref")}]
    price = parts["Prices"]["properties"]["gpu_usd_per_hour"]
    bounds = {key: price.pop(key) for key in ("type", "exclusiveMinimum", "maximum")}
    price["anyOf"] = [bounds, {"enum": list(GPU_PRICES)}]
    timing = parts["Engine"]["properties"]["timing"]
    timing["examples"] = [*engine_titles(), "roofline", "my-times.csv"]
    peaks = parts["HardwareSpec"]["properties"]["peak_tflops"]
    number = {key: peaks.pop(key) for key in ("type", "exclusiveMinimum", "maximum")}
    by_dtype = {"type": "object", "properties": {"bf16": number, "fp8": number}, "additionalProperties": False}
    peaks["anyOf"] = [number, by_dtype]
    parts["RequestClass"]["required"] = ["prompt_tokens", "reusable_tokens", "output_tokens"]
    parts["TierSpec"]["required"] = ["name"]
    parts["Roofline"]["required"] = []
    parts["Workload"]["required"] = ["requests_per_second", "classes"]
    parts["Engine"]["required"] = []
    parts["Deployment"]["required"] = []
    schema["properties"]["tiers"]["default"] = catalog.default_tiers()
