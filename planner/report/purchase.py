"""What a budget is made of: months, years, nodes, memory modules and drives."""

from __future__ import annotations

from planner.plan import CostLine, Evaluation, Pool
from planner.report.format import (
    joined,
    quantity,
    safe,
    significant,
    unit_price,
)
from planner.report.study_common import counted
from planner.report.tabular import Table, per_month, per_year
from planner.report.whole import ordered, whole
from planner.scenario import Scenario

WITH_NODES = "comes with the nodes"
NOTE = (
    "A month is 730 hours, a year 8,760; the prices in the table are of the planned quantity. DIMMs and drives are "
    "common sizes, the same in every node that prefills, and besides what the host needs itself."
)


def short_usd(value: float) -> str:
    """Dollars to three digits, for labels.

    >>> short_usd(95741), short_usd(1_148_900), short_usd(12.3)
    ('$95.7k', '$1.15M', '$12.3')
    """
    for unit, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * unit:
            return f"${significant(value / unit)}{letter}"
    return f"${significant(value)}"


def nodes_text(pool: Pool, gpus_per_node: int) -> str:
    """A pool's nodes, whole ones where it has a part of one.

    >>> nodes_text(Pool(13, 4, "tp4", 6.5, 52, 52.0), 8), nodes_text(Pool(6, 8, "tp8", 6.0, 48, 48.0), 8)
    ("6.5 nodes' worth of GPUs, 7 nodes of 8 if bought whole", '6 nodes of 8 GPUs')
    """
    nodes = whole(pool.nodes)
    if abs(nodes - pool.nodes) < 1e-9:
        return f"{counted(nodes, 'node')} of {gpus_per_node} GPUs"
    return f"{pool.nodes:.4g} nodes' worth of GPUs, {counted(nodes, 'node')} of {gpus_per_node} if bought whole"


def order(found: Evaluation, scenario: Scenario | None) -> Table:
    """What it takes, line by line, with its price per month and year, each rounded by itself: one price everywhere."""
    as_bought = _as_bought(found, scenario)
    rows: list[tuple[str, ...]] = [
        (safe(line.item, 60), f"{quantity(line.quantity)} {safe(line.unit, 20)}", per_month(line.usd_per_hour),
         per_year(line.usd_per_hour), _how(line, as_bought))
        for line in found.costs
    ]  # fmt: skip
    rows.append(("total", "", per_month(found.usd_per_hour), per_year(found.usd_per_hour), ""))
    titles = ("item", "quantity", "per month", "per year", "as bought")
    return Table(
        "What it takes (each price rounded)", titles, tuple(rows), frozenset({1, 2, 3}), totals=1, under=4, stack=True
    )


def _how(line: CostLine, as_bought: dict[str, str]) -> str:
    if line.item.endswith(" included"):
        return WITH_NODES
    price = f"at {unit_price(line.unit_usd_per_hour, safe(line.unit, 20))}"
    return joined([as_bought.get(line.source_key) or as_bought.get(line.item, ""), price], "; ")


def _as_bought(found: Evaluation, scenario: Scenario | None) -> dict[str, str]:
    """Per cost line, by its price key or its name: nodes of a pool, pieces of a tier."""
    if scenario is None:
        return {}
    per_node = scenario.deployment.gpus_per_node
    named = {"prefill GPUs": found.prefill, "decode GPUs": found.decode, "GPUs": found.prefill}
    texts = {item: f"{_instances(pool)}: {nodes_text(pool, per_node)}" for item, pool in named.items() if pool}
    for t, (tier, spec) in enumerate(zip(found.tiers[1:], scenario.tiers, strict=False)):
        texts[f"tiers[{t}].usd_per_gb_hour"] = ordered(tier, spec, found.prefill.nodes).text
    return texts


def _instances(pool: Pool) -> str:
    return f"{counted(pool.instances, 'instance')} of {pool.gpus_per_instance} ({safe(pool.parallelism, 60)})"
