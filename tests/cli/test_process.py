"""The command line as a process: pipes that close, disks that fill, signals that kill, and how fast it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKE = """
import sys
import planner.optimize
from tests.report import sample
planner.optimize.solve_scenario = lambda *_, **__: sample.plan_set()
from planner.cli import main
main()
"""
HEAVY = ("pyomo", "highspy", "numpy", "pydantic", "yaml", "rich", "plotly")


def planner(*arguments: object, code: str = FAKE, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-c", code, *map(str, arguments)]
    settings = {"text": True, "encoding": "utf-8", "timeout": 60, **options}
    if "stdout" not in settings:
        settings |= {"stdout": subprocess.PIPE}
    return subprocess.run(command, cwd=cwd, env=environment, stderr=subprocess.PIPE, check=False, **settings)  # type: ignore[call-overload,no-any-return]


def solve(scenario: Path, *arguments: object, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    return planner("solve", scenario, *arguments, cwd=cwd, **options)


def one_clear_line(error: str) -> bool:
    return "Traceback" not in error and error.count("error: ") == 1


def test_closed_pipe(scenario: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        found = solve(scenario, cwd=tmp_path, stdout=writer)
    finally:
        os.close(writer)
    assert found.returncode == 3
    assert one_clear_line(found.stderr)
    assert "its reader closed it" in found.stderr
    assert json.loads((tmp_path / "reports/paper/plans.json").read_text())["status"] == "optimal"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("solve",), ("--help",), ("rules",)])
def test_full_disk_behind_stdout(scenario: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    extra = (scenario,) if arguments == ("solve",) else ()
    with open("/dev/full", "w") as full:
        found = planner(*arguments, *extra, cwd=tmp_path, stdout=full)
    assert found.returncode == 3
    assert one_clear_line(found.stderr)
    assert "no space left on the disk" in found.stderr


def test_closed_stdout_and_stderr(scenario: Path, tmp_path: Path) -> None:
    for redirection, code in ((">&-", 3), ("2>&-", 0), (">&- 2>&-", 3)):
        shell = f'exec "{sys.executable}" -c "$FAKE" solve "{scenario}" {redirection}'
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "FAKE": FAKE}
        found = subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert found.returncode == code
        assert b"Traceback" not in found.stderr


def test_ascii_terminals_get_ascii(scenario: Path, tmp_path: Path) -> None:
    found = solve(scenario, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert found.returncode == 0
    assert found.stdout.isascii()
    assert "TTFT p95 <= 1500 ms" in found.stdout


def test_device_as_output_stays_a_device(scenario: Path, tmp_path: Path) -> None:
    found = solve(scenario, "-o", os.devnull, "--no-report", cwd=tmp_path)
    assert found.returncode == 0
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code = f"""
import sys
from planner.cli import run
code = run(sys.argv[1:])
print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
raise SystemExit(code)
"""
    found = planner(*arguments, code=code, cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "[]\n")


def test_check_loads_no_solver(scenario: Path, tmp_path: Path) -> None:
    code = """
import sys
from planner.cli import run
code = run(sys.argv[1:])
print(sorted({"pyomo", "highspy", "numpy"} & set(sys.modules)), file=sys.stderr)
raise SystemExit(code)
"""
    found = planner("check", scenario, code=code, cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "[]\n")


def test_help_starts_at_once(tmp_path: Path) -> None:
    """Aim 0.15 s; the bound leaves room for a busy machine, and the fastest of three counts."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        found = planner("--help", code="from planner.cli import main\nmain()", cwd=tmp_path)
        times.append(time.perf_counter() - started)
        assert found.returncode == 0
        assert "solve" in found.stdout
    assert min(times) < 0.4
