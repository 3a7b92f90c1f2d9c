"""Which plan files are services to be bought together, and which are variants of one, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.plan import Evaluation
from planner.report.format import percent, quantity, safe
from planner.report.headline import simplest
from planner.report.reread import StoredSet
from planner.report.stopped import stops
from planner.report.study_common import counted
from planner.report.tabular import per_month, per_year
from planner.report.whole import SAME


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


def groups(files: Sequence[StoredSet]) -> list[list[StoredSet]]:
    """Files that serve the same traffic with the same model: of each group one is to be chosen, not all to be bought.

    The same traffic is the same load of the same classes; what serves twice as much is another service.
    """
    found: list[tuple[object, list[StoredSet]]] = []
    for s in files:
        work = s.scenario.workload if s.scenario else None
        served = (s.scenario.model.name, work.classes, work.requests_per_second) if s.scenario and work else None
        same = next((group for key, group in found if key == served and served is not None), None)
        if same is None:
            found.append((served, [s]))
        else:
            same.append(s)
    return [group for _, group in found]


def alternatives(files: Sequence[StoredSet]) -> bool:
    """True where all serve the same traffic with the same model: one of them is to be chosen."""
    return len(groups(files)) == 1


def chosen(files: Sequence[StoredSet]) -> list[StoredSet]:
    """The cheapest variant of each service that has a plan."""
    planned = [[s for s in group if best(s)] for group in groups(files)]
    return [min(group, key=_cost) for group in planned if group]


def _cost(stored: StoredSet) -> float:
    plan = best(stored)
    return plan.usd_per_hour if plan else float("inf")


def headings(files: Sequence[StoredSet]) -> tuple[str, str]:
    """What the comparison comes to, and what it rests on: files without a plan, searches that were cut short."""
    planned = [s for s in files if best(s)]
    if not planned:
        return f"{len(files)} scenarios, and none has a plan", ""
    head, lead = _of_one(files) if alternatives(files) else _of_several(files)
    missing = len(files) - len(planned)
    none = f"{missing} of {len(files)} have no plan." if missing else ""
    return head, " ".join(part for part in (lead, none, _cut_short(files)) if part)


def _cut_short(files: Sequence[StoredSet]) -> str:
    cut = [f"{name} {why}" for name, s in zip(names_of(files), files, strict=True) if best(s) and _is_open(s)
           if (why := stops(s.plan_set) or "is not proven")]  # fmt: skip
    return f"Not proven: {', '.join(cut)}; its cost may be lower." if cut else ""


def _is_open(stored: StoredSet) -> bool:
    proof = stored.plan_set.certificate
    return proof is not None and not proof.proven


def _of_one(files: Sequence[StoredSet]) -> tuple[str, str]:
    """Variants of one service against each other."""
    found = [(name, plan.usd_per_hour) for name, s in zip(names_of(files), files, strict=True) if (plan := best(s))]
    (name, cost), *_ = found
    if len(found) == 1:
        return f"Only {name} has a plan: {per_month(cost)} a month", f"{per_year(cost)} a year."
    (name, cost), *_, (last, most) = sorted(found, key=lambda pair: pair[1])
    if most - cost <= SAME * most:
        return f"All cost the same: {per_month(cost)} a month", ""
    saved = f"{per_month(most - cost)} a month ({percent(1 - cost / most, 1)}) less than {last}"
    return f"{name} costs {saved}", f"{name}: {per_month(cost)} a month, {per_year(cost)} a year."


def _of_several(files: Sequence[StoredSet]) -> tuple[str, str]:
    """Services together; of one in several variants the cheapest counts."""
    counting = chosen(files)
    plans = [plan for s in counting if (plan := best(s))]
    total = sum(plan.usd_per_hour for plan in plans)
    gpus = sum(line.quantity for plan in plans for line in plan.costs if line.unit == "GPU")
    varied = len(groups(files)) < len(files)
    cheapest = ", the cheapest variant of each" if varied else ""
    head = f"{counted(len(plans), 'service')} for {per_month(total)} a month{cheapest}"
    both = saved_together(counting)
    against = "" if both is None else f"; {_less(*both)} their simplest deployments"
    names = dict(zip(map(id, files), names_of(files), strict=True))
    which = f" Counted: {', '.join(names[id(s)] for s in counting)}." if varied else ""
    return head, f"Together {per_year(total)} a year for {quantity(gpus)} GPUs{against}.{which}"


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
