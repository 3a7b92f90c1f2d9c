"""A budget as text, Markdown, JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.errors import Diagnostic, InfeasibleError
from planner.report import study_markdown as markdown
from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, safe, significant, size, usd
from planner.report.grid import paragraph
from planner.report.sections import pool
from planner.report.study_common import HOURS_PER_MONTH, counted, csv_text, plan_row, table, tiers_text, titled
from planner.study.budget import Short, impossible, shortages

if TYPE_CHECKING:
    from planner.plan import Evaluation
    from planner.scenario import Scenario
    from planner.study.budget import Budget, Cut, Move
    from planner.study.columns import Column, Service

Data = dict[str, Any]
NO_PLAN = "no plan serves all of it, whatever the budget"
FLAGS = {"usd": "--usd-per-month", "gpus": "--max-gpus", "dram": "--max-dram-gb", "nvme": "--max-nvme-gb"}


TITLES = ("service", "served", "$ a month", "GPUs", "value", "plan", "tiers")
MOVES_SHOWN = 6  # of one step
THOUSAND_A_MONTH = 1000.0 / HOURS_PER_MONTH  # dollars an hour


def to_table(found: Budget) -> str:
    """Who gets what, what it takes of each limit, what more would buy, who is cut first."""
    services = table(TITLES, _services(found), (1, 2, 3, 4), (0, 5, 6))
    more = [line for text in _more(found) for line in paragraph(text, hang=2)]
    cuts = table(_cut_titles(found), _cuts(found), (2, 3, 4, 5), (0, 1)) if found.cuts else []
    if cuts or found.cuts_untold:
        cuts = [f"  {CUTS}", *cuts, *([f"  {_untold_cuts(found)}"] if found.cuts_untold else [])]
    limits = [f"  {line}" for line in _limits(found)]
    notes = [line for text in found.notes for line in paragraph(safe(text, 400), hang=2)]
    return titled(_head(found), services, limits, more, cuts, notes)


def to_markdown(found: Budget) -> str:
    """The same for an issue or a pull request."""
    return markdown.document(
        _head(found),
        markdown.table(TITLES, _services(found), (1, 2, 3, 4)),
        markdown.bullets(_limits(found)),
        markdown.section("What more would buy", markdown.bullets(_more(found))),
        markdown.section(
            CUTS,
            markdown.table(_cut_titles(found), _cuts(found), (2, 3, 4, 5)) if found.cuts else "",
            markdown.text(_untold_cuts(found)) if found.cuts_untold else "",
        ),
        markdown.bullets(found.notes),
        markdown.text(certificate_line(found)),
    )


def _head(found: Budget) -> str:
    choice = found.choice
    value = percent(choice.value / found.most_value, 1) if found.most_value else ABSENT
    count = counted(len(found.services), "service")
    head = f"{count} · {_amount('usd', choice.usd_per_hour)} · {value} of the value served"
    return head + (" · interrupted" if found.interrupted else "")


def _services(found: Budget) -> list[list[str]]:
    rows = [_cells(s, c) for s, c in zip(found.services, found.choice.columns, strict=True)]
    month = found.choice.usd_per_hour * HOURS_PER_MONTH
    total = ["total", "", number(month, 0), number(found.choice.uses("gpus")), significant(found.choice.value), "", ""]
    return [*rows, total]


def _cells(service: Service, column: Column) -> list[str]:
    plan = column.plan
    shape = _shape(plan) if plan is not None else ABSENT
    return [
        safe(service.name, 24), percent(column.level), number(column.usd_per_hour * HOURS_PER_MONTH, 0),
        number(column.gpus), significant(column.value), shape, tiers_text(plan) if plan else ABSENT,
    ]  # fmt: skip


def _shape(plan: Evaluation) -> str:
    return pool(plan.prefill) + (f" / {pool(plan.decode)}" if plan.decode else "")


def _limits(found: Budget) -> list[str]:
    lines = [f"{_used(found, r)} of {_amount(r, limit)}" for r, limit in found.limits]
    if found.full_usd_per_hour is not None:
        lines.append(f"serving everything costs {_amount('usd', found.full_usd_per_hour)}")
    lines += [f"{safe(s.name, 24)}: {NO_PLAN}" for s in found.services if impossible(s)]
    lines.append("value: million tokens an hour, each times its service's weight")
    return lines


def _used(found: Budget, resource: str) -> str:
    return _amount(resource, found.choice.uses(resource))


def _amount(resource: str, amount: float) -> str:
    if resource == "usd":
        return f"{usd(amount * HOURS_PER_MONTH, 0)} a month"
    return counted(amount, "GPU") if resource == "gpus" else f"{size(amount * 1e9)} {safe(resource, 24)}"


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
        lines.append(text)
    if found.untold:
        names = ", ".join({"usd": "money", "gpus": "GPUs"}.get(r, safe(r, 24)) for r in found.untold)
        lines.append(f"What a little more would buy was not found in time: {names}")
    return lines


CUTS = "Who is cut next as the first limit tightens, step by step: what it loses and frees in all"


def _cut_titles(found: Budget) -> list[str]:
    unit = {"usd": "$ a month", "gpus": "GPUs"}.get(found.tightened, "GB")
    per = {"usd": "$1,000", "gpus": "GPU"}.get(found.tightened, "GB")
    return ["falls", "rises", f"below, {unit}", "value lost", f"frees, {unit}", f"lost per {per}"]


def _cuts(found: Budget) -> list[list[str]]:
    money = found.tightened == "usd"
    scale, unit = (HOURS_PER_MONTH, THOUSAND_A_MONTH) if money else (1.0, 1.0)
    return [
        [
            _moves(c.falls), _moves(c.rises), number(c.limit * scale, 0), significant(c.value_lost),
            number(c.freed * scale, 0), _ratio(c.value_lost, c.freed / unit),
        ]
        for c in found.cuts
    ]  # fmt: skip


def _moves(moves: Sequence[Move]) -> str:
    told = [safe(str(m), 48) for m in moves[:MOVES_SHOWN]]
    left = len(moves) - MOVES_SHOWN
    return ", ".join(told) + (f" and {left} more" if left > 0 else "") or ABSENT


def _untold_cuts(found: Budget) -> str:
    return f"{'Further steps were' if found.cuts else 'This was'} not found in time"


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


def cannot_serve_all(services: Sequence[Service], limits: Mapping[str, float]) -> InfeasibleError:
    """Why not everything can be served, limit by limit, and what would do."""
    without = [s for s in services if impossible(s)]
    if without:
        hint = "planner solve says why and what would help; without --serve-all the others are served"
        return InfeasibleError(*(Diagnostic("no-plan", f"{s.name}: {NO_PLAN}", hint=hint) for s in without))
    count = "the service" if len(services) == 1 else f"all {len(services)} services"
    found = [_short(one, count) for one in shortages(services, limits)]
    cheapest = [min((c for c in s.columns if c.level >= 1.0), key=lambda c: c.usd_per_hour) for s in services]
    gpus, usd_per_hour = (sum(c.uses(r) for c in cheapest) for r in ("gpus", "usd"))
    told = f"not everything can be served within the limits; at least cost that takes {_amount('usd', usd_per_hour)}"
    return InfeasibleError(Diagnostic("limits-short", f"{told} and {_amount('gpus', gpus)}"), *found)


def _short(one: Short, count: str) -> Diagnostic:
    need, flag = _rounded_up(one.resource, one.least), FLAGS[one.resource]
    others = "" if one.alone else " within the other limits"
    text = (
        f"to serve {count} in full{others} takes at least {_amount(one.resource, need)}; "
        f"the limit of {_amount(one.resource, one.limit)} is {_amount(one.resource, need - one.limit)} short"
    )
    typed = round(need * HOURS_PER_MONTH) if one.resource == "usd" else round(need)
    return Diagnostic("limit-short", text, path=flag, hint=f"{flag} {typed}")


def _rounded_up(resource: str, amount: float) -> float:
    """To whole dollars a month, GPUs or GB, so that what is shown suffices."""
    unit = 1 / HOURS_PER_MONTH if resource == "usd" else 1.0
    return math.ceil(amount / unit - 1e-9) * unit


def idle_limits(found: Budget, scenarios: Sequence[Scenario]) -> list[str]:
    """Limits on tiers that no service has."""
    tiers = {tier.name for scenario in scenarios for tier in scenario.tiers}
    idle = [r for r, _ in found.limits if r not in ("usd", "gpus") and r not in tiers]
    return [f"{FLAGS[r]} limits nothing: no service has a tier called {r}" for r in idle]


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
        "limits": {r: {"limit": limit, "used": choice.uses(r), "unit": _unit(r)} for r, limit in found.limits},
        "services": [_service(s, c) for s, c in zip(found.services, choice.columns, strict=True)],
        "more": [
            {"resource": m.resource, "unit": _unit(m.resource), "raise_by": m.raise_by, "raise_value": m.raise_value,
             "raise_changes": list(m.raise_changes), "step": m.step, "value": m.value, "usd_per_hour": m.usd_per_hour,
             "changes": list(m.changes)} for m in found.more
        ],
        "more_not_found": list(found.untold),
        "cuts": [_cut(c, found.tightened) for c in found.cuts],
        "cuts_not_found": found.cuts_untold,
        "notes": list(found.notes),
        "interrupted": found.interrupted,
        "seconds": found.seconds,
        "solve_seconds": found.solve_seconds,
    }  # fmt: skip


def _cut(cut: Cut, resource: str) -> Data:
    """A step; ``service`` and its levels are those of the greatest loss."""
    moves = [*cut.falls, *cut.rises]
    return {
        "service": moves[0].service, "level_from": moves[0].level_from, "level_to": moves[0].level_to,
        "changes": [
            {"service": m.service, "level_from": m.level_from, "level_to": m.level_to, "value": m.value} for m in moves
        ],
        "value_lost": cut.value_lost, "freed": cut.freed, "resource": resource, "unit": _unit(resource),
        "usd_per_hour_freed": cut.usd_per_hour_freed, "below": cut.limit,
    }  # fmt: skip


def _unit(resource: str) -> str:
    return {"usd": "usd_per_hour", "gpus": "gpus"}.get(resource, "gb")


def _service(service: Service, column: Column) -> Data:
    plan = plan_row(column.plan) if column.plan else None
    return {
        "service": service.name, "weight": service.weight, "level": column.level, "value": column.value,
        "usd_per_hour": column.usd_per_hour, "gpus": column.gpus, "capacity_gb": dict(column.capacity_gb),
        "columns": len(service.columns), "plan": plan, "all_columns": [_column(c) for c in service.columns],
    }  # fmt: skip


def _column(column: Column) -> Data:
    """One of the columns that were chosen among, the empty one included: the choice can be made again from these."""
    plan = column.plan
    return {
        "level": column.level, "value": column.value, "usd_per_hour": column.usd_per_hour,
        "usd_per_month": column.usd_per_hour * HOURS_PER_MONTH, "gpus": column.gpus,
        **{f"{name}_gb": size_gb for name, size_gb in column.capacity_gb},
        "plan": f"{plan.decision.architecture}, {_shape(plan)}, {tiers_text(plan)}" if plan is not None else None,
    }  # fmt: skip


def to_csv(found: Budget) -> str:
    """One row per service."""
    rows = [
        {"service": s.name, "level": c.level, "value": c.value, **(plan_row(c.plan) if c.plan else {})}
        for s, c in zip(found.services, found.choice.columns, strict=True)
    ]
    return csv_text(rows, ("service", "level", "value", "usd_per_hour"))
