"""The terminal's answer: what to buy, what it costs, why, and what else was close. 80 to 100 columns.

Plain text unless ``colour`` is asked for. Every figure comes from the results as they are; this module only formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from planner.plan import Certificate, Evaluation, Plan, PlanSet, Pool, TierUse
from planner.report import combining, sections
from planner.report.format import joined, percent, safe, seconds_text, size, usd, usd_per_mtok
from planner.report.grid import paragraph
from planner.report.stopped import is_unreached, may_be_cheaper, rounded_up

Tone = Literal["plain", "title", "answer", "heading", "quiet"]
_ANSI: dict[Tone, str] = {"title": "1", "answer": "1;32", "heading": "1;36", "quiet": "2"}
NARROWEST = 80  # columns that the figures of a path need
OPTIMAL_GAP = 1e-4  # a wider gap may be what was asked for, but is not called optimal
_BAR_COLOURS = {"░": "33", "▒": "35", "▓": "34", "█": "31"}


@dataclass(frozen=True)
class Line:
    """One line of output and how it is toned on a colour terminal."""

    text: str
    tone: Tone = "plain"


def to_table(plan_set: PlanSet, colour: bool = False) -> str:
    """The whole answer as text, ready to print."""
    lines = [*_title(plan_set)]
    if plan_set.plans:
        best = plan_set.plans[0].evaluation
        lines += _answer(plan_set)
        lines += _section("Cost", sections.costs(best, plan_set.defaults))
        lines += _section("Time to first token", sections.ttft(best))
        lines += _section("Tiers", sections.tiers(best))
        lines += _section("Pools", sections.pools(best))
        lines += _section("Ranked plans", sections.ranking(plan_set.plans))
    else:
        lines += _nothing_fits(plan_set)
    lines += _section("Do tiers and disaggregation add up?", combining.cells(plan_set))
    lines += _section("Notes", sections.notes(plan_set), tone="quiet")
    return "\n".join(_painted(line) if colour else line.text for line in lines) + "\n"


def certificate_line(certificate: Certificate | None, seconds: float = 0.0) -> str:
    """What was proven about the first plan, in one line; "optimal" is said only where it was.

    The gap is ``1 - bound / cost``: how much cheaper another design could be, not how far the plan is above the bound.

    >>> certificate_line(Certificate(99.0, 100.0, 0.01, 1e-4, 3, 2.0, "HiGHS"))
    'not proven optimal: a design up to 1.00 % cheaper may exist (3 rounds, 2.0 s)'
    """
    if certificate is None:
        return "no certificate: nothing was proven"
    gap = percent(rounded_up(certificate.relative_gap), 2)
    rounds = f"{certificate.rounds} round{'s' if certificate.rounds != 1 else ''}"
    effort = f"({rounds}, {seconds_text(max(seconds, certificate.seconds))})"
    checked = joined([f"verified by {', '.join(certificate.verified_by)}" if certificate.verified_by else ""])
    if certificate.proven and certificate.relative_gap > OPTIMAL_GAP:
        return joined([f"proven: no design is more than {gap} cheaper, as asked for {effort}", checked])
    if certificate.proven:
        return joined([f"optimal: proven within {gap} {effort}", checked])
    return joined([f"not proven optimal: {may_be_cheaper(certificate.relative_gap)} {effort}", checked])


def _title(plan_set: PlanSet) -> list[Line]:
    title = joined([safe(plan_set.scenario_name, 60), safe(plan_set.headline, 300)])
    return [Line(text, "title") for text in paragraph(title, indent=0)]


def _section(heading: str, texts: Iterable[str], tone: Tone = "plain") -> list[Line]:
    body = list(texts)
    if not body:
        return []
    return [Line(""), Line(f"  {heading}", "heading"), *(Line(text, tone) for text in body)]


def _answer(plan_set: PlanSet) -> list[Line]:
    best = plan_set.plans[0].evaluation
    price = f"{usd_per_mtok(best.usd_per_million_tokens)} / Mtok · {usd(best.usd_per_hour)}/h"
    lines = [Line(""), Line(f"  {price}", "answer")]
    lines += [Line(text) for text in paragraph(design(plan_set.plans[0]))]
    return lines + [Line(text) for text in paragraph(saving(plan_set))]


def design(plan: Plan) -> str:
    """A plan in one line: architecture, GPUs, and each tier in use with its role."""
    found = plan.evaluation
    gpus = _gpus(found.prefill, found.decode)
    tiers = [f"{size(t.capacity_bytes)} {safe(t.name, 24)} ({t.role})" for t in in_use(found.tiers)]
    return joined([found.decision.architecture, gpus, *(tiers or ["no tier besides HBM"])])


def in_use(tiers: Sequence[TierUse]) -> list[TierUse]:
    """The tiers that are bought: all in use but HBM, which comes first and with the GPUs."""
    return [tier for tier in tiers[1:] if tier.role != "unused"]


def _gpus(prefill: Pool, decode: Pool | None) -> str:
    pools = [p for p in (prefill, decode) if p is not None]
    last = "GPU" if pools[-1].gpus == 1 else "GPUs"
    text = f"{prefill.gpus} prefill + {decode.gpus} decode {last}" if decode else f"{prefill.gpus} {last}"
    billed = sum(p.billed_gpus for p in pools)
    return text if billed <= sum(p.gpus for p in pools) else f"{text} ({billed:,.0f} billed by the node)"


def saving(plan_set: PlanSet) -> str:
    """The first plan against the plain design: colocated, without tiers."""
    best = plan_set.plans[0].evaluation
    base = next((c for c in plan_set.cells if c.architecture == "colocated" and not c.tiered), None)
    if base is None:
        return ""
    if is_unreached(base):
        return f"colocated without tiers was not reached: {safe(base.why_not, 200)}; no saving is known"
    if base.evaluation is None:
        why = f": {safe(base.why_not, 200)}" if base.why_not else ""
        return f"colocated without tiers is not possible{why}"
    if _same_design(best, base.evaluation):
        return "buy no tier, do not disaggregate: colocated without tiers is the cheapest"
    share = 1.0 - best.usd_per_hour / base.evaluation.usd_per_hour
    if abs(share) < 5e-4:
        return f"costs the same as colocated without tiers ({usd(base.evaluation.usd_per_hour)}/h)"
    word = "below" if share > 0 else "above"
    digits = 0 if abs(share) >= 0.1 else 1
    open_ended = base.certificate is not None and not base.certificate.proven
    its = f"{usd(base.evaluation.usd_per_hour)}/h{', not proven' if open_ended else ''}"
    return f"{percent(abs(share), digits)} {word} colocated without tiers ({its})"


def _same_design(one: Evaluation, other: Evaluation) -> bool:
    return one.decision.structure() == other.decision.structure()


def _nothing_fits(plan_set: PlanSet) -> list[Line]:
    texts = ["no design keeps every promise" if plan_set.status == "infeasible" else "no plan was found"]
    lines = [Line(""), Line(f"  {texts[0]}", "answer")]
    return lines + [Line(text) for reason in plan_set.reasons for text in paragraph(f"- {safe(reason, 500)}", hang=2)]


def _painted(line: Line) -> str:
    text = re.sub("░+|▒+|▓+|█+", lambda run: f"\x1b[{_BAR_COLOURS[run[0][0]]}m{run[0]}\x1b[0m", line.text)
    code = _ANSI.get(line.tone)
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text
