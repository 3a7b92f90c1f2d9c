"""The answer in one sentence, and what it saves against the simplest deployment that works."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan import Cell, PlanSet
from planner.report.format import quantity, safe, size
from planner.report.reread import StoredSet
from planner.report.stopped import is_unreached

NOTHING = "No design keeps every promise"


def headline(stored: StoredSet) -> str:
    """What it takes as a request, for the heading and the page's title; less certain where it is not proven."""
    proof = stored.plan_set.certificate
    verb = "Run on" if proof is None or proof.proven else "Best found so far:"
    return f"{verb} {purchase(stored)}" if stored.plan_set.plans else purchase(stored)


def purchase(stored: StoredSet) -> str:
    """What the first plan runs on, bought or rented, in words."""
    if not stored.plan_set.plans:
        return NOTHING if stored.plan_set.status == "infeasible" else "No plan was found"
    best = stored.plan_set.plans[0].evaluation
    gpus = sum(line.quantity for line in best.costs if line.unit == "GPU")
    spec = stored.scenario.hardware if stored.scenario else None
    kind = f" {safe(spec.title or spec.name, 40)}" if spec else ""
    paid = {line.source_key for line in best.costs if line.usd_per_hour > 0}
    bought: list[str] = [f"{quantity(gpus)}{kind} GPU{'' if gpus == 1 else 's'}"]
    brought: list[str] = []
    for t, tier in enumerate(best.tiers[1:]):
        if tier.role != "unused":
            goods = bought if f"tiers[{t}].usd_per_gb_hour" in paid else brought
            goods.append(f"{size(tier.capacity_bytes)} of {label(tier.name)}")
    use = f"; use {_and(brought)} of their nodes" if brought else ""
    return f"{_and(bought)}, {best.decision.architecture}{use}"


def label(name: str) -> str:
    """A tier as people write it: short names are abbreviations.

    >>> label("dram"), label("object-store")
    ('DRAM', 'object-store')
    """
    return safe(name.upper() if len(name) <= 4 else name, 24).replace("NVME", "NVMe")


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class Simplest:
    """The plainest design that keeps the promises, and why a plainer one does not."""

    name: str
    usd_per_hour: float
    why_not: str  # empty where it is colocated without tiers
    proven: bool = True  # else a cheaper design of this kind may exist, and what is saved against it is less


def simplest(found: PlanSet) -> Simplest | None:
    """Colocated without tiers; where that is impossible, the first of the other kinds that is not.

    None where none is, and where the search ended before it was known which one it is (:func:`unreached`).
    """
    known = {(c.architecture, c.tiered): c for c in found.cells}
    plain = known.get(("colocated", False))
    for cell in (plain, known.get(("disaggregated", False)), known.get(("colocated", True))):
        if cell is not None and is_unreached(cell):
            return None
        if cell is not None and cell.evaluation is not None:
            why = safe(plain.why_not, 120) if plain is not None and cell is not plain else ""
            proven = cell.certificate is None or cell.certificate.proven
            return Simplest(cell_name(cell), cell.evaluation.usd_per_hour, why, proven)
    return None


def unreached(found: PlanSet) -> str:
    """Why no saving is known, where the search ended before the simplest deployment; else empty."""
    cells = [cell for cell in found.cells if is_unreached(cell)]
    if simplest(found) is not None or not cells:
        return ""
    return f"{cell_name(cells[0])} was not reached: {safe(cells[0].why_not, 120)}"


def cell_name(cell: Cell) -> str:
    """One of the four kinds of design.

    >>> cell_name(Cell("colocated", False, None, None))
    'colocated without tiers'
    """
    return f"{cell.architecture} {'with' if cell.tiered else 'without'} tiers"
