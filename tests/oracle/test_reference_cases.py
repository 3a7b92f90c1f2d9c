"""The oracle against published optima, where those files are at hand."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.oracle.brute import cells

CASES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "cases"
FILES = sorted(CASES.glob("*.yaml")) if CASES.is_dir() else []

pytestmark = pytest.mark.skipif(not FILES, reason="the reference cases are not at hand")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_cell_and_design_is_the_published_one(path: Path) -> None:
    found = cells(yaml.safe_load(path.read_text()))
    published = json.loads(path.with_suffix(".json").read_text())
    for architecture, pair in found.items():
        for which, design in pair.items():
            want: dict[str, Any] = published[architecture][which]
            assert design is not None
            assert design["usd_per_hour"] == pytest.approx(want["usd_per_hour"], rel=2e-8)
            for key in ("gpus_per_instance", "instances", "batch", "decode"):
                assert design[key] == want[key], (architecture, which, key)
            used = {k: v for k, v in design["roles"].items() if v != "unused"}
            assert used == {k: v for k, v in want["roles"].items() if v != "unused"}
            assert design["e_req"] == pytest.approx(want["e_req"], abs=1e-8)
