"""What a budget is made of: months, years, nodes, memory modules and drives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.plan import CostLine, Evaluation, Pool, TierUse
from planner.report.format import number, quantity, rounded_to_sum, significant, size, usd
from planner.report.html.parts import Table
from planner.scenario import Scenario
from planner.units import GB, GIB

HOURS_PER_MONTH = 730.0  # a twelfth of a year, as clouds bill
HOURS_PER_YEAR = 8760.0
WITH_NODES = "comes with the nodes"


@dataclass(frozen=True)
class Medium:
    """What a tier's capacity is bought as: sizes in bytes, smallest first, and how many fit in one node."""

    piece: str
    sizes: tuple[tuple[float, str], ...]
    per_node: int


DIMM = Medium("DIMM", tuple((gib * GIB, f"{gib} GiB") for gib in (32, 64, 96, 128, 256)), 24)
DRIVE = Medium("drive", tuple((tb * 1000 * GB, f"{tb:g} TB") for tb in (3.84, 7.68, 15.36, 30.72)), 8)
MEDIA = {"dram": DIMM, "cxl": DIMM, "nvme": DRIVE, "ssd": DRIVE, "disk": DRIVE}  # by a part of the tier's name


def per_month(usd_per_hour: float) -> str:
    """Dollars per hour as whole dollars per month.

    >>> per_month(131.1525)
    '$95,741'
    """
    return usd(usd_per_hour * HOURS_PER_MONTH, 0)


def per_year(usd_per_hour: float) -> str:
    """Dollars per hour as whole dollars per year.

    >>> per_year(100)
    '$876,000'
    """
    return usd(usd_per_hour * HOURS_PER_YEAR, 0)


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

    >>> nodes_text(Pool(13, 4, "tp4", 6.5, 52, 52.0), 8)
    '6.5 nodes of 8 GPUs (7 if bought whole)'
    """
    whole = math.ceil(pool.nodes - 1e-9)
    part = "" if abs(whole - pool.nodes) < 1e-9 else f" ({number(whole)} if bought whole)"
    return f"{pool.nodes:.4g} node{'' if pool.nodes == 1 else 's'} of {gpus_per_node} GPUs{part}"


def pieces(tier: TierUse, nodes: float, step_bytes: float | None) -> str:
    """A tier's capacity as pieces to order, the same in every node.

    >>> dram = TierUse("dram", "sync", 11.293e12, 0, 0, 0, 0, 0, 0, 0, "")
    >>> pieces(dram, 6.0, None)
    '6 nodes × 19 DIMMs of 96 GiB = 11.8 TB'
    """
    medium = next((kind for part, kind in MEDIA.items() if part in tier.name.lower()), None)
    hosts = max(1, math.ceil(nodes - 1e-9))
    share = tier.capacity_bytes / hosts
    if step_bytes:
        count = round(tier.capacity_bytes / step_bytes)
        piece = medium.piece if medium else "unit"
        return f"{number(count)} {piece}{'' if count == 1 else 's'} of {size(step_bytes)}"
    if medium is None or share <= 0:
        return f"{size(share)} in each of {hosts} node{'' if hosts == 1 else 's'}"
    fitting = [(amount, name) for amount, name in medium.sizes if math.ceil(share / amount - 1e-9) <= medium.per_node]
    amount, name = fitting[0] if fitting else medium.sizes[-1]
    count = math.ceil(share / amount - 1e-9)
    plural = "" if count == 1 else "s"
    where = "1 node" if hosts == 1 else f"{hosts} nodes"
    return f"{where} × {count} {medium.piece}{plural} of {name} = {size(hosts * count * amount)}"


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
            line.item,
            f"{quantity(line.quantity)} {line.unit}",
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
    return Table("What to buy", titles, tuple(rows), frozenset({1, 2, 3, 4}), totals=1)


def _how(line: CostLine, as_bought: dict[str, str]) -> str:
    if line.item.endswith(" included"):
        return WITH_NODES
    return as_bought.get(line.source_key) or as_bought.get(line.item, "")


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
    plural = "" if pool.instances == 1 else "s"
    return f"{pool.instances} instance{plural} of {pool.gpus_per_instance} ({pool.parallelism})"
