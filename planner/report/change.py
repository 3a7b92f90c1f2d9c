"""What could change the answer: the runner-up, the promises that bind, re-solves, and what is only estimated."""

from __future__ import annotations

from planner.plan import Evaluation, PlanSet
from planner.report.certainty import sentence
from planner.report.derivation import meaning
from planner.report.format import joined, percent, safe, unit_price
from planner.report.reread import StoredSet
from planner.report.stopped import STOPPED, may_be_cheaper
from planner.report.tabular import per_month
from planner.report.together import beyond, span
from planner.report.whole import SAME
from planner.report.words import even

FIRM = "high"
PLAIN = {
    "transfer made free": "a KV transfer that takes no time",
    "TTFT a tenth longer": "a TTFT limit a tenth longer",
    "the same structure": "no other kind of design",
}


def changes(stored: StoredSet, proven_usd_per_hour: float | None = None) -> list[tuple[str, str]]:
    """Each as a subject and a sentence, most decisive first.

    ``proven_usd_per_hour`` is the cheapest plan at today's promises, where a study has proved it since.
    """
    found = stored.plan_set
    if not found.plans:
        return []
    return [*_stopped(found), *_runner_up(found), *_times(stored), *_binding(found), *_limits(stored),
            *_combining(found), *_proof(found, proven_usd_per_hour), *_prices(stored), *_estimates(found)]  # fmt: skip


def _stopped(found: PlanSet) -> list[tuple[str, str]]:
    """Why the search ended before its time, each reason once, and what that leaves open."""
    left_open: dict[str, list[str]] = {}
    for warning in found.warnings:
        if warning.startswith(STOPPED):
            why, _, said = safe(warning.removeprefix(STOPPED).strip(), 200).partition(": ")
            left_open.setdefault(why, []).append(said)
    told = [f"{why}: {'; '.join(said)}" for why, said in left_open.items()]
    return [("Stopped early", "; ".join(told) + ".")] if told else []


def _runner_up(found: PlanSet) -> list[tuple[str, str]]:
    if len(found.plans) < 2:
        return []
    best, second = found.plans[0].evaluation, found.plans[1]
    more = second.evaluation.usd_per_hour - best.usd_per_hour
    differs = even(safe("; ".join(second.differs_by), 200))
    share = percent(more / (best.usd_per_hour or 1.0), 1, signed=True)
    text = f"{share}, {per_month(more)} a month more" if more > 0 else "costs the same"
    return [("The next design:", f"{text}{f' ({differs})' if differs else ''}.")]


def _binding(found: PlanSet) -> list[tuple[str, str]]:
    entries = [meaning(name) for name in found.plans[0].evaluation.binding]
    return [("What binds:", "; ".join(entries) + ".")] if entries else []


def _limits(stored: StoredSet) -> list[tuple[str, str]]:
    found = stored.plan_set
    if found.verdict is None:
        return []
    best = found.plans[0].evaluation.usd_per_hour
    entries = []
    for limit in found.verdict.limits:
        cost = ""
        if limit.usd_per_hour is not None:
            cost = f", {_against(limit.usd_per_hour, best)}"
        if_so, becomes = _plainly(limit.relaxation), even(_plainly(limit.becomes), stored.system)
        entries.append(f"{if_so}: {becomes}{cost}")
    return [("Solved again with", "; ".join(entries) + ".")] if entries else []


def _plainly(text: str) -> str:
    """What was relaxed and what came of it, in words for people who plan a budget.

    >>> _plainly("transfer made free"), _plainly("the same structure")
    ('a KV transfer that takes no time', 'no other kind of design')
    """
    return PLAIN.get(text, safe(text, 200))


def _against(usd_per_hour: float, best: float) -> str:
    """A cost against the first plan's.

    >>> _against(95.0, 100.0), _against(100.01, 100.0)
    ('−5.0 %', 'at the same cost')
    """
    change = usd_per_hour / best - 1 if best > 0 else 0.0
    return percent(change, 1, signed=True) if abs(change) >= 5e-4 else "at the same cost"


def _combining(found: PlanSet) -> list[tuple[str, str]]:
    said = beyond(found)
    return [("Tiers with disaggregation:", joined([said, span(found)], " "))] if said else []


def _proof(found: PlanSet, proven_usd_per_hour: float | None) -> list[tuple[str, str]]:
    proof = found.certificate
    if proof is None or proof.proven:
        return []
    if proven_usd_per_hour is not None:
        return [("Proven since:", proven_since(found.plans[0].evaluation, proven_usd_per_hour))]
    return [("Not proven:", f"{may_be_cheaper(proof.relative_gap)}.")]


def proven_since(plan: Evaluation, usd_per_hour: float) -> str:
    """A plan that was not proven, beside the cheapest one at today's promises, which a study has proved since."""
    less = plan.usd_per_hour - usd_per_hour
    if less <= SAME * plan.usd_per_hour:
        return "The study below found nothing cheaper at today's promises, with a proof."
    return (
        f"The study below found the cheapest plan at today's promises, with a proof: {per_month(usd_per_hour)} a "
        f"month, {per_month(less)} less than this one. Solve again to have it."
    )


def _times(stored: StoredSet) -> list[tuple[str, str]]:
    said = sentence(stored, stored.plan_set.plans[0].evaluation)
    return [("How sure the times are:", said)] if said else []


def _prices(stored: StoredSet) -> list[tuple[str, str]]:
    """Prices on the bill that are defaults or less than firmly known."""
    found = stored.plan_set
    sources, defaults = dict(found.sources), dict(found.defaults)
    entries = []
    lines = {line.source_key: line for line in found.plans[0].evaluation.costs if line.usd_per_hour > 0}
    for key, line in lines.items():
        source = sources.get(key, "")
        confidence = source.rpartition("confidence ")[2]
        if key in defaults or (source and confidence != FIRM):
            kind = joined(["a default" if key in defaults else "", f"confidence {confidence}" if source else ""], ", ")
            goods = "GPUs" if line.unit == "GPU" else safe(line.item, 40)
            price = unit_price(line.unit_usd_per_hour, safe(line.unit, 20))
            entries.append(f"{goods} at {price} ({safe(kind, 80)})")
    return [("Prices to check:", "; ".join(entries) + ".")] if entries else []


def _estimates(found: PlanSet) -> list[tuple[str, str]]:
    notes = len(dict.fromkeys(found.plans[0].evaluation.notes))
    if not notes:
        return []
    return [("Estimates it rests on:", f"{notes}, under Assumptions; {_defaults(len(found.defaults))}.")]


def _defaults(count: int) -> str:
    return "1 value is a default" if count == 1 else f"{count} values are defaults"
