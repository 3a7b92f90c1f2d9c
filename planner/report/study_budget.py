"""A budget as text, JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, quantity, safe, significant, size, usd
from planner.report.grid import paragraph
from planner.report.sections import pool
from planner.report.study_common import HOURS_PER_MONTH, csv_text, plan_row, table, tiers_text, titled
from planner.study.budget import impossible

if TYPE_CHECKING:
    from planner.study.budget import Budget
    from planner.study.columns import Column, Service

Data = dict[str, Any]


def to_table(found: Budget) -> str:
    """Who gets what, what it takes of each limit, what more would buy, who is cut first."""
    choice = found.choice
    value = percent(choice.value / found.most_value, 1) if found.most_value else ABSENT
    month = usd(choice.usd_per_hour * HOURS_PER_MONTH, 0)
    head = f"{len(found.services)} services · {month} a month · {value} of the value served"
    return titled(head, _services(found), _limits(found), _more(found), _cuts(found))


def _services(found: Budget) -> list[str]:
    rows = [_cells(s, c) for s, c in zip(found.services, found.choice.columns, strict=True)]
    month = found.choice.usd_per_hour * HOURS_PER_MONTH
    rows.append(
        ["total", "", number(month, 0), number(found.choice.uses("gpus")), significant(found.choice.value), "", ""]
    )
    titles = ["service", "served", "$ a month", "GPUs", "value", "plan", "tiers"]
    return table(titles, rows, (1, 2, 3, 4), (0, 5, 6))


def _cells(service: Service, column: Column) -> list[str]:
    plan = column.plan
    shape = ABSENT
    if plan is not None:
        shape = pool(plan.prefill) + (f" / {pool(plan.decode)}" if plan.decode else "")
    return [
        safe(service.name, 24), percent(column.level), number(column.usd_per_hour * HOURS_PER_MONTH, 0),
        number(column.gpus), significant(column.value), shape, tiers_text(plan) if plan else ABSENT,
    ]  # fmt: skip


def _limits(found: Budget) -> list[str]:
    lines = [f"  {_used(found, r)} of {_amount(r, limit)}" for r, limit in found.limits]
    if found.full_usd_per_hour is not None:
        lines.append(f"  serving everything costs {usd(found.full_usd_per_hour * HOURS_PER_MONTH, 0)} a month")
    for service in found.services:
        if impossible(service):
            lines.append(f"  {safe(service.name, 24)}: no plan serves all of it, whatever the budget")
    lines.append("  value: million tokens an hour, each times its service's weight")
    return lines


def _used(found: Budget, resource: str) -> str:
    return _amount(resource, found.choice.uses(resource))


def _amount(resource: str, amount: float) -> str:
    if resource == "usd":
        return f"{usd(amount * HOURS_PER_MONTH, 0)} a month"
    return f"{quantity(amount)} GPUs" if resource == "gpus" else f"{size(amount * 1e9)} {safe(resource, 24)}"


def _more(found: Budget) -> list[str]:
    lines = []
    for more in found.more:
        step = _amount(more.resource, more.step)
        gained = "nothing" if more.value <= 1e-9 else f"{significant(more.value)} of value ({', '.join(more.changes)})"
        text = f"The next {step} would buy {gained}"
        if more.raise_by is None:
            text += "; no more of it buys more"
        elif more.value <= 1e-9:
            text += (
                f"; the next {_amount(more.resource, more.raise_by)} would buy {significant(more.raise_value)} "
                f"({', '.join(more.raise_changes)})"
            )
        lines += paragraph(text, hang=2)
    return lines


def _cuts(found: Budget) -> list[str]:
    if not found.cuts:
        return []
    rows = [
        [
            safe(c.service, 24), f"{percent(c.level_from)} → {percent(c.level_to)}", _amount(found.tightened, c.limit),
            significant(c.value_lost), _amount(found.tightened, c.freed), _ratio(c.value_lost, c.freed),
        ]
        for c in found.cuts
    ]  # fmt: skip
    titles = ["cut", "served", "below", "value lost", "frees", "value per unit freed"]
    unit = {"usd": "$/h", "gpus": "GPU"}.get(found.tightened, "GB")
    titles[-1] = f"lost per {unit}"
    return [
        "  Who is cut next as the first limit tightens, what it loses and what it frees",
        *table(titles, rows, (1, 2, 3, 4, 5), (0,)),
    ]


def _ratio(lost: float, freed: float) -> str:
    return significant(lost / freed) if freed > 0 else ABSENT


def certificate_line(found: Budget) -> str:
    """What was proven, for stderr."""
    columns = sum(len(s.columns) for s in found.services)
    return (
        f"value proven within {percent(found.choice.relative_gap, 4)}, its cost within "
        f"{percent(found.choice.usd_gap, 4)}, over {columns} columns "
        f"({found.solve_seconds:.1f} s, with its neighbourhood {found.seconds:.1f} s)"
    )


def to_data(found: Budget) -> Data:
    """The choice, its certificate and neighbourhood."""
    choice = found.choice
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "budget",
        "value": choice.value,
        "value_bound": choice.bound,
        "most_value": found.most_value,
        "usd_per_hour": choice.usd_per_hour,
        "usd_per_month": choice.usd_per_hour * HOURS_PER_MONTH,
        "usd_per_hour_lower_bound": choice.usd_bound,
        "relative_gap": choice.relative_gap,
        "usd_gap": choice.usd_gap,
        "serve_all_usd_per_hour": found.full_usd_per_hour,
        "limits": {r: {"limit": limit, "used": choice.uses(r)} for r, limit in found.limits},
        "services": [_service(s, c) for s, c in zip(found.services, choice.columns, strict=True)],
        "more": [
            {"resource": m.resource, "raise_by": m.raise_by, "raise_value": m.raise_value,
             "raise_changes": list(m.raise_changes), "step": m.step, "value": m.value, "usd_per_hour": m.usd_per_hour,
             "changes": list(m.changes)} for m in found.more
        ],
        "cuts": [
            {"service": c.service, "level_from": c.level_from, "level_to": c.level_to, "value_lost": c.value_lost,
             "freed": c.freed, "resource": found.tightened, "below": c.limit} for c in found.cuts
        ],
        "seconds": found.seconds,
        "solve_seconds": found.solve_seconds,
    }  # fmt: skip


def _service(service: Service, column: Column) -> Data:
    plan = plan_row(column.plan) if column.plan else None
    return {
        "service": service.name, "weight": service.weight, "level": column.level, "value": column.value,
        "usd_per_hour": column.usd_per_hour, "gpus": column.gpus, "capacity_gb": dict(column.capacity_gb),
        "columns": len(service.columns), "plan": plan,
    }  # fmt: skip


def to_csv(found: Budget) -> str:
    """One row per service."""
    rows = [
        {"service": s.name, "level": c.level, "value": c.value, **(plan_row(c.plan) if c.plan else {})}
        for s, c in zip(found.services, found.choice.columns, strict=True)
    ]
    return csv_text(rows, ("service", "level", "value", "usd_per_hour"))
