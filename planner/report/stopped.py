"""What a search that was cut short leaves open: designs that were not reached, and how much cheaper one could be."""

from __future__ import annotations

import math

from planner.plan import Cell, PlanSet
from planner.report.format import percent, safe

STOPPED = "stopped early"


def is_unreached(cell: Cell) -> bool:
    """Whether the search ended before it knew if this kind of design is possible."""
    return cell.evaluation is None and cell.why_not.startswith(STOPPED)


def no_price(cell: Cell | None) -> str:
    """What stands in the place of a price.

    >>> no_price(Cell("colocated", False, None, None, "stopped early (time limit)"))
    'not reached'
    """
    return "not reached" if cell is not None and is_unreached(cell) else "not possible"


def stops(found: PlanSet) -> str:
    """Why the search ended early, such as ``stopped early (time limit)``; empty where it did not."""
    told = [warning.partition(":")[0] for warning in found.warnings if warning.startswith(STOPPED)]
    return ", ".join(safe(why, 60) for why in dict.fromkeys(told))


def may_be_cheaper(gap: float) -> str:
    """What a gap of ``1 - bound / cost`` leaves open, rounded up to two decimals of a percent.

    >>> may_be_cheaper(0.307), may_be_cheaper(float("inf"))
    ('a design up to 30.70 % cheaper may exist', 'how much cheaper a design could be is not known')
    """
    if not gap < 1:
        return "how much cheaper a design could be is not known"
    return f"a design up to {percent(rounded_up(gap), 2)} cheaper may exist"


def rounded_up(gap: float) -> float:
    """A gap at two decimals of a percent, never below the truth but for the solver's own tolerance of 1e-6."""
    return max(0.0, math.ceil((gap - 1e-6) * 1e4) / 1e4) if math.isfinite(gap) else gap


def proof_text(found: PlanSet) -> str:
    """What was proven of the first plan, for a cell of a table."""
    proof = found.certificate
    if proof is None:
        return "none"
    if proof.proven:
        return "optimal"
    return f"{stops(found) or 'not proven'}: {may_be_cheaper(proof.relative_gap)}"
