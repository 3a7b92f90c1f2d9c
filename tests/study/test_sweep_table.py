"""What a sweep varies and writes: values as a file may give them, and columns that do not depend on what comes out."""

from __future__ import annotations

import csv
import io

import pytest

from planner.cells import SolveSettings
from planner.errors import InputError
from planner.physics.system import System
from planner.report import study_sweep as render
from planner.scenario import loads, replace
from planner.study.points import cheapest
from planner.study.row import plan_columns, plan_row
from planner.study.sets import grid, parse_setting
from planner.study.sweep import sweep


def swept(scenario, *texts):
    return sweep(scenario, list(grid([parse_setting(t, scenario) for t in texts])))


def alone(text, file="chat.yaml"):
    loaded = loads(text, file)
    return cheapest(System(loaded), SolveSettings(loaded.solve.gap)).usd_per_hour


def test_values_by_name_are_those_of_a_file(scenario, path):
    chat, text = scenario("chat"), path("chat").read_text()
    found = swept(chat, "prices.gpu_usd_per_hour=reserved_1y,on_demand,2")
    assert [row["prices.gpu_usd_per_hour"] for row in found.rows] == ["reserved_1y", "on_demand", 2.0]
    for row in found.rows:
        price = row["prices.gpu_usd_per_hour"]
        priced = replace(chat, {"prices.gpu_usd_per_hour": 2.8 if price == "reserved_1y" else 2.0})
        if price != "on_demand":
            best = cheapest(System(priced), SolveSettings(chat.solve.gap)).usd_per_hour
            assert row["usd_per_hour"] == pytest.approx(best, rel=2e-4)
    models = swept(chat, "model=qwen3-235b-a22b-fp8,gpt-oss-120b,nobody")
    assert [row["status"] for row in models.rows] == ["optimal", "optimal", "invalid"]
    other = text.replace("model: qwen3-235b-a22b-fp8", "model: gpt-oss-120b")
    assert other != text
    assert models.rows[1]["usd_per_hour"] == pytest.approx(alone(other), rel=2e-4)
    assert "nobody" in models.rows[2]["why"]


def test_engines_by_name(scenario):
    found = swept(scenario("chat"), "engine.timing=vllm-0.31,vllm,sglang-0.5.14,nothing")
    assert [row["status"] for row in found.rows] == ["optimal", "optimal", "optimal", "invalid"]
    costs = [row["usd_per_hour"] for row in found.rows[:3]]
    assert costs[0] == costs[1] != costs[2]
    with pytest.raises(InputError, match="nothing"):
        swept(scenario("chat"), "engine.timing=nothing")


def test_an_optional_value_may_be_left_open(scenario):
    chat = scenario("chat")
    assert parse_setting("tiers[nvme].dwpd=none,1", chat).values == (None, 1.0)
    assert parse_setting("engine.correction=none", chat).values == ("none",)  # a word of its own there
    worn, free = (r["usd_per_hour"] for r in swept(chat, "tiers[nvme].dwpd=1,none").rows)
    assert free < worn
    with pytest.raises(InputError):
        parse_setting("slo.ttft_ms=none", chat)


@pytest.mark.parametrize("text", ["solve.gap=1e-3,1e-4", "solve.time_limit_s=1,2", "name=a,b"])
def test_what_decides_no_plan_is_not_varied(text, scenario):
    with pytest.raises(InputError, match="how"):
        parse_setting(text, scenario("chat"))


def test_what_is_ignored_is_said(invoke, path):
    common = ("sweep", path("rag"), "--no-cache", "-f", "json")
    assert "mfu has no effect" in invoke(*common, "--set", "engine.roofline.mfu=0.3,0.4").err
    both = invoke(*common, "--set", "engine.roofline.mfu=0.4", "--set", "engine.timing=roofline")
    assert "no effect" not in both.err
    assert "step is ignored" in invoke(*common, "--set", "slo.ttft_ms=2000:3000:100", "--sample", 2).err
    assert "ignored" not in invoke(*common, "--set", "slo.ttft_ms=2000:3000", "--sample", 2).err


def test_columns_do_not_depend_on_the_rows(scenario, invoke, path, tmp_path):
    rag = scenario("rag")
    best = cheapest(System(rag), SolveSettings(rag.solve.gap)).plan
    assert list(plan_row(best)) == list(plan_columns([t.name for t in rag.tiers]))
    heads = []
    for values in ("2000,2100", "1,2000", "1,2", "-1,2000"):
        rows = list(csv.reader(io.StringIO(render.to_csv(swept(rag, f"slo.ttft_ms={values}")))))
        heads.append(rows[0])
        assert {len(row) for row in rows} == {len(rows[0])}
    assert heads.count(heads[0]) == 4
    assert {"slo.ttft_ms", "status", "usd_per_hour", "dram_role", "nvme_capacity_gb", "why"} <= set(heads[0])
    parquet = pytest.importorskip("pyarrow.parquet")
    schemas = []
    for name, values in (("a", "2000,2100"), ("b", "1,2")):
        invoke("sweep", path("rag"), "--set", f"slo.ttft_ms={values}", "-o", tmp_path / f"{name}.parquet")
        schemas.append(parquet.read_schema(tmp_path / f"{name}.parquet"))
    assert schemas[0].equals(schemas[1])
    assert schemas[0].names == heads[0]


def test_the_table_says_what_is_in_it(scenario):
    rag = scenario("rag")
    same = swept(rag, "prices.gpu_usd_per_hour=x1,x1.01")
    assert "design changes" not in render.to_table(same) + render.to_markdown(same)
    mixed = swept(rag, "slo.ttft_ms=-1,1,2000")
    for text in (render.to_table(mixed), render.to_markdown(mixed)):
        assert "* the design changes" in text.replace("\\", "")
        assert "infeasible: no design keeps every promise" in text
    assert "why" not in mixed.rows[1]
    assert ", 1 invalid (" in render.summary_line(mixed)
    assert render.to_data(mixed)["invalid"] == 1


def test_words_stay_whole_with_four_keys(scenario):
    sets = ("slo.ttft_ms=1,1500", "slo.tpot_ms=60", "prices.gpu_usd_per_hour=1.74", "workload.requests_per_second=40")
    lines = render.to_table(swept(scenario("chat"), *sets)).splitlines()
    assert all(len(line) <= 100 for line in lines)
    words = " ".join(lines).split()
    assert "disaggregated" in words
    assert "infeasible" in words


@pytest.mark.parametrize("name", ["a.xlsx", "a.html", "a.PDF"])
def test_only_text_is_written(name, invoke, path, tmp_path):
    for command in (("sweep", path("rag"), "--set", "slo.ttft_ms=2000"), ("budget", path("rag"))):
        done = invoke(*command, "-o", tmp_path / name)
        assert done.code == 2
        assert ".csv" in done.err
        assert not (tmp_path / name).exists()
    assert invoke("budget", path("rag"), "-o", tmp_path / "a.parquet").code == 2
