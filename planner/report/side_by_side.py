"""Several plan files beside each other, as text: what each buys, what it costs, which inputs differ."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Evaluation, PlanSet
from planner.report.assumptions import leaves, value_text
from planner.report.certainty import band, basis, errors
from planner.report.format import ABSENT, joined, ms, percent, quantity, safe, usd, usd_per_mtok
from planner.report.headline import purchase, simplest, unreached
from planner.report.reread import StoredSet
from planner.report.services import alternatives, best, chosen, groups, names_of, saved_together
from planner.report.stopped import proof_text
from planner.report.study_common import counted
from planner.report.tabular import Table, per_month, per_year
from planner.scenario.yamltree import dotted

WORDS = ("service", "slowest first token", "TPOT", "times", "tiers and disaggregation", "proof", "runs on")  # may break
IDENTITY = ("name", "description")
FIRST = ("model.name", "model.title", "workload", "slo", "prices", "tiers", "engine", "deployment", "solve")


def overview(files: Sequence[StoredSet]) -> Table:
    """One row per file: variants of one service against the first of them, several services with their sum.

    Every price is rounded by itself, the sum too, so that a plan has one price wherever it is shown.
    """
    rivals, counting = alternatives(files), chosen(files)
    summed = not rivals and len(counting) > 1
    told = any(stored.plan_set.verdict for stored in files)
    rows = [
        _row(stored, name, files[0] if rivals else None, told)
        for stored, name in zip(files, names_of(files), strict=True)
    ]
    titles = ["service", "per month", "per year", "$/Mtok", "saves against the simplest", "slowest first token", "TPOT",
              "times", "hit rate", *["tiers and disaggregation"] * told, "proof", "runs on"]  # fmt: skip
    if summed:
        varied = len(groups(files)) < len(files)
        rows.append(_together(counting, "cheapest of each, together" if varied else "together", len(titles)))
    if rivals:
        titles.insert(3, "against the first")
    right = frozenset(n for n, title in enumerate(titles) if title not in WORDS)
    caption = "First plan of each file" + (", each price rounded" if summed else "")
    return Table(caption, tuple(titles), tuple(rows), right, totals=int(summed), under=len(titles) - 1, stack=True)


def _together(files: Sequence[StoredSet], name: str, columns: int) -> tuple[str, ...]:
    plans, saved = [plan for s in files if (plan := best(s))], saved_together(files)
    total = sum(plan.usd_per_hour for plan in plans)
    share = ABSENT if saved is None else percent(max(0.0, 1 - saved[0] / (saved[1] or 1.0)), 1)
    gpus = sum(line.quantity for plan in plans for line in plan.costs if line.unit == "GPU")
    return (name, per_month(total), per_year(total), "", share, *[""] * (columns - 6), f"{quantity(gpus)} GPUs")


def _row(stored: StoredSet, name: str, first: StoredSet | None, told: bool) -> tuple[str, ...]:
    found, plan = stored.plan_set, best(stored)
    if plan is None:
        why = safe(found.reasons[0] if found.reasons else found.status, 120)
        return (name, *[ABSENT] * (9 + bool(first) + told), f"nothing: {why}")
    against = [] if first is None else [_against(plan, first) if stored is not first else ABSENT]
    return (
        name,
        per_month(plan.usd_per_hour),
        per_year(plan.usd_per_hour),
        *against,
        usd_per_mtok(plan.usd_per_million_tokens),
        _saved(found, plan),
        *_times(stored, plan),
        basis(stored.scenario, plan) or ABSENT,
        percent(plan.effective_hit_rate, 1),
        *([found.verdict.word if found.verdict else ABSENT] if told else []),
        proof_text(found),
        purchase(stored),
    )


def _against(plan: Evaluation, first: StoredSet) -> str:
    other = best(first)
    return ABSENT if other is None else percent(plan.usd_per_hour / (other.usd_per_hour or 1.0) - 1, 1, signed=True)


def _saved(found: PlanSet, plan: Evaluation) -> str:
    base = simplest(found)
    if base is None:
        return "not known" if unreached(found) else ABSENT
    share = max(0.0, 1 - plan.usd_per_hour / (base.usd_per_hour or 1.0))
    return f"{'' if base.proven else 'at most '}{percent(share, 1)}{'*' if base.why_not else ''}"


def _times(stored: StoredSet, plan: Evaluation) -> tuple[str, str]:
    """The slowest first token and TPOT, each with its error and its limit."""
    tpot_error, ttft_error = errors(stored, plan)
    slo = stored.scenario.slo if stored.scenario else None
    worst = max((path.total_s for path in plan.paths if path.in_use), default=None)
    limits = (None, None) if slo is None else (slo.ttft_ms / 1e3, slo.tpot_ms / 1e3)
    first = ABSENT if worst is None else _against_limit(worst, band(ttft_error), limits[0])
    return first, _against_limit(plan.tpot_s, band(tpot_error), limits[1])


def _against_limit(time_s: float, error: str, limit_s: float | None) -> str:
    """A time, its error and its limit.

    >>> _against_limit(1.5, " \N{MINUS SIGN}52 … +115 %", 1.5)
    '1,500 ms (−52 … +115 %), limit 1,500 ms'
    """
    limit = "" if limit_s is None else f", limit {ms(limit_s)}"
    return f"{ms(time_s)}{f' ({error.strip()})' if error else ''}{limit}"


def simplest_note(files: Sequence[StoredSet]) -> str:
    """What the savings are against."""
    bases = [simplest(stored.plan_set) for stored in files if stored.plan_set.plans]
    note = "The simplest deployment is colocated without tiers"
    if any(base is not None and base.why_not for base in bases):
        note += "; *: that is impossible there, and the next simplest is taken: disaggregated without tiers, or tiers"
    if any(unreached(stored.plan_set) for stored in files if stored.plan_set.plans):
        note += "; not known: the search stopped early, before that was reached"
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
