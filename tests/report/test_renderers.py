"""The renderers against golden files, and what must hold for any result: sums, width, harmless names."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.plan import Cell, Certificate, CostLine, Plan, PlanSet
from planner.report import csv_rows, data, markdown, table
from planner.report.format import ascii_only, percent, rounded_to_sum, safe, size, usd, width
from planner.report.grid import PAGE_COLUMNS, Column, grid, wrap
from tests.report import sample

GOLDEN = Path(__file__).parent / "golden"
RENDERERS: dict[str, Callable[[PlanSet], str]] = {
    "txt": table.to_table,
    "json": data.to_json,
    "csv": csv_rows.to_csv,
    "md": markdown.to_markdown,
}
SETS: dict[str, Callable[[], PlanSet]] = {
    "plans": sample.plan_set,
    "hostile": sample.hostile,
    "infeasible": sample.infeasible,
}


@pytest.mark.parametrize("ending", RENDERERS)
@pytest.mark.parametrize("name", SETS)
def test_rendering_is_the_golden_file(name: str, ending: str) -> None:
    text = RENDERERS[ending](SETS[name]())
    path = GOLDEN / f"{name}.{ending}"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path} differs; UPDATE_GOLDEN=1 rewrites it"


def test_colour_changes_nothing_but_escapes() -> None:
    found = sample.plan_set()
    coloured = table.to_table(found, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == table.to_table(found)


@pytest.mark.parametrize("ending", RENDERERS)
def test_no_control_characters_come_from_names(ending: str) -> None:
    text = RENDERERS[ending](sample.hostile())
    assert all(line.isprintable() for line in text.split("\n"))
    if ending == "json":
        assert json.loads(text)["scenario"]["name"] == sample.hostile().scenario_name


names = st.text(min_size=1, max_size=80)
dollars = st.floats(min_value=0, max_value=1e7, allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(name=names, headline=names, why=names, amounts=st.lists(dollars, min_size=1, max_size=6), hits=st.floats(0, 1))
def test_no_line_exceeds_the_page(name: str, headline: str, why: str, amounts: list[float], hits: float) -> None:
    lines = table.to_table(_with(name, headline, why, amounts, hits)).split("\n")
    assert max(width(line) for line in lines) <= PAGE_COLUMNS
    assert all(line.isprintable() for line in lines)


def _with(name: str, headline: str, why: str, amounts: list[float], hits: float) -> PlanSet:
    best = sample.disaggregated()
    costs = tuple(CostLine(name, 1.0, name, amount, amount, name) for amount in amounts)
    tiers = tuple(replace(tier, name=name, why=why, hit_rate=hits / 3) for tier in best.tiers)
    paths = tuple(replace(path, class_name=name, path=why) for path in best.paths)
    changed = replace(best, costs=costs, usd_per_hour=sum(amounts), tiers=tiers, paths=paths, notes=(why,))
    return sample.plan_set(
        scenario_name=name, headline=headline, plans=(Plan(1, changed), Plan(2, changed, (why,))), warnings=(why,)
    )


@settings(max_examples=100, deadline=None)
@given(amounts=st.lists(dollars, min_size=1, max_size=8))
def test_shown_cents_add_up_to_the_shown_total(amounts: list[float]) -> None:
    text = table.to_table(_with("item", "h", "w", amounts, 0.5))
    section = text.split("\n  Cost\n")[1].split("\n\n")[0]
    rows = re.findall(r"([\d,]+\.\d\d) +([\d.]+) %$", section, flags=re.M)
    cents = [round(100 * float(amount.replace(",", ""))) for amount, _ in rows]
    assert sum(cents[:-1]) == cents[-1]
    assert abs(cents[-1] - 100 * sum(amounts)) <= 0.51 + 1e-6 * sum(amounts)
    if sum(amounts) > 0:
        assert sum(round(10 * float(share)) for _, share in rows[:-1]) == 1000


@settings(max_examples=200, deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=12), decimals=st.integers(0, 3))
def test_rounding_keeps_every_part_within_one_unit(values: list[float], decimals: int) -> None:
    rounded = rounded_to_sum(values, decimals)
    unit = 10.0**-decimals
    assert all(abs(one - other) <= unit * (1 + 1e-6) for one, other in zip(values, rounded, strict=True))
    assert round(sum(rounded) / unit) == round(sum(values) / unit)


def test_ttft_parts_and_slack_add_up_to_the_limit() -> None:
    section = table.to_table(sample.plan_set()).split("Time to first token")[1].split("\n\n")[0]
    rows = re.findall(r"%((?: +[\d.,–]+){6})", section)
    assert len(rows) == 6
    for row in rows:
        queue, fetch, prefill, transfer, total, slack = (
            0.0 if cell == "–" else float(cell.replace(",", "")) for cell in row.split()
        )
        assert round(queue + fetch + prefill + transfer, 1) == total
        assert round(total + slack, 1) == 1500.0


def test_hits_and_misses_add_up_to_the_whole() -> None:
    section = table.to_table(sample.plan_set()).split("  Tiers\n")[1].split("effective")[0]
    shares = [float(row) for row in re.findall(r"(?:TB +|miss +)([\d.]+) %", section)]
    assert round(sum(shares), 1) == 100.0


def test_interaction_is_what_the_shown_cells_give() -> None:
    text = table.to_table(sample.plan_set())
    cells = [float(amount) for amount in re.findall(r"\$([\d.]+)/h", text.split("Do tiers")[1])[:5]]
    base, tiers, apart, both, amount = cells
    assert round(apart + tiers - base - both, 2) == -amount


@pytest.mark.parametrize(
    ("gap", "starts"),
    [
        (0.0, "optimal: proven within 0.00 %"),
        (5e-7, "optimal: proven within 0.00 %"),
        (4e-5, "optimal: proven within 0.01 %"),
        (1.0001e-4, "not proven optimal: a design up to 0.01 % cheaper may exist"),
        (0.0314, "not proven optimal: a design up to 3.14 % cheaper may exist"),
        (float("inf"), "not proven optimal: how much cheaper a design could be is not known"),
    ],
)
def test_optimal_is_said_only_where_it_was_proven(gap: float, starts: str) -> None:
    line = table.certificate_line(Certificate(0.0, 100.0, gap, 1e-4, 2, 0.2, "HiGHS"))
    assert line.startswith(starts)


def test_verified_certificates_say_by_what() -> None:
    proof = replace(sample.certificate(10.0), verified_by=("presolve off", "random seed 7"))
    assert table.certificate_line(proof).endswith("verified by presolve off, random seed 7")


@pytest.mark.parametrize(
    ("plans", "cells", "says"),
    [
        ((sample.colocated(7),), None, "buy no tier, do not disaggregate"),
        ((sample.disaggregated(),), sample.infeasible().cells, "colocated without tiers is not possible: TTFT 612 ms"),
        ((sample.disaggregated(),), (), ""),
        (
            (sample.disaggregated(),),
            (Cell("colocated", False, None, None, "stopped early (time limit)"),),
            "colocated without tiers was not reached: stopped early (time limit)",
        ),
        ((sample.disaggregated(),), (Cell("colocated", False, sample.colocated(3), None),), "68 % above colocated"),
    ],
)
def test_saving_sentence(plans: tuple[object, ...], cells: tuple[Cell, ...] | None, says: str) -> None:
    changes: dict[str, object] = {"plans": tuple(Plan(n, p) for n, p in enumerate(plans, 1))}  # type: ignore[arg-type]
    if cells is not None:
        changes["cells"] = cells
    found = table.saving(sample.plan_set(**changes))
    assert found.startswith(says)
    assert bool(found) == bool(says)


def test_default_prices_are_marked() -> None:
    text = table.to_table(sample.plan_set())
    assert re.search(r"prefill GPUs .*\$2\.80 /GPU·h\*", text)
    assert not re.search(r"dram .*·h\*", text)
    many = tuple((f"engine.key_{n}", str(n)) for n in range(40))
    assert "and 34 more, all in the plan file" in table.to_table(sample.plan_set(defaults=many)).replace("\n    ", " ")


def test_many_paths_show_the_tightest() -> None:
    best = sample.disaggregated()
    paths = tuple(replace(best.paths[0], class_name=f"c{n}", slack_s=1.4 - n / 100) for n in range(30))
    text = table.to_table(sample.plan_set(plans=(Plan(1, replace(best, paths=paths)),)))
    assert "c29" in text
    assert "c1 " not in text
    assert "18 more paths" in text


def test_csv_has_one_row_per_plan_and_no_formulas() -> None:
    best = sample.disaggregated()
    tiers = (replace(best.tiers[1], name="=cmd|'/C calc'!A0"),)
    found = sample.plan_set(plans=(Plan(1, replace(best, tiers=tiers), ("-1+1",)),))
    rows = list(csv.reader(io.StringIO(csv_rows.to_csv(found))))
    assert len(rows) == 2
    assert not any(cell[:1] in ("=", "+", "@") for row in rows for cell in row)
    assert rows[1][rows[0].index("differs_by")] == "'-1+1"
    assert float(rows[1][rows[0].index("usd_per_hour")]) == best.usd_per_hour


def test_json_has_no_nan() -> None:
    best = replace(sample.disaggregated(), tpot_s=float("inf"), usd_per_million_tokens=float("nan"))
    plan = json.loads(data.to_json(sample.plan_set(plans=(Plan(1, best),))))["plans"][0]
    assert plan["tpot_ms"] is None
    assert plan["usd_per_million_tokens"] is None


REFERENCE_KEYS = {
    "": {"schema_version", "scenario", "planner_version", "status", "certificate", "plans", "cells"},
    "scenario": {"name", "sha256", "file"},
    "certificate": {"usd_per_hour_lower_bound", "usd_per_hour", "relative_gap", "rounds", "seconds", "solver"},
    "plans": {
        "rank", "architecture", "usd_per_hour", "usd_per_million_tokens", "costs", "prefill", "decode", "tiers",
        "effective_hit_rate", "ttft", "binding",
    },
    "plans.costs": {"item", "quantity", "unit", "unit_usd_per_hour", "usd_per_hour"},
    "plans.prefill": {"instances", "gpus_per_instance", "parallelism", "nodes", "offered_load", "utilization"},
    "plans.decode": {"instances", "gpus_per_instance", "parallelism", "nodes", "batch", "tpot_ms"},
    "plans.tiers": {
        "name", "role", "capacity_gb", "hit_rate", "cumulative_hit_rate", "read_utilization", "slack_ms",
    },
    "plans.ttft": {
        "class", "path", "probability", "queue_ms", "fetch_ms", "prefill_ms", "transfer_ms", "total_ms", "slack_ms",
    },
    "cells": {"colocated", "disaggregated", "interaction_usd_per_hour", "verdict", "limited_by"},
    "cells.colocated": {"hbm_only", "tiered"},
    "cells.disaggregated": {"hbm_only", "tiered"},
    "cells.disaggregated.tiered": {"usd_per_hour"},
}  # fmt: skip


@pytest.mark.parametrize("path", REFERENCE_KEYS)
def test_plan_file_has_the_keys_that_readers_rely_on(path: str) -> None:
    node = json.loads(data.to_json(sample.plan_set()))
    for key in filter(None, path.split(".")):
        node = node[key]
        node = node[0] if isinstance(node, list) else node
    assert node.keys() >= REFERENCE_KEYS[path]


def test_units_of_the_plan_file() -> None:
    plan = json.loads(data.to_json(sample.plan_set()))["plans"][0]
    assert plan["tiers"][1]["capacity_gb"] == 1536.4
    assert plan["decode"]["tpot_ms"] == pytest.approx(41.2)
    assert plan["ttft"][3]["prefill_ms"] == pytest.approx(889.2)
    assert plan["ttft"][3]["total_ms"] + plan["ttft"][3]["slack_ms"] == pytest.approx(1500)


def test_number_formats() -> None:
    assert [usd(-0.001), usd(1e9), size(1e3), size(2.5e15), size(12)] == [
        "$0.00", "$1,000,000,000.00", "1.00 kB", "2.50 PB", "12 B",
    ]  # fmt: skip
    assert percent(float("nan")) == "– %"
    assert ascii_only("λ → 1.5 TB ≤ 2×8 · 模") == "lambda -> 1.5 TB <= 2x8 . ?"
    assert safe("tab\tnewline\n") == "tab\\tnewline\\n"


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=300), columns=st.integers(2, 60))
def test_wrapped_text_fits_and_loses_nothing(text: str, columns: int) -> None:
    clean = safe(text, 400)
    lines = wrap(clean, columns)
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean.split())


def test_grid_narrows_wrapping_columns_first() -> None:
    laid = grid([Column("name"), Column("why", wrap=True)], [["x" * 20, "word " * 40]])
    assert laid.widths[0] == 20
    assert max(map(len, laid.lines)) <= PAGE_COLUMNS
