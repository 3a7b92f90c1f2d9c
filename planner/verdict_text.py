"""The verdict on combining, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Mapping

from planner.cells import CellResult
from planner.plan import Architecture, Limit, LoadPoint


def explanation(
    word: str,
    amount: float,
    savings: tuple[float, float, float],
    points: tuple[LoadPoint, ...],
    limits: tuple[Limit, ...],
    cells: Mapping[tuple[Architecture, bool], CellResult],
    instance_usd: float,
) -> str:
    """What the four cells say, in sentences with their numbers.

    Args:
        word: the verdict.
        amount: interaction in dollars per hour.
        savings: of both, of disaggregation alone, of tiers alone.
        points: the interaction at other loads.
        limits: what the relaxations changed.
        cells: the solved cells.
        instance_usd: price of one prefill instance of the combined plan in dollars per hour.
    """
    both, apart_d, apart_t = savings
    parts = [
        f"Together disaggregation and tiers save ${both:,.2f}/h against colocated without tiers; apart, "
        f"disaggregation saves ${apart_d:,.2f}/h and tiers ${apart_t:,.2f}/h."
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
    less = "more" if amount > 0 else "less"
    said = f"Combined they save ${abs(amount):,.2f}/h {less} than apart"
    if abs(amount) < instance_usd:
        return f"{said}, less than one instance (${instance_usd:,.2f}/h): inconclusive."
    spread = ", ".join(f"{p.load_factor:g}× load {_signed(p)}" for p in points if not p.fractional)
    return f"{said}, but the sign does not hold within 5 % of the load ({spread}): inconclusive."


def _signed(point: LoadPoint) -> str:
    usd = point.interaction_usd_per_hour
    return "no plan" if usd is None else f"{'−' if usd < 0 else '+'}${abs(usd):,.2f}/h"


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
            out.append(f"{b.name} is bought only to stage what is prefetched.")
    return out
