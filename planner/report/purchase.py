"""What a budget is made of: months, years, nodes, memory modules and drives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.plan import CostLine, Evaluation, Pool, TierUse
from planner.report.format import (
    joined,
    number,
    percent,
    quantity,
    rounded_to_sum,
    safe,
    significant,
    size,
    unit_price,
    usd,
)
from planner.report.tabular import HOURS_PER_MONTH, HOURS_PER_YEAR, Table
from planner.scenario import Scenario
from planner.units import GB, GIB

WITH_NODES = "comes with the nodes"
NOTE = (
    "A month is 730 hours, a year 8,760; the price is of the planned quantity. DIMMs and drives are common sizes, the "
    "same in every node, and besides what the host needs itself; step_gb of a tier makes the plan buy whole ones."
)


@dataclass(frozen=True)
class Medium:
    """What a tier's capacity is bought as: sizes in bytes, smallest first, and how many a node may have of them."""

    piece: str
    sizes: tuple[tuple[float, str], ...]
    counts: tuple[int, ...]


# two sockets, both alike: every one of their 8 or 12 memory channels, and drives in pairs
DIMM = Medium("DIMM", tuple((gib * GIB, f"{gib} GiB") for gib in (16, 32, 64, 96, 128, 256)), (16, 24, 32))
DRIVE = Medium("drive", tuple((tb * 1000 * GB, f"{tb:g} TB") for tb in (3.84, 7.68, 15.36, 30.72)), (2, 4, 6, 8))
MEDIA = {"dram": DIMM, "cxl": DIMM, "nvme": DRIVE, "ssd": DRIVE, "disk": DRIVE}  # by a part of the tier's name


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
    whole = math.ceil(pool.nodes - 1e-9)
    if abs(whole - pool.nodes) < 1e-9:
        return f"{_counted(whole, 'node')} of {gpus_per_node} GPUs"
    return f"{pool.nodes:.4g} nodes' worth of GPUs, {_counted(whole, 'node')} of {gpus_per_node} if bought whole"


def pieces(tier: TierUse, nodes: float, step_bytes: float | None) -> str:
    """A tier's capacity as pieces to order, the same in every node; what they hold beyond it.

    >>> dram = TierUse("dram", "sync", 11.293e12, 0, 0, 0, 0, 0, 0, 0, "")
    >>> pieces(dram, 6.0, None)
    '6 nodes × 32 DIMMs of 64 GiB = 13.2 TB (17 % more than planned)'
    """
    medium = next((kind for part, kind in MEDIA.items() if part in tier.name.lower()), None)
    hosts = max(1, math.ceil(nodes - 1e-9))
    share = tier.capacity_bytes / hosts
    if step_bytes:
        piece = medium.piece if medium else "unit"
        return f"{_counted(round(tier.capacity_bytes / step_bytes), piece)} of {size(step_bytes)}"
    if medium is None or share <= 0:
        return f"{size(share)} in each of {_counted(hosts, 'node')}"
    count, amount, name = _fitting(medium, share)
    bought = hosts * count * amount
    over = bought / tier.capacity_bytes - 1
    more = f" ({percent(over)} more than planned)" if over >= 0.005 else ""
    return f"{_counted(hosts, 'node')} × {_counted(count, medium.piece)} of {name} = {size(bought)}{more}"


def _fitting(medium: Medium, share: float) -> tuple[int, float, str]:
    """The least that holds ``share`` bytes in one node: how many, of how many bytes, by what name.

    Of equal totals the smallest pieces: the most bandwidth.
    """
    kinds = [(count, amount, name) for amount, name in medium.sizes for count in medium.counts]
    enough = [kind for kind in kinds if kind[0] * kind[1] >= share * (1 - 1e-9)]
    if not enough:
        amount, name = medium.sizes[-1]
        return math.ceil(share / amount - 1e-9), amount, name
    return min(enough, key=lambda kind: (round(kind[0] * kind[1]), kind[1]))


def _counted(count: int, noun: str) -> str:
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def order(found: Evaluation, scenario: Scenario | None) -> Table:
    """What to buy, line by line, with its price per hour, month and year; each column sums as shown."""
    hourly = [line.usd_per_hour for line in found.costs]
    total = found.usd_per_hour
    columns = [
        rounded_to_sum(hourly, 2, total),
        rounded_to_sum([h * HOURS_PER_MONTH for h in hourly], 0, total * HOURS_PER_MONTH),
        rounded_to_sum([h * HOURS_PER_YEAR for h in hourly], 0, total * HOURS_PER_YEAR),
    ]
    as_bought = _as_bought(found, scenario)
    rows: list[tuple[str, ...]] = [
        (
            safe(line.item, 60),
            f"{quantity(line.quantity)} {safe(line.unit, 20)}",
            usd(columns[1][n], 0),
            usd(columns[2][n], 0),
            usd(columns[0][n]),
            _how(line, as_bought),
        )
        for n, line in enumerate(found.costs)
    ]
    hour, month, year = map(sum, columns)
    rows.append(("total", "", usd(month, 0), usd(year, 0), usd(hour), ""))
    titles = ("item", "quantity", "per month", "per year", "per hour", "as bought")
    return Table("What to buy", titles, tuple(rows), frozenset({1, 2, 3, 4}), totals=1, under=5, stack=True)


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
        step = spec.step_gb * GB if spec.step_gb else None
        texts[f"tiers[{t}].usd_per_gb_hour"] = pieces(tier, found.prefill.nodes, step)
    return texts


def _instances(pool: Pool) -> str:
    return f"{_counted(pool.instances, 'instance')} of {pool.gpus_per_instance} ({safe(pool.parallelism, 60)})"
