"""Whether a plan file agrees with itself: what contradicts its own sums or its own bound was not written by a solve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner.plan import Certificate, CostLine, PlanSet
from planner.report.format import significant
from planner.report.node import Misfit

REL = 1e-6  # of a sum or a gap; what a file's digits may be off


def check_consistent(found: PlanSet) -> None:
    """Refuse negative costs, bills that do not add up, and a proof that its own numbers do not bear out.

    Raises:
        Misfit: With the place of the first contradiction.
    """
    for path, total, lines in _bills(found):
        _check_bill(path, total, lines)
    if found.plans and found.certificate is not None:
        _check_proof(found.certificate, found.plans[0].evaluation.usd_per_hour)


def _bills(found: PlanSet) -> Iterator[tuple[str, float, Sequence[CostLine]]]:
    """Place, total and lines of every bill; a cell of an old file may have a total alone."""
    for n, plan in enumerate(found.plans):
        bill = plan.evaluation
        yield f"plans[{n}]", bill.usd_per_hour, bill.costs
        if bill.usd_per_million_tokens < 0:
            raise Misfit(f"plans[{n}].usd_per_million_tokens", "is negative")
    for cell in found.cells:
        if cell.evaluation is not None:
            place = f"cells.{cell.architecture}.{'tiered' if cell.tiered else 'hbm_only'}"
            total, lines = cell.evaluation.usd_per_hour, cell.evaluation.costs
            yield place, total, lines or (CostLine("", 1.0, "", total, total, ""),)


def _check_bill(path: str, total: float, lines: Sequence[CostLine]) -> None:
    if total < 0:
        raise Misfit(f"{path}.usd_per_hour", f"is {total:g}: no cost is negative")
    for n, line in enumerate(lines):
        if min(line.usd_per_hour, line.quantity, line.unit_usd_per_hour) < 0:
            raise Misfit(f"{path}.costs[{n}]", "is negative: no cost is")
        if not _same(line.quantity * line.unit_usd_per_hour, line.usd_per_hour):
            raise Misfit(f"{path}.costs[{n}].usd_per_hour", "is not its quantity times its unit price")
    summed = sum(line.usd_per_hour for line in lines)
    if not _same(total, summed):
        raise Misfit(f"{path}.usd_per_hour", f"is {_shown(total)}, and its lines sum to {_shown(summed)}")


def _check_proof(proof: Certificate, cost: float) -> None:
    """``bound <= cost`` and ``gap >= (cost - bound) / cost``, as far as they are stated."""
    bound, gap = proof.usd_per_hour_lower_bound, proof.relative_gap
    if math.isnan(bound):
        if not math.isnan(gap):
            raise Misfit("certificate.usd_per_hour_lower_bound", "is null, and certificate.relative_gap is stated")
        return
    if bound > cost * (1 + REL):
        below = f"is {_shown(bound)}, above the cost of the first plan, {_shown(cost)}"
        raise Misfit("certificate.usd_per_hour_lower_bound", below)
    least = (cost - bound) / cost if cost > 0 else 0.0
    if gap < least - REL:
        raise Misfit("certificate.relative_gap", f"is {gap:g}, and bound and cost are {least:.6g} apart")


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=REL, abs_tol=1e-9)


def _shown(value: float) -> str:
    return significant(value, 8)
