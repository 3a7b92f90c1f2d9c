"""The JSON Schema that editors use."""

from typing import Any

import pytest
import yaml

from planner.scenario.jsonschema import json_schema
from tests.scenario.bad_scenarios import BASE, INLINE_MODEL

SCHEMA = json_schema()


def resolve(entry: dict[str, Any]) -> dict[str, Any]:
    for option in entry.get("anyOf", []):
        if "$ref" in option:
            entry = option
    return SCHEMA["$defs"][entry["$ref"].rsplit("/", 1)[1]] if "$ref" in entry else entry


def keys(value: Any, entry: dict[str, Any], path: str = "") -> None:
    """Every key of a scenario is described by the schema, and none is missing that it requires."""
    entry = resolve(entry)
    if isinstance(value, dict):
        assert set(value) <= set(entry["properties"]), path
        assert set(entry.get("required", ())) <= set(value), path
        for key, inner in value.items():
            keys(inner, entry["properties"][key], f"{path}.{key}")
    elif isinstance(value, list) and "items" in entry:
        for inner in value:
            keys(inner, entry["items"], f"{path}[]")


@pytest.mark.parametrize("text", [BASE, INLINE_MODEL + "\n".join(BASE.splitlines()[3:])])
def test_schema_describes_every_key_and_requires_no_more(text: str) -> None:
    keys(yaml.safe_load(text), SCHEMA)


def test_every_value_is_described_and_numbers_have_limits() -> None:
    for part in (SCHEMA, *SCHEMA["$defs"].values()):
        assert part["additionalProperties"] is False
        for key, entry in part["properties"].items():
            assert entry.get("description") or "$ref" in entry, key
            if entry.get("type") in ("number", "integer"):
                assert {"minimum", "exclusiveMinimum"} & set(entry), key
                assert {"maximum", "exclusiveMaximum"} & set(entry), key


def test_names_defaults_and_units_come_from_the_catalog() -> None:
    assert "qwen3-235b-a22b-fp8" in SCHEMA["properties"]["model"]["anyOf"][0]["enum"]
    assert SCHEMA["properties"]["hardware"]["default"] == "h200-sxm"
    engine = SCHEMA["$defs"]["Engine"]["properties"]
    assert engine["chunk_tokens"]["default"] == 8192
    assert engine["chunk_tokens"]["unit"] == "tokens"
    assert SCHEMA["required"] == ["model", "workload", "slo"]
