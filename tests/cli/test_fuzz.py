"""Mutated scenarios through the real command line, in process: an exit code from the list, soon, and nothing odd."""

from __future__ import annotations

from planner.benchmark.fuzz import EXIT_CODES, fuzz, outcome
from tests.impossible.cases import BASE, CASES, text_of


def test_mutated_scenarios_end_tidily() -> None:
    tally = fuzz(240, seed=1, time_limit_s=0.3)
    assert tally.failures == []
    assert tally.inputs == 240
    assert set(tally.by_code) <= set(EXIT_CODES)
    assert tally.by_code[0] >= 15  # enough inputs stay valid to reach the solver
    assert tally.by_code[2] >= 100


def test_the_judge_of_the_fuzz_run_sees_failures() -> None:
    assert outcome("name: x\n", ("solve",)).complaints == ()
    assert outcome(BASE, ("solve", "--no-report", "--plans", "1")).code == 0
    assert outcome(text_of("too-few-gpus"), ("solve", "--no-report")).code == 1
    assert len(CASES) >= 10


def test_names_never_leave_reports() -> None:
    for name in (
        "../../etc/passwd",
        "a/b",
        "..",
        "C:\\x",
        "~root",
        "-rf",
        "\\x1b[31m",
        "con",
        "a\u202eb",
        "x" * 60,
        "模型",
    ):
        text = BASE.replace("name: asked", f'name: "{name}"' if "\\x1b" in name else f"name: '{name}'")
        found = outcome(text, ("solve", "--plans", "1"))
        assert found.complaints == (), name
        assert found.code in (0, 2), name


def test_hostile_files_in_bounded_time() -> None:
    hostile = {
        "deep": "a: " + "{a: " * 100_000,
        "brackets": "[" * 500_000,
        "bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(15)
        ),
        "keys": "".join(f"k{i}: 1\n" for i in range(100_000)),
        "number": BASE.replace("ttft_ms: 1500", "ttft_ms: " + "9" * 100_000),
        "tiers": BASE.replace("tiers:\n", "tiers:\n" + "".join(
            f"  - {{name: t{i}, gb_per_s_per_gpu: {90 - i}, gb_per_s_per_node: 900, latency_ms: 1, max_gb_per_node: 9,"
            " usd_per_gb_hour: 0.1}\n" for i in range(14)
        )),
        "huge": "x" * (1 << 21),
    }  # fmt: skip
    for name, text in hostile.items():
        for command in (("solve", "--no-report"), ("check",), ("check", "-f", "json")):
            found = outcome(text, command)
            assert found.complaints == (), name
            assert found.code == 2, name
