"""A plan as it is bought where nothing comes in parts: whole nodes, memory modules and drives, and their price."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.physics.cost import rent_usd_per_hour
from planner.plan import Evaluation, TierUse
from planner.report.format import percent, safe, size
from planner.report.study_common import counted
from planner.report.tabular import per_month, per_year
from planner.scenario import Scenario
from planner.scenario.schema import TierSpec
from planner.units import GB, GIB

SAME = 5e-4  # relative: shown as no difference


@dataclass(frozen=True)
class Medium:
    """What a tier's capacity is bought as: sizes in bytes, smallest first, and how many of them a node may have.

    ``counts`` are tried first; ``uneven`` ones only where those do not fit in what a node may hold.
    """

    piece: str
    sizes: tuple[tuple[float, str], ...]
    counts: tuple[int, ...]
    uneven: tuple[int, ...] = ()


# Two sockets, both alike. Of their 32 slots the host keeps at least 8 for its own memory; 8, 16 and 24 modules load
# the memory channels alike. Drives come in pairs.
DIMM = Medium(
    "DIMM",
    tuple((gib * GIB, f"{gib} GiB") for gib in (16, 32, 64, 96, 128, 256)),
    (8, 16, 24),
    tuple(range(2, 25, 2)),
)
DRIVE = Medium("drive", tuple((tb * 1000 * GB, f"{tb:g} TB") for tb in (3.84, 7.68, 15.36, 30.72)), (2, 4, 6, 8))
MEDIA = {"dram": DIMM, "cxl": DIMM, "nvme": DRIVE, "ssd": DRIVE, "disk": DRIVE}  # by a part of the tier's name


@dataclass(frozen=True)
class Goods:
    """A tier's capacity as it is ordered; ``size_bytes`` is None where no whole pieces hold it."""

    text: str
    size_bytes: float | None


def goods(tier: TierUse, nodes: float, step_bytes: float | None, limit_bytes: float = math.inf) -> Goods:
    """Pieces to order, the same in every node and at most ``limit_bytes`` in each; what they hold beyond the plan.

    >>> dram = TierUse("dram", "sync", 11.293e12, 0, 0, 0, 0, 0, 0, 0, "")
    >>> goods(dram, 6.0, None).text
    '6 nodes × 16 DIMMs of 128 GiB = 13.2 TB (17 % more than planned)'
    >>> goods(dram, 6.0, None, 2e12).text
    '6 nodes × 14 DIMMs of 128 GiB = 11.5 TB (2 % more than planned)'
    """
    medium = next((kind for part, kind in MEDIA.items() if part in tier.name.lower()), None)
    hosts, planned = whole(nodes), tier.capacity_bytes
    if step_bytes:
        piece = medium.piece if medium else "unit"
        return Goods(f"{counted(round(planned / step_bytes), piece)} of {size(step_bytes)}", planned)
    if medium is None or planned <= 0:
        return Goods(f"{size(planned / hosts)} in each of {counted(hosts, 'node')}", planned)
    found = _fitting(medium, planned / hosts, limit_bytes)
    if found is None:
        within = f"within {size(limit_bytes)} a node" if math.isfinite(limit_bytes) else "in one node"
        text = f"{size(planned / hosts)} in each of {counted(hosts, 'node')}: no whole {medium.piece}s hold it {within}"
        return Goods(text, None)
    count, amount, name = found
    bought = hosts * count * amount
    over = bought / planned - 1
    more = f" ({percent(over)} more than planned)" if over >= 0.005 else ""
    return Goods(f"{counted(hosts, 'node')} × {counted(count, medium.piece)} of {name} = {size(bought)}{more}", bought)


def _fitting(medium: Medium, share: float, limit: float) -> tuple[int, float, str] | None:
    """The least that holds ``share`` bytes in one node: how many, of how many bytes, by what name.

    Of equal totals the smallest pieces: the most bandwidth.
    """
    for counts in (medium.counts, medium.uneven):
        kinds = [(count, amount, name) for amount, name in medium.sizes for count in counts]
        enough = [k for k in kinds if share * (1 - 1e-9) <= k[0] * k[1] <= limit * (1 + 1e-9)]
        if enough:
            return min(enough, key=lambda kind: (round(kind[0] * kind[1]), kind[1]))
    return None


def bought_whole(found: Evaluation, scenario: Scenario | None) -> str:
    """What the plan costs in whole nodes of their own for each pool and in whole pieces, and the keys that plan so.

    ``(ceil(prefill nodes) + ceil(decode nodes)) * GPUs a node * price``, and each tier's pieces at its rent.
    """
    rate = next((line.unit_usd_per_hour for line in found.costs if line.unit == "GPU"), None)
    if scenario is None or rate is None:
        return ""
    per_node, hosts = scenario.deployment.gpus_per_node, whole(found.prefill.nodes)
    nodes = hosts + (whole(found.decode.nodes) if found.decode else 0)
    pieces = [
        (tier, spec, ordered(tier, spec, found.prefill.nodes))
        for tier, spec in zip(found.tiers[1:], scenario.tiers, strict=False)
        if tier.capacity_bytes > spec.included_gb_per_node * GB * hosts
    ]
    total = nodes * per_node * rate + sum(_rent(tier, spec, one, hosts) for tier, spec, one in pieces)
    more = total / (found.usd_per_hour or 1.0) - 1
    against = "as planned" if abs(more) < SAME else f"{percent(more, 1, signed=True)} against the plan"
    said = [
        f"Bought whole: {per_month(total)} a month, {per_year(total)} a year ({against}): "
        f"{counted(nodes, 'node')} of {per_node} GPUs{_sharing(found, nodes, per_node * rate)}"
        f"{', and whole pieces as listed' if pieces else ''}.",
        *(
            f"{safe(t.name, 40)} is priced as planned: no whole pieces hold it."
            for t, _, g in pieces
            if not g.size_bytes
        ),
    ]
    gpus = sum(line.quantity for line in found.costs if line.unit == "GPU")
    keys = ["deployment.billing: node"] if nodes * per_node > gpus * (1 + SAME) else []
    keys += [f"tiers[{safe(t.name, 40)}].step_gb" for t, s, g in pieces if not s.step_gb and _adds(t, g)]
    return " ".join([*said, *([f"To plan for it: {' and '.join(keys)}."] if keys else [])])


def ordered(tier: TierUse, spec: TierSpec, nodes: float) -> Goods:
    """A tier's goods by what the scenario says of it."""
    return goods(tier, nodes, spec.step_gb * GB if spec.step_gb else None, spec.max_gb_per_node * GB)


def _adds(tier: TierUse, ordered: Goods) -> bool:
    return ordered.size_bytes is None or ordered.size_bytes > tier.capacity_bytes * (1 + SAME)


def _rent(tier: TierUse, spec: TierSpec, ordered: Goods, hosts: int) -> float:
    size_bytes = tier.capacity_bytes if ordered.size_bytes is None else ordered.size_bytes
    return rent_usd_per_hour(size_bytes, spec.included_gb_per_node * GB * hosts, spec.usd_per_gb_hour / GB)


def _sharing(found: Evaluation, nodes: int, usd_per_node_hour: float) -> str:
    """Whether the pools have nodes of their own, and what one that they share would save."""
    if found.decode is None:
        return ""
    spared = nodes - whole(found.prefill.nodes + found.decode.nodes)
    own = f", {whole(found.prefill.nodes)} to prefill and {whole(found.decode.nodes)} to decode, none shared"
    return own + (f" (sharing one would save {per_month(spared * usd_per_node_hour)} a month)" if spared > 0 else "")


def whole(nodes: float) -> int:
    """Nodes, rounded up.

    >>> whole(6.5), whole(6.0000000001), whole(0.25)
    (7, 6, 1)
    """
    return max(1, math.ceil(nodes - 1e-9))
