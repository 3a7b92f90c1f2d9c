"""Several plan files beside each other, as text: what each buys, what it costs, which inputs differ."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Evaluation, PlanSet
from planner.report.assumptions import leaves, value_text
from planner.report.certainty import band, errors
from planner.report.format import ABSENT, ms, percent, quantity, safe, usd, usd_per_mtok
from planner.report.headline import purchase, simplest
from planner.report.reread import StoredSet
from planner.report.tabular import Table, per_month, per_year
from planner.scenario.yamltree import dotted

IDENTITY = ("name", "description")
FIRST = ("model.name", "model.title", "workload", "slo", "prices", "tiers", "engine", "deployment", "solve")


def distinct(names: Sequence[str]) -> list[str]:
    """Names told apart by a number where they repeat.

    >>> distinct(["chat", "rag", "chat"])
    ['chat', 'rag', 'chat (2)']
    """
    return [name if name not in names[:n] else f"{name} ({names[: n + 1].count(name)})" for n, name in enumerate(names)]


def names_of(files: Sequence[StoredSet]) -> list[str]:
    """The scenarios' names, told apart."""
    return distinct([safe(stored.plan_set.scenario_name, 60) for stored in files])


def best(stored: StoredSet) -> Evaluation | None:
    """The first plan."""
    return stored.plan_set.plans[0].evaluation if stored.plan_set.plans else None


def alternatives(files: Sequence[StoredSet]) -> bool:
    """True where all serve the same traffic with the same model: one of them is to be chosen, not all to be bought."""
    served = [(s.scenario.model.name, s.scenario.workload.classes) for s in files if s.scenario]
    return len(served) == len(files) and all(one == served[0] for one in served)


def headings(files: Sequence[StoredSet]) -> tuple[str, str]:
    """What the comparison comes to, and a second sentence."""
    found = [(name, plan.usd_per_hour) for name, s in zip(names_of(files), files, strict=True) if (plan := best(s))]
    missing = len(files) - len(found)
    none = f" {missing} of {len(files)} have no plan." if missing else ""
    if not found:
        return f"{len(files)} scenarios, and none has a plan", ""
    if alternatives(files) and len(found) == 1:
        name, cost = found[0]
        return f"Only {name} has a plan: {per_month(cost)} a month", f"{per_year(cost)} a year.{none}"
    if alternatives(files):
        (name, cost), *_, (last, most) = sorted(found, key=lambda pair: pair[1])
        if most - cost <= 5e-4 * most:
            return f"All cost the same: {per_month(cost)} a month", none.strip()
        saved = f"{per_month(most - cost)} a month ({percent(1 - cost / most, 1)}) less than {last}"
        return f"{name} costs {saved}", f"{name}: {per_month(cost)} a month, {per_year(cost)} a year.{none}"
    total = sum(cost for _, cost in found)
    gpus = sum(line.quantity for s in files if (plan := best(s)) for line in plan.costs if line.unit == "GPU")
    head = f"{len(found)} service{'' if len(found) == 1 else 's'} for {per_month(total)} a month"
    return head, f"Together {per_year(total)} a year ({usd(total)} an hour) and {quantity(gpus)} GPUs.{none}"


def overview(files: Sequence[StoredSet]) -> Table:
    """One row per file: alternatives against the first of them, several services with their sum."""
    rivals = alternatives(files)
    rows = [
        _row(stored, name, files[0] if rivals else None) for stored, name in zip(files, names_of(files), strict=True)
    ]
    costs = [plan.usd_per_hour for stored in files if (plan := best(stored))]
    summed = not rivals and len(costs) > 1
    if summed:
        rows.append(("together", per_month(sum(costs)), per_year(sum(costs)), *[""] * 7))
    titles = ["service", "per month", "per year", "$/Mtok", "saves against the simplest", "slowest first token", "TPOT",
              "hit rate", "proof", "what to buy"]  # fmt: skip
    if rivals:
        titles.insert(3, "against the first")
    last = len(titles) - 1
    right = frozenset(range(1, last - 1))
    return Table(
        "First plan of each file", tuple(titles), tuple(rows), right, totals=int(summed), under=last, stack=True
    )


def _row(stored: StoredSet, name: str, first: StoredSet | None) -> tuple[str, ...]:
    found, plan = stored.plan_set, best(stored)
    if plan is None:
        why = safe(found.reasons[0] if found.reasons else found.status, 120)
        return (name, *[ABSENT] * (9 if first else 8), f"nothing: {why}")
    against = [] if first is None else [_against(plan, first) if stored is not first else ABSENT]
    proof = found.certificate
    return (
        name,
        per_month(plan.usd_per_hour),
        per_year(plan.usd_per_hour),
        *against,
        usd_per_mtok(plan.usd_per_million_tokens),
        _saved(found, plan),
        *_times(stored, plan),
        percent(plan.effective_hit_rate, 1),
        "none" if proof is None else "optimal" if proof.proven else f"within {percent(proof.relative_gap, 2)}",
        purchase(stored),
    )


def _against(plan: Evaluation, first: StoredSet) -> str:
    other = best(first)
    return ABSENT if other is None else percent(plan.usd_per_hour / (other.usd_per_hour or 1.0) - 1, 1, signed=True)


def _saved(found: PlanSet, plan: Evaluation) -> str:
    base = simplest(found)
    if base is None:
        return ABSENT
    share = max(0.0, 1 - plan.usd_per_hour / (base.usd_per_hour or 1.0))
    return f"{percent(share, 1)}{'*' if base.why_not else ''}"


def _times(stored: StoredSet, plan: Evaluation) -> tuple[str, str]:
    """The slowest first token and TPOT, each with its error and its limit."""
    tpot_error, ttft_error = errors(stored, plan)
    slo = stored.scenario.slo if stored.scenario else None
    worst = max((path.total_s for path in plan.paths if path.in_use), default=None)
    limits = ("", "") if slo is None else (f" of {ms(slo.ttft_ms / 1e3)}", f" of {ms(slo.tpot_ms / 1e3)}")
    first = ABSENT if worst is None else f"{ms(worst)}{band(ttft_error)}{limits[0]}"
    return first, f"{ms(plan.tpot_s)}{band(tpot_error)}{limits[1]}"


def simplest_note(files: Sequence[StoredSet]) -> str:
    """What the savings are against."""
    bases = [simplest(stored.plan_set) for stored in files if stored.plan_set.plans]
    note = "The simplest deployment is colocated without tiers"
    if any(base is not None and base.why_not for base in bases):
        note += "; *: that is impossible there, and the next simplest is taken: disaggregated without tiers, or tiers"
    return f"{note}. A month is 730 hours, a year 8,760."


def inputs(files: Sequence[StoredSet]) -> tuple[Table, Table] | None:
    """Keys whose values are not the same in all files: what a scenario usually sets, and the rest.

    None where a file does not carry its scenario's values.
    """
    if any(stored.scenario is None for stored in files):
        return None
    columns = [{dotted(p): value_text(v) for p, v in leaves(stored.scenario, ())} for stored in files]
    keys = dict.fromkeys(key for column in columns for key in column if key not in IDENTITY)
    rows = [
        (key, *(column.get(key, ABSENT) for column in columns))
        for key in keys
        if len({column.get(key) for column in columns}) > 1
    ]
    titles = ("key", *names_of(files))
    first = tuple(sorted((row for row in rows if _place(row[0]) < len(FIRST)), key=lambda row: _place(row[0])))
    rest = tuple(row for row in rows if _place(row[0]) == len(FIRST))
    return (
        Table(f"{len(first)} inputs of the scenarios differ", titles, first, code=frozenset({0}), stack=True),
        Table(f"{len(rest)} values of models and hardware differ", titles, rest, code=frozenset({0}), stack=True),
    )


def _place(key: str) -> int:
    return next(
        (n for n, part in enumerate(FIRST) if key == part or key.startswith((f"{part}.", f"{part}["))), len(FIRST)
    )
