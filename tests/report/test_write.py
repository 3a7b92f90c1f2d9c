"""Whole files or none: atomic writes, names that stay inside, and processes killed at any instant."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError, PlannerError
from planner.report import write

ROOT = Path(__file__).parents[2]


def test_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "plans.json"
    target.write_text("old")
    write.write_text(target, "new λ\n")
    assert target.read_text(encoding="utf-8") == "new λ\n"
    assert os.listdir(tmp_path) == ["plans.json"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


def test_named_temporary_where_the_system_has_no_unnamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    write.write_text(tmp_path / "a.json", "one")
    write.write_text(tmp_path / "a.json", "two")
    assert (tmp_path / "a.json").read_text() == "two"
    assert os.listdir(tmp_path) == ["a.json"]


def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "plans.json")
    write.write_text(tmp_path / "link.json", "text")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "plans.json").read_text() == "text"


def test_folders_are_made_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its folder does not exist"):
        write.write_text(tmp_path / "a" / "b.json", "text")
    write.check_writable(tmp_path / "a" / "b.json", make_folder=True)
    assert not (tmp_path / "a").exists()
    write.write_text(tmp_path / "a" / "b.json", "text", make_folder=True)
    assert (tmp_path / "a" / "b.json").read_text() == "text"


@pytest.mark.parametrize("call", ["write", "fsync", "link", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES])
def test_a_failing_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    target = tmp_path / "plans.json"
    target.write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(PlannerError) as caught:
        write.write_text(target, "new")
    monkeypatch.undo()
    assert caught.value.exit_code == (2 if code == errno.EACCES else 3)
    assert "\n" not in str(caught.value)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["plans.json"]


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        write.check_writable(tmp_path)
    with pytest.raises(InputError, match="it is a folder"):
        write.write_text(tmp_path, "text")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    for action in (write.check_writable, lambda path: write.write_text(path, "text")):
        with pytest.raises(InputError, match="no permission"):
            action(tmp_path / "locked" / "a.json")


@given(name=st.text(max_size=200) | st.sampled_from(["..", ".", "/", "a/../..", "~", "-rf", "\0", "con", "é" * 300]))
def test_a_name_never_leaves_the_reports_folder(name: str) -> None:
    folder = write.report_folder(name)
    assert folder.parent == Path("reports")
    assert folder.name not in ("", ".", "..")
    assert not folder.name.startswith(("-", ".", "~"))
    assert len(folder.name.encode()) <= 120
    assert folder.name.isprintable()
    assert not set(folder.name) & set('/\\:*?"<>|\0')


def test_different_hostile_names_get_different_folders() -> None:
    names = ["a/b", "a\\b", "a//b", "../a/b", "a?b", ".a-b"]
    assert len({write.safe_name(name) for name in names}) == len(names)


KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
import pyomo.core, highspy, planner.optimize, planner.report.table
from planner.cli import run
from planner.report.write import write_text

def writes():
    n = 0
    while True:
        n += 1
        text = json.dumps({"n": n, "filler": "x" * (n * 7919 % 300_000), "end": n})
        write_text(Path("reports/x/plans.json"), text, make_folder=True)

def solve():
    return run(["solve", sys.argv[1], "-q", "-o", "answer.json"])

def solves():
    while True:
        solve()

def killed(work, longest_s):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    time.sleep(random.uniform(0, longest_s))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    for path in Path(".").rglob("*"):
        if path.is_file():
            json.loads(path.read_text())

for _ in range(160):
    killed(writes, 0.03)
started = time.perf_counter()
child = os.fork()
if child == 0:
    os._exit(solve())
assert os.waitpid(child, 0)[1] == 0
one_solve_s = time.perf_counter() - started
for _ in range(40):
    killed(solves, 1.2 * one_solve_s)
print(len(list(Path(".").rglob("plans.json"))), Path("answer.json").exists())
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs unnamed temporary files")
def test_writes_and_solves_killed_at_any_instant_leave_only_whole_files(tmp_path: Path) -> None:
    """200 times, in one process that forks, so that each death costs milliseconds."""
    command = [sys.executable, "-c", KILLER, str(ROOT / "scenarios" / "paper.yaml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout == "2 True\n"
