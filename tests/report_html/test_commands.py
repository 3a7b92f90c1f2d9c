"""``planner report`` and ``solve --html``, several files side by side, and files that no solve wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.cli import run
from planner.errors import InputError
from planner.plan import Plan
from planner.report import data as plan_json
from planner.report.headline import simplest
from planner.report.html import report_html
from planner.report.html.compare import compare_files, compare_html
from planner.report.markdown import several, to_markdown
from planner.report.reread import read_plan_set, stored_set
from planner.report.services import alternatives, headings
from planner.report.side_by_side import inputs, overview
from planner.scenario import replace as changed
from planner.scenario.schema import Scenario
from tests.report import sample
from tests.report_html import made


def test_several_files_side_by_side() -> None:
    files = [stored_set(made.plan_data(name)) for name in ("chat", "steady", "chat")]
    page = compare_html(files)
    assert "2 services for $" in page
    assert ", the cheapest variant of each" in page
    assert "chat (2)" in page
    assert "<code>workload.<wbr>requests_<wbr>per_<wbr>second</code>" in page
    infeasible = stored_set(json.loads(plan_json.to_json(sample.infeasible())))
    assert "nothing: slo.ttft_ms" in compare_html([files[0], infeasible])
    assert "All inputs are the same" in compare_html([files[0], files[2]])


def test_services_are_summed_and_alternatives_compared() -> None:
    chat, steady = (stored_set(made.plan_data(name)) for name in ("chat", "steady"))
    total = sum(s.plan_set.plans[0].evaluation.usd_per_hour for s in (chat, steady)) * 730
    head, lead = headings([chat, steady])
    assert head == f"2 services for ${total:,.0f} a month"
    assert f"${total * 12:,.0f} a year" in lead
    table = overview([chat, steady])
    assert table.rows[-1][:2] == ("together", f"${total:,.0f}")
    assert "against the first" not in table.titles
    first = chat.plan_set.plans[0]
    dear = replace(chat.plan_set, plans=(_costing(first, 2 * first.evaluation.usd_per_hour),))
    rivals = [chat, replace(chat, plan_set=dear)]
    assert headings(rivals)[0].startswith("chat costs $")
    assert headings(rivals)[0].endswith("(50.0 %) less than chat (2)")
    assert overview(rivals).rows[1][3] == "+100.0 %"
    assert all(
        len(row) == len(overview(files).titles) for files in ([chat, steady], rivals) for row in overview(files).rows
    )


def test_services_that_differ_in_load_are_summed_not_chosen_from() -> None:
    one, more = (stored_set(made.plan_data("chat")) for _ in range(2))
    assert alternatives([one, more])
    assert more.scenario is not None
    grown = replace(more, scenario=changed(more.scenario, {"workload.requests_per_second": 27.0}))
    assert not alternatives([one, grown])
    assert headings([one, grown])[0].startswith("2 services for $")
    assert overview([one, grown]).rows[-1][0] == "together"


def test_services_are_rounded_by_themselves_and_the_saving_of_all_is_shown() -> None:
    costs = [100_873.45 / 730, 84_138.40 / 730]  # rounded one by one they sum to a dollar less
    files = [
        replace(s, plan_set=replace(s.plan_set, plans=(_costing(s.plan_set.plans[0], cost),)))
        for s, cost in zip((stored_set(made.plan_data(n)) for n in ("chat", "steady")), costs, strict=True)
    ]
    table = overview(files)
    assert [row[1] for row in table.rows] == ["$100,873", "$84,138", "$185,012"]
    assert "rounded" in table.caption
    base = sum(b.usd_per_hour for s in files if (b := simplest(s.plan_set)))
    share = 1 - sum(costs) / base
    assert share > 0.1
    assert table.rows[-1][4] == f"{100 * share:.1f} %"
    assert table.rows[-1][-1].endswith(" GPUs")
    assert f"({100 * share:.1f} %) less than their simplest deployments" in headings(files)[1]


def _costing(plan: Plan, usd_per_hour: float) -> Plan:
    return replace(plan, evaluation=replace(plan.evaluation, usd_per_hour=usd_per_hour))


def test_each_plan_has_its_hash_proof_and_versions_on_the_page() -> None:
    files = []
    for n in range(8):
        data = made.plan_data("chat")
        data["scenario"]["sha256"] = hashlib.sha256(bytes([n])).hexdigest()
        data["certificate"]["relative_gap"] = n / 1000
        files.append(stored_set(data))
    page, text = compare_html(files).replace("<wbr>", ""), several(files)
    for n, stored in enumerate(files):
        assert stored.plan_set.scenario_sha256 in page
        assert stored.plan_set.scenario_sha256 in text
        assert f"{n / 10:.4f} %" in page.replace("\u00a0", " ")
    bound = files[0].plan_set.certificate
    assert bound is not None
    assert f"${bound.usd_per_hour_lower_bound:,.4f}/h" in page
    assert "HiGHS" in page[page.index('<section id="proof">') :]


def test_one_input_that_differs_is_one_input() -> None:
    one = stored_set(made.plan_data("chat"))
    assert one.scenario is not None
    other = replace(one, scenario=changed(one.scenario, {"slo.tpot_ms": 61.0}))
    found = inputs([one, other])
    assert found is not None
    assert found[0].caption == "1 input of the scenarios differs"


def test_markdown_has_months_and_several_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("chat", "steady")
    paths = [tmp_path / f"{name}.json" for name in names]
    for name, path in zip(names, paths, strict=True):
        path.write_text(made.plan_text(name), encoding="utf-8")
    assert run(["report", *map(str, paths), "-f", "md"]) == 0
    text = capsys.readouterr().out
    assert "2 services for $" in text
    assert "| chat | $" in text
    assert "| workload.requests\\_per\\_second |" in text
    plan = made.plan_data("chat")["plans"][0]
    one = to_markdown(stored_set(made.plan_data("chat")).plan_set, stored_set(made.plan_data("chat")))
    assert f"${plan['usd_per_hour'] * 730:,.0f} a month, ${plan['usd_per_hour'] * 8760:,.0f} a year" in one
    assert "nodes × " in one
    assert "| nvme | unused | – |" in one
    assert "0 GB" not in one


def test_scenarios_and_plan_files_are_compared(tmp_path: Path) -> None:
    plans = tmp_path / "plans.json"
    plans.write_text(made.plan_text("steady"), encoding="utf-8")
    page = compare_files([plans, made.SCENARIOS / "steady.yaml"])
    for name in ("steady (plans.json)", "steady (steady.yaml)"):  # two of one name are told apart by their files
        assert name in page
    assert "All inputs are the same" in page


BAD: list[Any] = [None, -1, 0, 1e300, "<b>", [], {}, True]


def test_files_that_no_solve_wrote_are_refused_or_shown_but_never_crash(tmp_path: Path) -> None:
    text = made.plan_text("chat")
    target = tmp_path / "plans.json"
    alike = {("plans", n) for n in (2, 3, 4)}
    paths = [p for p in _paths(json.loads(text)) if p and "resolved" not in p and p[:2] not in alike]
    refused = 0
    for n, path in list(enumerate(paths))[::3]:
        target.write_text(json.dumps(_with(json.loads(text), BAD[n % len(BAD)], *path)), encoding="utf-8")
        try:
            assert report_html(read_plan_set(target))
        except InputError as error:
            refused += str(target) in str(error)
    assert refused > 100


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*path, key))


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plans = tmp_path / "plans.json"
    plans.write_text(made.plan_text("chat"), encoding="utf-8")
    assert run(["report", str(plans)]) == 0
    assert f"written: {tmp_path / 'report.html'}" in capsys.readouterr().err
    stored = read_plan_set(plans)
    assert run(["report", str(plans), "--format", "md"]) == 0
    assert capsys.readouterr().out == to_markdown(stored.plan_set, stored)
    svg = tmp_path / "curve.svg"
    svg.write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    assert run(["report", str(plans), "--picture", str(svg), "-o", str(tmp_path / "p.html")]) == 0
    assert "data:image/svg+xml;base64," in (tmp_path / "p.html").read_text(encoding="utf-8")
    assert run(["report", str(plans), "-o", str(tmp_path / "beside.html")]) == 0  # found beside the plan file
    assert (tmp_path / "beside.html").read_bytes() == (tmp_path / "p.html").read_bytes()
    capsys.readouterr()
    for wrong, said in (
        (["--with", "tornados"], "there is"),
        (["--picture", str(plans)], "not an SVG"),
        (["-o", str(tmp_path / "none" / "x.html")], "its folder does not exist"),
    ):
        assert run(["report", str(plans), *wrong]) == 2
        assert said in capsys.readouterr().err


def test_solve_writes_the_same_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["solve", str(made.SCENARIOS / "steady.yaml"), "--html", "-q", "-o", "answer.txt"]) == 0
    assert run(["report", "reports/steady/plans.json", "-o", "again.html", "-q"]) == 0
    written = Path("reports/steady/report.html").read_text(encoding="utf-8")
    assert written == Path("again.html").read_text(encoding="utf-8")
    assert Scenario.__name__ not in written


def _without(data: Any, *path: Any) -> Any:
    *way, last = path
    holder = data
    for key in way:
        holder = holder[key]
    del holder[last]
    return data


def _with(data: Any, value: Any, *path: Any) -> Any:
    *way, last = path
    holder = data
    for key in way:
        holder = holder[key]
    holder[last] = value
    return data


def test_a_wrong_file_is_told_what_is_wrong_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat = lambda: made.plan_data("chat")  # noqa: E731
    whole = made.plan_text("chat")
    cases: list[tuple[str, str]] = [
        ("", "it is empty"),
        ("[1, 2]", "it is a list of 2 entries where an object belongs"),
        ("{}", "it has no key 'scenario'; its keys are none"),
        ('{"results": [], "host": "x"}', "its keys are results, host"),
        (whole[: len(whole) // 2], "the file is cut off"),
        (made.plan_text("chat").replace(",", ";"), "it is not JSON"),
        ('{"kind": "sweep", "rows": []}', "written by planner sweep, not by planner solve"),
        ('{"kind": "budget"}', "written by planner budget"),
        (json.dumps(_without(chat(), "plans", 0, "costs")), "plans[0] has no key 'costs'"),
        (json.dumps(_without(chat(), "plans", 0, "decision", "roles")), "plans[0].decision has no key 'roles'"),
        (json.dumps(_with(chat(), "24", "plans", 0, "costs", 1, "quantity")),
         'plans[0].costs[1].quantity is "24" where a number belongs'),
        (json.dumps(_with(chat(), 5, "plans", 0, "decision", "roles")), "plans[0].decision does not fit"),
        (json.dumps(_with(chat(), "x", "scenario", "resolved", "slo", "ttft_ms")), "scenario.resolved.slo.ttft_ms"),
        (json.dumps(_with(chat(), 2, "schema_version")), "of a newer planner"),
        (json.dumps(_with(chat(), 0, "schema_version")), "schema_version is 0; the first one is 1"),
        (json.dumps(_with(chat(), -5.0, "plans", 0, "usd_per_hour")), "usd_per_hour is -5: no cost is negative"),
        (json.dumps(_with(chat(), -5.0, "plans", 1, "costs", 0, "usd_per_hour")), "plans[1].costs[0] is negative"),
        (json.dumps(_with(chat(), 99.0, "plans", 0, "usd_per_hour")), "is 99.000000, and its lines sum to 1"),
        (json.dumps(_with(chat(), 1.0, "plans", 0, "costs", 0, "quantity")), "not its quantity times its unit price"),
        (json.dumps(_with(chat(), 1.0, "cells", "colocated", "tiered", "usd_per_hour")), "cells.colocated.tiered.usd"),
        (json.dumps(_with(chat(), 900.0, "certificate", "usd_per_hour_lower_bound")), "above the cost of the first"),
        (json.dumps(_with(chat(), 50.0, "certificate", "usd_per_hour_lower_bound")), "certificate.relative_gap is "),
        (json.dumps(_with(chat(), None, "certificate", "usd_per_hour_lower_bound")), "lower_bound is null, and"),
    ]  # fmt: skip
    target = tmp_path / "plans.json"
    for text, said in cases:
        target.write_text(text, encoding="utf-8")
        assert run(["report", str(target)]) == 2
        shown = capsys.readouterr().err
        assert said in shown, shown
        assert str(target) in shown
        assert "planner solve SCENARIO" in shown
        assert not any(word in shown for word in ("Error", "object is not", "Traceback"))
    assert not (tmp_path / "report.html").exists()
