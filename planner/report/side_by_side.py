"""Several plan files beside each other, as text: what each buys, what it costs, which inputs differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.plan import Evaluation, PlanSet
from planner.report.assumptions import leaves, value_text
from planner.report.certainty import band, errors
from planner.report.format import ABSENT, joined, ms, percent, quantity, rounded_to_sum, safe, usd, usd_per_mtok
from planner.report.headline import purchase, simplest
from planner.report.reread import StoredSet
from planner.report.study_common import counted
from planner.report.tabular import HOURS_PER_MONTH, HOURS_PER_YEAR, Table, per_month, per_year
from planner.scenario.yamltree import dotted

IDENTITY = ("name", "description")
FIRST = ("model.name", "model.title", "workload", "slo", "prices", "tiers", "engine", "deployment", "solve")


def distinct(names: Sequence[str], paths: Sequence[str] = ()) -> list[str]:
    """Names told apart where they repeat: by the end of the file's path that differs, else by a number.

    >>> distinct(["chat", "rag", "chat"])
    ['chat', 'rag', 'chat (2)']
    >>> distinct(["chat", "chat"], ["old/chat/plans.json", "new/chat/plans.json"])
    ['chat (old/chat/plans.json)', 'chat (new/chat/plans.json)']
    """
    told = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        places = [n for n, other in enumerate(names) if other == name]
        ends = _ends([paths[n] if n < len(paths) else "" for n in places])
        for count, (n, end) in enumerate(zip(places, ends, strict=True), 1):
            told[n] = f"{name} ({safe(end, 60)})" if end else name if count == 1 else f"{name} ({count})"
    return told


def _ends(paths: Sequence[str]) -> list[str]:
    """The shortest ends of paths that are all different; empty where there are none."""
    parts = [Path(path).parts for path in paths]
    for length in range(1, max(map(len, parts), default=0) + 1):
        ends = [str(Path(*one[-length:])) if one else "" for one in parts]
        if len(set(ends)) == len(ends) and all(ends):
            return ends
    return [""] * len(paths)


def names_of(files: Sequence[StoredSet]) -> list[str]:
    """The scenarios' names, told apart."""
    names = [safe(stored.plan_set.scenario_name, 60) for stored in files]
    return distinct(names, [stored.path or stored.plan_set.scenario_file for stored in files])


def best(stored: StoredSet) -> Evaluation | None:
    """The first plan."""
    return stored.plan_set.plans[0].evaluation if stored.plan_set.plans else None


def alternatives(files: Sequence[StoredSet]) -> bool:
    """True where all serve the same traffic with the same model: one of them is to be chosen, not all to be bought.

    The same traffic is the same load of the same classes; what serves twice as much is another service.
    """
    served = [
        (s.scenario.model.name, s.scenario.workload.classes, s.scenario.workload.requests_per_second)
        for s in files if s.scenario
    ]  # fmt: skip
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
    both = saved_together(files)
    against = "" if both is None else f"; {_less(*both)} their simplest deployments"
    return head, f"Together {per_year(total)} a year for {quantity(gpus)} GPUs{against}.{none}"


def saved_together(files: Sequence[StoredSet]) -> tuple[float, float] | None:
    """What all first plans cost, and what the simplest deployment of each would; None where one has neither."""
    pairs = [(plan.usd_per_hour, base.usd_per_hour) for s in files
             if (plan := best(s)) and (base := simplest(s.plan_set))]  # fmt: skip
    if len(pairs) < len([s for s in files if best(s)]):
        return None
    return sum(cost for cost, _ in pairs), sum(base for _, base in pairs)


def _less(cost: float, base: float) -> str:
    saved = base - cost
    if saved <= 5e-4 * base:
        return "as much as"
    return f"{per_month(saved)} a month ({percent(saved / base, 1)}) less than"


def overview(files: Sequence[StoredSet]) -> Table:
    """One row per file: alternatives against the first of them, several services with their sum."""
    rivals = alternatives(files)
    plans = [plan for stored in files if (plan := best(stored))]
    summed = not rivals and len(plans) > 1
    costs = iter(_columns(plans, summed))
    rows = [
        _row(stored, name, next(costs) if best(stored) else ("", ""), files[0] if rivals else None)
        for stored, name in zip(files, names_of(files), strict=True)
    ]
    if summed:
        rows.append(_together(files, plans))
    titles = ["service", "per month", "per year", "$/Mtok", "saves against the simplest", "slowest first token", "TPOT",
              "hit rate", "proof", "runs on"]  # fmt: skip
    if rivals:
        titles.insert(3, "against the first")
    last = len(titles) - 1
    right = frozenset(range(1, last - 1))
    return Table(
        "First plan of each file", tuple(titles), tuple(rows), right, totals=int(summed), under=last, stack=True
    )


def _columns(plans: Sequence[Evaluation], summed: bool) -> list[tuple[str, str]]:
    """Each plan's dollars per month and per year; where they are summed, they add up as shown."""
    hourly = [plan.usd_per_hour for plan in plans]
    columns = [[h * hours for h in hourly] for hours in (HOURS_PER_MONTH, HOURS_PER_YEAR)]
    shown = [rounded_to_sum(column) if summed else column for column in columns]
    return [(usd(month, 0), usd(year, 0)) for month, year in zip(*shown, strict=True)]


def _together(files: Sequence[StoredSet], plans: Sequence[Evaluation]) -> tuple[str, ...]:
    total, saved = sum(plan.usd_per_hour for plan in plans), saved_together(files)
    share = ABSENT if saved is None else percent(max(0.0, 1 - saved[0] / (saved[1] or 1.0)), 1)
    gpus = sum(line.quantity for plan in plans for line in plan.costs if line.unit == "GPU")
    return ("together", per_month(total), per_year(total), "", share, *[""] * 4, f"{quantity(gpus)} GPUs")


def _row(stored: StoredSet, name: str, costs: tuple[str, str], first: StoredSet | None) -> tuple[str, ...]:
    found, plan = stored.plan_set, best(stored)
    if plan is None:
        why = safe(found.reasons[0] if found.reasons else found.status, 120)
        return (name, *[ABSENT] * (9 if first else 8), f"nothing: {why}")
    against = [] if first is None else [_against(plan, first) if stored is not first else ABSENT]
    proof = found.certificate
    return (
        name,
        *costs,
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
        Table(_differ(len(first), "input", "the scenarios"), titles, first, code=frozenset({0}), stack=True),
        Table(_differ(len(rest), "value", "models and hardware"), titles, rest, code=frozenset({0}), stack=True),
    )


def _place(key: str) -> int:
    return next(
        (n for n, part in enumerate(FIRST) if key == part or key.startswith((f"{part}.", f"{part}["))), len(FIRST)
    )


def _differ(count: int, noun: str, of: str) -> str:
    """How many differ.

    >>> _differ(1, "input", "the scenarios")
    '1 input of the scenarios differs'
    """
    return f"{counted(count, noun)} of {of} differ{'s' if count == 1 else ''}"


def proofs(files: Sequence[StoredSet]) -> Table:
    """Each file's proof, versions and hash, whole."""
    rows = [_proof(stored, name) for stored, name in zip(files, names_of(files), strict=True)]
    titles = ("service", "status", "cost of the first plan", "lower bound of any design", "gap", "its target",
              "verified by", "versions", "file and hash")  # fmt: skip
    caption = "Proof, versions and hashes of each"
    return Table(caption, titles, tuple(rows), frozenset({2, 3, 4, 5}), under=len(titles) - 1, stack=True)


def _proof(stored: StoredSet, name: str) -> tuple[str, ...]:
    found, proof = stored.plan_set, stored.plan_set.certificate
    figures: list[str] = [ABSENT] * 5
    if proof is not None:
        figures = [f"{usd(cost, 4)}/h" for cost in (proof.usd_per_hour, proof.usd_per_hour_lower_bound)]
        figures += [percent(share, 4) for share in (proof.relative_gap, proof.target_gap)]
        figures.append(safe("; ".join(proof.verified_by)) or "not asked for")
    versions = joined(safe(f"{key} {value}" if key != "solver" else value) for key, value in found.versions)
    places = dict.fromkeys(safe(place, 400) for place in (stored.path, found.scenario_file) if place)
    return (name, found.status, *figures, versions, joined([*places, f"SHA-256 {safe(found.scenario_sha256)}"]))
