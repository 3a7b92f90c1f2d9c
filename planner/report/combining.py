"""The four cells and the verdict: do tiers and disaggregation add up, and what decides it."""

from __future__ import annotations

from planner.plan import LoadPoint, PlanSet, Verdict
from planner.report.format import ABSENT, joined, percent, safe, usd
from planner.report.grid import Column, grid, paragraph
from planner.report.stopped import no_price


def cells(plan_set: PlanSet) -> list[str]:
    """The four cells in dollars per hour, and what combining does."""
    if not any(cell.evaluation for cell in plan_set.cells):
        return []
    price = _prices(plan_set)
    known = {(cell.architecture, cell.tiered): cell for cell in plan_set.cells}
    columns = [
        Column(""),
        Column("without tiers", "right"),
        Column("with tiers", "right"),
        Column("tiers save", "right"),
    ]
    rows = []
    for architecture in dict.fromkeys(cell.architecture for cell in plan_set.cells):
        keys = [(architecture, tiered) for tiered in (False, True)]
        pair = [price.get(key) for key in keys]
        shown = [f"{usd(price[key])}/h" if key in price else no_price(known.get(key)) for key in keys]
        save = percent(1.0 - pair[1] / pair[0], 1) if pair[0] and pair[1] is not None else ABSENT
        rows.append([architecture, *shown, save])
    lines = grid(columns, rows).lines
    lines += _impossible_cells(plan_set)
    return lines + (_verdict(plan_set, plan_set.verdict) if plan_set.verdict else [])


def _impossible_cells(plan_set: PlanSet) -> list[str]:
    """Why a cell is empty, said once for all cells with the same reason."""
    names: dict[str, list[str]] = {}
    for cell in plan_set.cells:
        if cell.evaluation is None and cell.why_not:
            names.setdefault(cell.why_not, []).append(
                f"{cell.architecture} {'with' if cell.tiered else 'without'} tiers"
            )
    return [
        line
        for reason, which in names.items()
        for line in paragraph(f"{', '.join(which)}: {safe(reason, 300)}", hang=2)
    ]


def verdict_sentence(plan_set: PlanSet) -> str:
    """The word, the amount that the shown cells give, what limits it, and why."""
    found = plan_set.verdict
    if found is None:
        return ""
    bound = joined(f"{kind}-bound" for kind in found.limited_by)
    head = joined([f"{found.word}{_amount(found, _prices(plan_set))}", bound])
    return f"{head}\n{safe(found.explanation, 600)}" if found.explanation else head


def _prices(plan_set: PlanSet) -> dict[tuple[str, bool], float]:
    return {(c.architecture, c.tiered): c.evaluation.usd_per_hour for c in plan_set.cells if c.evaluation}


def _verdict(plan_set: PlanSet, found: Verdict) -> list[str]:
    """The verdict, how firm it is, and the re-solves that name the limit."""
    lines = paragraph(verdict_sentence(plan_set))
    if found.points:
        lines += paragraph(
            "interaction by load: "
            + joined(_point(point) for point in found.points if point.fractional or point.load_factor != 1),
            hang=2,
        )
    for limit in found.limits:
        cost = f" ({usd(limit.usd_per_hour)}/h)" if limit.usd_per_hour is not None else ""
        became = f"{safe(limit.relaxation, 120)}: {safe(limit.becomes, 200)}{cost}"
        lines += paragraph(f"{limit.kind}: with {became}", hang=2)
    return lines


def _amount(found: Verdict, price: dict[tuple[str, bool], float]) -> str:
    if found.interaction_usd_per_hour is None:
        return ""
    signs = {("colocated", False): -1, ("colocated", True): 1, ("disaggregated", False): 1, ("disaggregated", True): -1}
    shown = sum(sign * round(price[key], 2) for key, sign in signs.items()) if signs.keys() <= price.keys() else None
    amount = found.interaction_usd_per_hour if shown is None else shown
    if abs(amount) < 0.005:
        return ": together they save what they save apart"
    return f": together they save {usd(abs(amount))}/h {'more' if amount > 0 else 'less'} than the two apart"


def _point(point: LoadPoint) -> str:
    amount = point.interaction_usd_per_hour
    shown = ABSENT if amount is None else f"{usd(amount, signed=True)}/h"
    return f"×{point.load_factor:g}{' in fractional instances' if point.fractional else ''} {shown}"
