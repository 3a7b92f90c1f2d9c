"""Imports go one way (DESIGN.md section 1), and nothing heavy loads where it is not needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "planner"
LAYERS = [
    {"__init__", "units", "errors", "textfile", "plan"},
    {"scenario"},
    {"physics"},
    {"designs", "bounds", "derive", "judge", "evaluate", "fractional"},
    {"milp"},
    {"cells", "interaction", "relaxations", "verdict_text", "describe", "diagnose", "optimize"},
    {"study", "trace", "simulate", "deploy", "report", "fidelity"},
    {"cli", "benchmark", "__main__"},
]
RANK = {name: i for i, names in enumerate(LAYERS) for name in names}
FILES = sorted(ROOT.rglob("*.py"))


def parts(module: str) -> str | None:
    pieces = module.split(".")
    if pieces[0] != "planner":
        return None
    return pieces[1] if len(pieces) > 1 else "__init__"


def imports(path: Path):  # type: ignore[no-untyped-def]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "planner":
                yield from (
                    (f"planner.{a.name}", node.lineno)
                    for a in node.names
                    if (ROOT / a.name).exists() or (ROOT / f"{a.name}.py").exists()
                )
            else:
                yield node.module, node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert own in RANK, f"give planner/{own} a place in the layers"
    for module, line in imports(path):
        other = parts(module)
        if other is not None:
            assert RANK[other] <= RANK[own], f"{path}:{line} imports {module} from a later layer"


def test_the_judge_knows_no_model() -> None:
    for path in [ROOT / "evaluate.py", *sorted((ROOT / "judge").glob("*.py"))]:
        assert not any(m.startswith(("planner.milp", "pyomo", "highspy")) for m, _ in imports(path))


@pytest.mark.parametrize(
    ("arguments", "banned"),
    [
        (["--help"], {"pyomo", "highspy", "numpy", "plotly", "pydantic"}),
        (["check", "scenarios/chat.yaml"], {"pyomo", "highspy", "plotly"}),
    ],
)
def test_nothing_heavy_at_start(arguments: list[str], banned: set[str]) -> None:
    code = (
        f"import os, sys\nfrom planner.cli import main\nsys.argv = ['planner', *{arguments!r}]\n"
        "def loaded(code=0):\n    print('LOADED', *sorted({m.split('.')[0] for m in sys.modules}), flush=True)\n"
        "def leave(code):\n    loaded()\n    real(code)\n"
        "real = os._exit\nos._exit = leave\n"
        "try:\n    main()\nexcept SystemExit:\n    loaded()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parent, check=False)
    loaded = set(done.stdout.rsplit("LOADED", 1)[-1].split())
    assert "typer" in loaded
    assert not banned & loaded
