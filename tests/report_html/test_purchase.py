"""What it takes, line by line and bought whole; whether the two levers add up; all in dollars a month."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from planner.plan import Cell, CostLine, Limit, LoadPoint, PlanSet, TierUse, Verdict
from planner.report import together
from planner.report.change import changes
from planner.report.markdown import to_markdown
from planner.report.purchase import order
from planner.report.reread import StoredSet, stored_set
from planner.report.whole import bought_whole, goods
from planner.scenario import replace as changed
from tests.report import sample
from tests.report_html import made


def tier(name: str, size_tb: float) -> TierUse:
    return TierUse(name, "sync", size_tb * 1e12, 0, 0, 0, 0, 0, 0, 0, "")


@pytest.fixture(scope="module")
def chat() -> StoredSet:
    return stored_set(made.plan_data("chat"))


def test_one_plan_has_one_price_everywhere(chat: StoredSet) -> None:
    for plan in chat.plan_set.plans:
        table = order(plan.evaluation, chat.scenario)
        assert "rounded" in table.caption
        for line, row in zip(plan.evaluation.costs, table.rows, strict=False):
            assert row[2:4] == (f"${line.usd_per_hour * 730:,.0f}", f"${line.usd_per_hour * 8760:,.0f}")
        assert table.rows[-1][2] == f"${plan.evaluation.usd_per_hour * 730:,.0f}"


def test_capacity_is_rounded_up_to_whole_pieces() -> None:
    assert goods(tier("nvme", 20.0), 2.5, 3.84e12).text == "5 drives of 3.84 TB"
    assert goods(tier("nvme", 20.0), 2.5, None).text == (
        "3 nodes × 2 drives of 3.84 TB = 23.0 TB (15 % more than planned)"
    )
    assert goods(tier("dram", 0.01), 1.0, None).text.startswith("1 node × 8 DIMMs of 16 GiB = 137 GB")
    assert goods(tier("dram", 11.293), 6.0, None).text.startswith("6 nodes × 16 DIMMs of 128 GiB = 13.2 TB")
    assert goods(tier("dram", 24.7), 10.0, None).text.startswith(
        "10 nodes × 24 DIMMs of 96 GiB"
    )  # 12 channels a socket
    assert goods(tier("object-store", 3.0), 3.0, None).text == "1.00 TB in each of 3 nodes"
    line = CostLine("dram included", 1.0, "GB", 0.0, 0.0, "tiers[0].usd_per_gb_hour")
    assert "comes with the nodes" in str(order(replace(sample.disaggregated(), costs=(line,)), None).rows)


@pytest.mark.parametrize("share_tb", [0.3, 1.0, 1.6, 1.753, 1.85, 1.9])
def test_pieces_stay_within_what_a_node_may_hold_and_leave_slots_to_the_host(share_tb: float) -> None:
    found = goods(tier("dram", 12 * share_tb), 11.5, None, 2e12)
    assert found.size_bytes is not None
    assert share_tb <= found.size_bytes / 12 / 1e12 <= 2.0
    count = int(re.findall(r"× (\d+) DIMMs", found.text)[0])
    assert count <= 24
    assert count % 2 == 0  # both sockets alike


def test_what_no_whole_pieces_hold_is_said() -> None:
    found = goods(tier("dram", 11.99), 6.0, None, 2e12)
    assert found.size_bytes is None
    assert found.text == "2.00 TB in each of 6 nodes: no whole DIMMs hold it within 2.00 TB a node"
    assert goods(tier("dram", 90.0), 1.0, None).text == (
        "90.0 TB in each of 1 node: no whole DIMMs hold it in one node"
    )


def test_bought_whole_is_priced_and_names_the_keys(chat: StoredSet) -> None:
    scenario, best = chat.scenario, chat.plan_set.plans[0].evaluation
    assert scenario is not None
    assert best.decode is not None
    hosts, others = math.ceil(best.prefill.nodes), math.ceil(best.decode.nodes)
    dram = goods(best.tiers[1], best.prefill.nodes, None, 2e12).size_bytes
    assert dram is not None
    price = (hosts + others) * 8 * 1.74 + dram * 0.00052 / 1e9
    said = bought_whole(best, scenario)
    assert said.startswith(f"Bought whole: ${price * 730:,.0f} a month, ${price * 8760:,.0f} a year")
    assert f"{hosts + others} nodes of 8 GPUs, {hosts} to prefill and {others} to decode, none shared" in said
    assert "tiers[dram].step_gb" in said
    if best.prefill.nodes + best.decode.nodes < hosts + others:
        assert "deployment.billing: node" in said
    assert said in to_markdown(chat.plan_set, chat).replace("\\", "")
    assert "Bought whole: $" in made.page_of(made.plan_data("chat"))
    by_node = changed(scenario, {"deployment.billing": "node", "tiers[0].included_gb_per_node": 2000.0})
    brought = bought_whole(best, by_node)
    assert f"${(hosts + others) * 8 * 1.74 * 730:,.0f} a month" in brought  # what comes with the nodes costs nothing
    assert "step_gb" not in brought


def test_pools_that_could_share_a_node(chat: StoredSet) -> None:
    best = chat.plan_set.plans[0].evaluation
    assert best.decode is not None
    halves = replace(
        best, prefill=replace(best.prefill, nodes=3.5), decode=replace(best.decode, nodes=1.5), tiers=best.tiers[:1]
    )
    said = bought_whole(halves, chat.scenario)
    assert (
        f"6 nodes of 8 GPUs, 4 to prefill and 2 to decode, none shared (sharing one would save ${8 * 1.74 * 730:,.0f}"
        in (said)
    )


def _set(costs: tuple[float, ...], word: Any, explanation: str, points: tuple[float, ...] = ()) -> PlanSet:
    keys = (("colocated", False), ("disaggregated", False), ("colocated", True), ("disaggregated", True))
    one = sample.disaggregated()
    cells = tuple(
        Cell(a, t, replace(one, usd_per_hour=c), None)
        for (a, t), c in zip(keys, costs, strict=True)  # type: ignore[arg-type]
    )
    extra = costs[1] + costs[2] - costs[0] - costs[3]
    near = tuple(LoadPoint(0.95 + 0.05 * n, p) for n, p in enumerate(points))
    verdict = Verdict(word, extra, 0.0, 0.0, 0.0, ("hits",), near, (), explanation)
    return replace(sample.plan_set(), cells=cells, verdict=verdict)


def test_combining_is_told_in_months_that_add_up() -> None:
    told = "Together they save $50.00/h. dram is prefetch-only when disaggregated: the transfer takes 40 ms."
    found = _set((100.0, 80.0, 90.0, 75.0), "offset", told, (-5.0, -5.0, -4.0))
    said = together.sentences(found)
    assert said == [
        "Against colocated without tiers ($73,000 a month), disaggregation alone saves $14,600, tiers alone save "
        "$7,300, both together save $18,250 a month.",
        "Together they save $3,650 a month less than the two savings added up: in part both save the same GPUs.",
        "What decides: with higher hit rates, another design would be cheaper.",
        "Dram is prefetch-only when disaggregated: the transfer takes 40 ms.",
    ]
    assert together.span(found) == "At 95 to 105 % of this load: −$3,650 to −$2,920 a month."
    near = together.points(found)
    assert near is not None
    assert [row[1] for row in near.rows] == ["−$3,650", "−$3,650", "−$2,920"]
    shown = made.page_of_set(found) + to_markdown(found)
    for jargon in ("-bound", "offset", "$5.00/h", "/h "):
        assert jargon not in shown[shown.index("Do tiers and") : shown.index("<h2>Assumptions")], jargon


def test_the_same_amount_is_shown_once_rounded() -> None:
    found = _set((100.0006, 80.0, 90.0, 75.0), "offset", "", (-5.0, -5.0, -5.0))
    near = together.points(found)
    assert near is not None
    assert f"save ${-float(near.rows[1][1].replace('−$', '-').replace(',', '')):,.0f} a month less" in together.beyond(
        found
    )


def test_nothing_is_said_of_an_interaction_of_nothing() -> None:
    found = _set(
        (10.0, 10.0, 10.0, 10.0), "inconclusive", "Neither … alone or together: inconclusive.", (0.0, 0.0, 0.0)
    )
    assert together.span(found) == ""
    assert together.points(found) is None
    assert together.sentences(found) == ["Neither disaggregation nor tiers save anything here, alone or together."]
    said = dict(changes(StoredSet(found, None, "")))
    assert not any("$0" in text for text in said.values())


def test_an_open_verdict_says_why() -> None:
    small = _set((10.0, 9.0, 9.0, 7.5), "inconclusive", "…, less than one instance ($14.00/h): inconclusive.", (0.5,))
    assert together.beyond(small) == (
        "together they save $365 a month more than the two savings added up, but one instance costs more than that: "
        "whether each makes the other worth more is not settled."
    )
    turns = _set((10.0, 9.0, 9.0, 7.5), "inconclusive", "the sign does not hold within 5 %", (0.5, 0.5, -0.5))
    assert "at 5 % more or less load that does not hold" in together.beyond(turns)


def test_first_screens_know_no_hours_and_one_way_of_writing(chat: StoredSet) -> None:
    second = replace(chat.plan_set.plans[1], differs_by=("dram 7.4 TB", "prefill 13×4 tp4·etp4"))
    limit = Limit("hits", "every hit rate a tenth higher", 1.0, True, "disaggregated, 11 x tp4·etp4, dram sync")
    assert chat.plan_set.verdict is not None
    found = replace(
        chat.plan_set, plans=(chat.plan_set.plans[0], second), verdict=replace(chat.plan_set.verdict, limits=(limit,))
    )
    stored = replace(chat, plan_set=found)
    page = made.page_of_set(found, stored).replace("\u00a0", " ")
    first = page[page.index('<section id="answer">') : page.index('<section id="costs">')]
    assert "an hour" not in first
    assert not re.search(r"\$[\d.,]+/h", first)
    assert "dram 7.40 TB; prefill 13×4 tp4·etp4" in first
    assert "disaggregated, 11×4 tp4·etp4, dram sync" in first
    assert "7.4 TB" not in page.replace(str(chat.text), "")
    assert "HBM only" not in page


def test_an_early_stop_is_told_once() -> None:
    warnings = (
        "stopped early (interrupted): plans may be improved on within the gap shown",
        "stopped early (interrupted): whether combining pays was not found out",
    )
    stored = StoredSet(replace(sample.plan_set(), warnings=warnings), None, "")
    assert changes(stored)[0] == (
        "Stopped early",
        "(interrupted): plans may be improved on within the gap shown; whether combining pays was not found out.",
    )


def test_equal_times_look_equal(chat: StoredSet) -> None:
    from planner.report.sections import ttft as terminal
    from planner.report.tabular import ttft

    best = chat.plan_set.plans[0].evaluation
    path = replace(best.paths[0], queue_s=0.12199, fetch_s=0.0, prefill_s=0.15774, transfer_s=0.04733, total_s=0.32706)
    other = replace(path, path="hbm", prefill_s=0.06161, total_s=0.23093)
    found = replace(best, paths=(path, other))
    assert [row[6] for row in ttft(found).rows] == ["47.3", "47.3"]
    assert [row[7] for row in ttft(found).rows] == ["327.1", "230.9"]
    assert "rounded" in ttft(found).caption
    assert all("47.3" in line for line in terminal(found)[2:4])
