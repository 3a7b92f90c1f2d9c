"""The verdict on combining, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Mapping

from planner.cells import CellResult
from planner.plan import Architecture, Limit, LoadPoint

CELLS: tuple[tuple[Architecture, bool], ...] = (
    ("colocated", False),
    ("disaggregated", True),
    ("disaggregated", False),
    ("colocated", True),
)


def explanation(
    word: str,
    points: tuple[LoadPoint, ...],
    limits: tuple[Limit, ...],
    cells: Mapping[tuple[Architecture, bool], CellResult],
    instance_usd: float,
) -> str:
    """What the four cells say, in sentences with their numbers.

    Args:
        word: the verdict.
        points: the interaction at other loads.
        limits: what the relaxations changed.
        cells: the solved cells.
        instance_usd: price of one prefill instance of the combined plan in dollars per hour.
    """
    base, both, apart_d, apart_t = (round(cells[key].proof.cost, 2) for key in CELLS)
    both, apart_d, apart_t = base - both, base - apart_d, base - apart_t  # of the costs as shown, so that they add up
    amount = both - apart_d - apart_t
    if max(abs(both), abs(apart_d), abs(apart_t)) < 0.005:
        return "Neither disaggregation nor tiers save anything here, alone or together: inconclusive."
    alone = f"{_usd(apart_t)}/h" if min(apart_d, apart_t) >= 0.005 else _effect(apart_t, "save", "cost")
    parts = [
        f"Together disaggregation and tiers {_effect(both, 'save', 'cost')} "
        f"{'than' if both <= -0.005 else 'against'} colocated without tiers; apart, "
        f"disaggregation {_effect(apart_d, 'saves', 'costs')} and tiers {alone}."
    ]
    if word == "inconclusive":
        parts.append(_why_inconclusive(amount, points, instance_usd))
    else:
        more = "more" if amount > 0 else "less"
        parts.append(f"Combined they save ${abs(amount):,.2f}/h {more} than apart: {word}.")
    parts.extend(_role_changes(cells, limits))
    return " ".join(parts)


def _why_inconclusive(amount: float, points: tuple[LoadPoint, ...], instance_usd: float) -> str:
    """What makes the verdict fragile: its size, or its sign within 5 % of the load."""
    if abs(amount) < 0.005:
        return "Combined they save what they save apart: inconclusive."
    less = "more" if amount > 0 else "less"
    said = f"Combined they save ${abs(amount):,.2f}/h {less} than apart"
    if abs(amount) < instance_usd:
        return f"{said}, less than one instance (${instance_usd:,.2f}/h): inconclusive."
    spread = ", ".join(f"{p.load_factor:g}× load {_signed(p)}" for p in points if not p.fractional)
    return f"{said}, but the sign does not hold within 5 % of the load ({spread}): inconclusive."


def _signed(point: LoadPoint) -> str:
    usd = point.interaction_usd_per_hour
    return "no plan" if usd is None else f"{'+' if usd > 0 else ''}{_usd(usd)}/h"


def _effect(amount: float, saves: str, costs: str) -> str:
    """What a lever does to the cost, in words.

    >>> _effect(2.8, "saves", "costs"), _effect(-2.8, "saves", "costs"), _effect(0.0, "save", "cost")
    ('saves $2.80/h', 'costs $2.80/h more', 'save nothing')
    """
    if abs(amount) < 0.005:
        return f"{saves} nothing"
    return f"{saves} {_usd(amount)}/h" if amount > 0 else f"{costs} {_usd(-amount)}/h more"


def _usd(amount: float) -> str:
    return f"{'−' if amount <= -0.005 else ''}${abs(amount):,.2f}"


def _role_changes(cells: Mapping[tuple[Architecture, bool], CellResult], limits: tuple[Limit, ...]) -> list[str]:
    """Tiers whose role disaggregation changes, with the numbers that force it and what free transfer would undo."""
    alone, both = cells["colocated", True].best, cells["disaggregated", True].best
    if alone is None or both is None:
        return []
    transfer = 1e3 * max(p.transfer_s for p in both.paths)
    out = []
    for a, b in zip(alone.tiers[1:], both.tiers[1:], strict=True):
        if a.role == "sync" and b.role != "sync" and b.slack_s < 0:
            out.append(
                f"{b.name} is synchronous when colocated (fetch {1e3 * a.fetch_s:,.0f} ms against "
                f"{1e3 * a.slack_before_fetch_s:,.0f} ms of slack) but "
                f"{'prefetch-only' if b.role == 'prefetch' else b.role} when disaggregated: the KV transfer takes "
                f"{transfer:,.0f} ms and leaves {1e3 * b.slack_before_fetch_s:,.0f} ms of slack for a fetch of "
                f"{1e3 * b.fetch_s:,.0f} ms."
            )
            free = next((x for x in limits if x.relaxation == "transfer made free"), None)
            if free is not None and f"{b.name} sync" in free.becomes:
                out.append(f"With the transfer made free, {b.name} is synchronous again.")
        elif a.role == "unused" and b.role == "sync" and b.staging_bytes > 0 and b.hit_rate < 1e-6:
            out.append(f"In the cheapest disaggregated design with tiers, {b.name} only stages what is prefetched.")
    return out
