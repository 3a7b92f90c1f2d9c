"""The schema file that the scenarios point editors at is the one that the code describes."""

from __future__ import annotations

import json
from pathlib import Path

from planner.scenario.jsonschema import json_schema

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def test_schema_file_is_current() -> None:
    """Rewrite it with ``planner schema > scenarios/schema.json``."""
    assert json.loads((SCENARIOS / "schema.json").read_text(encoding="utf-8")) == json_schema()


def test_every_scenario_points_at_it() -> None:
    for path in SCENARIOS.glob("*.yaml"):
        assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=schema.json\n"), path
