"""Mutated scenarios through the real command line: every input ends with an exit code from the list, soon and tidily.

Valid scenarios are changed by key, type, value and structure, and as text. Whatever becomes of them, a command may end
only with 0, 1, 2, 3 or 130, without a traceback or an internal error, within seconds, printing nothing that a terminal
would obey, and writing nothing outside ``reports/``.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import math
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from planner.benchmark.seeds import SEEDS
from planner.benchmark.table import Figure

EXIT_CODES = (0, 1, 2, 3, 130)
HANG_S = 5.0  # more than this is a hang
COLLECT_EVERY = 20  # inputs
SOLVE_S = 0.5  # time limit given to the solve
NAMES = ["", ".", "..", "../../etc/passwd", "a/b", "a\\b", "-rf", "~", "\x1b[31mr", "\u202er", "<b>x</b>", "n" * 300]
WORDS = [
    *NAMES, "no", "off", "1e3", "12 TB", "95%", "roofline", "vllm-0.31", "h200-sxm", "mla", "gqa", "hill", "power",
    "measured", "random", "affinity", "exclusive", "inclusive", "node", "gpu", "fp8", "bf16", "sync", "prefetch",
    "colocated", "disaggregated", "generated", "deepseek-v3", "llama-3.1-8b", "owned", "spot", "x.csv", "!!int 3", "*a",
]  # fmt: skip
NUMBERS = [0, -1, 1, 2, 3, 0.5, 0.999, 1e-9, 1e-300, 1e300, 1e9, 2**63, 10**30, math.nan, math.inf, -math.inf]
FACTORS = [0.0, 1e-3, 0.1, 0.3, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 3.0, 10.0, 100.0, 1e4]
Tree = Any
KeyPath = tuple[Any, ...]


@dataclass
class Tally:
    """What a fuzz run saw: inputs by exit code, the slowest input, and every failure with its input."""

    inputs: int = 0
    by_code: dict[int, int] = field(default_factory=dict)
    slowest_s: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)


def fuzz(
    count: int, seed: int = 0, tell: Callable[[Tally], None] | None = None, time_limit_s: float = SOLVE_S
) -> Tally:
    """Run ``count`` mutated scenarios and tally what becomes of them; ``tell`` is called after each."""
    tally = Tally()

    @seeded(seed)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(texts(), commands(time_limit_s))
    def each(text: str, command: tuple[str, ...]) -> None:
        found = outcome(text, command)
        tally.inputs += 1
        if tally.inputs % COLLECT_EVERY == 0:
            gc.collect()
        tally.by_code[found.code] = tally.by_code.get(found.code, 0) + 1
        tally.slowest_s = max(tally.slowest_s, found.seconds)
        tally.failures += [(what, text) for what in found.complaints]
        if tell is not None:
            tell(tally)

    each()
    return tally


def figures(count: int) -> Iterator[Figure]:
    """The fuzz run as figures."""
    tally = fuzz(count)
    group = f"Mutated scenarios through the command line ({tally.inputs:,} inputs)"
    for code, inputs in sorted(tally.by_code.items()):
        yield Figure(group, f"exit code {code}", inputs, "")
    yield Figure(group, "slowest", tally.slowest_s, "s", target=f"≤ {HANG_S:g} s", met=tally.slowest_s <= HANG_S)
    told = f"failures{': ' + tally.failures[0][0][:60] if tally.failures else ''}"
    yield Figure(group, told, len(tally.failures), "", target="0", met=not tally.failures)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Scenario files: a valid one with changed numbers (half of them), or with up to four changes of any kind."""
    tree = deepcopy(draw(st.sampled_from(SEEDS)))
    if draw(st.booleans()):
        return yaml.safe_dump(_rescaled(draw, tree), sort_keys=False)
    for _ in range(draw(st.integers(1, 4))):
        places = list(_paths(tree))
        if places:
            tree = _changed(draw, tree, draw(st.sampled_from(places)))
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    if draw(st.integers(0, 9)) == 0:
        at, removed = draw(st.integers(0, len(text))), draw(st.integers(0, 20))
        inserted = draw(st.text(max_size=5) | st.sampled_from(list(":{}[]&*!|>-#%@`\"'\t\x00\x1b\r")))
        text = text[:at] + inserted + text[at + removed :]
    return text


def commands(time_limit_s: float) -> st.SearchStrategy[tuple[str, ...]]:
    """Command lines, without the scenario."""
    limit = ("--time-limit", f"{time_limit_s:g}")
    return st.sampled_from(
        [
            ("solve", *limit, "--no-report"),
            ("solve", *limit),
            ("solve", *limit, "--no-report", "-f", "json"),
            ("solve", *limit, "-f", "md"),
            ("solve", *limit, "--plans", "1", "-f", "csv"),
            ("check",),
            ("check", "-f", "json"),
        ]
    )


def _paths(tree: Tree, path: KeyPath = ()) -> Iterator[KeyPath]:
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from _paths(child, (*path, key))


def _rescaled(draw: st.DrawFn, tree: Tree) -> Tree:
    """Up to six numbers changed by a factor: many stay valid and reach the solver, far from what is usual."""
    for path in draw(st.lists(st.sampled_from(list(_paths(tree))), min_size=1, max_size=6)):
        holder = tree
        for part in path[:-1]:
            holder = holder[part]
        value = holder[path[-1]]
        if isinstance(value, int | float) and not isinstance(value, bool):
            scaled = value * draw(st.sampled_from(FACTORS))
            holder[path[-1]] = round(scaled) if isinstance(value, int) else scaled
    return tree


def _changed(draw: st.DrawFn, tree: Tree, path: KeyPath) -> Tree:
    """One change at a path: most are of values, so that many inputs stay valid and reach the solver."""
    holder = tree
    for part in path[:-1]:
        holder = holder[part]
    key, value = path[-1], holder[path[-1]]
    change = draw(st.sampled_from(["scale"] * 6 + ["set"] * 3 + ["remove", "rename", "wrap", "repeat", "nest", "add"]))
    if change == "scale" and isinstance(value, int | float) and not isinstance(value, bool):
        scaled = value * draw(st.sampled_from(FACTORS))
        holder[key] = round(scaled) if isinstance(value, int) else scaled
    elif change == "remove":
        del holder[key]
    elif change == "rename" and isinstance(holder, dict):
        holder[draw(st.sampled_from([f"{key}x", *WORDS]))] = holder.pop(key)
    elif change == "repeat" and isinstance(value, list) and value:
        holder[key] = value * draw(st.integers(2, 8))
    elif change == "nest":
        holder[key] = _nested(value, draw(st.integers(1, 60)))
    elif change == "add" and isinstance(holder, dict):
        holder[draw(st.sampled_from(WORDS))] = draw(_values())
    else:
        holder[key] = [value] if change == "wrap" else draw(_values())
    return tree


def _nested(value: Tree, depth: int) -> Tree:
    for _ in range(depth):
        value = [value]
    return value


def _values() -> st.SearchStrategy[Any]:
    scalars = st.one_of(
        st.sampled_from(NUMBERS), st.sampled_from(WORDS), st.none(), st.booleans(), st.text(max_size=8),
        st.integers(1, 64), st.floats(0, 1), st.floats(0, 1e6),
    )  # fmt: skip
    return st.recursive(
        scalars,
        lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(WORDS), v, max_size=3),
        max_leaves=5,
    )


@dataclass(frozen=True)
class Outcome:
    """One input's exit code, time, and what was wrong with how it ended."""

    code: int
    seconds: float
    complaints: tuple[str, ...]


class _HangError(BaseException):
    """Raised by the alarm: not an Exception, so that nothing handles it."""


def outcome(text: str, command: tuple[str, ...]) -> Outcome:
    """Run one command line on one scenario in an empty folder, in this process."""
    from planner.cli import run

    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="planner-fuzz-") as folder:
        os.chdir(folder)
        Path("s.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        started = time.perf_counter()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _alarm(4 * HANG_S):
                code = run([command[0], "s.yaml", *command[1:]])
        except _HangError:
            code = -1
        finally:
            seconds = time.perf_counter() - started
            os.chdir(before)
        written = sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file())
    gc.unfreeze()  # what a command does for speed before its process ends is undone
    gc.enable()
    complaints = tuple(_complaints(command, code, seconds, out.getvalue(), err.getvalue(), written))
    return Outcome(code, seconds, complaints)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _complaints(
    command: tuple[str, ...], code: int, seconds: float, out: str, err: str, written: list[str]
) -> Iterator[str]:
    line = " ".join(command)
    if code not in EXIT_CODES:
        yield f"{line}: exit code {code}"
    if seconds > HANG_S:
        yield f"{line}: took {seconds:.1f} s"
    if "Traceback" in out + err or "internal-error" in out + err:
        told = [text for text in (out + err).splitlines() if "internal error" in text]
        yield f"{line}: {(told or ['a traceback'])[0].strip()}"
    if any(not (c.isprintable() or c == "\n") for c in out + err):
        yield f"{line}: prints a control character"
    if code in (1, 2, 3) and not (out + err).strip():
        yield f"{line}: ends with {code} and says nothing"
    if "json" in command:
        try:
            json.loads(out)
        except ValueError:
            yield f"{line}: prints no JSON"
    for name in written:
        parts = Path(name).parts
        if name != "s.yaml" and not (parts[0] == "reports" and len(parts) == 3):
            yield f"{line}: writes {name}"
