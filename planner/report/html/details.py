"""The tables behind the pictures: ranked plans, tiers, pools, and whether combining pays."""

from __future__ import annotations

from planner.plan import Evaluation, Plan, PlanSet, Pool, TierUse
from planner.report.combining import verdict_sentence
from planner.report.format import ABSENT, ms, number, percent, quantity, rounded_to_sum, safe, size, usd, usd_per_mtok
from planner.report.html.budget import per_month
from planner.report.html.chart_cost import short_design
from planner.report.html.parts import Table, table_html, text
from planner.report.sections import pool


def ranked(plans: tuple[Plan, ...]) -> Table:
    """The ranked plans and what sets each apart from the first."""
    first = plans[0].evaluation.usd_per_hour or 1.0
    rows = [
        (
            str(plan.rank),
            per_month(plan.evaluation.usd_per_hour),
            usd_per_mtok(plan.evaluation.usd_per_million_tokens),
            "" if n == 0 else percent(plan.evaluation.usd_per_hour / first - 1.0, 1, signed=True),
            short_design(plan.evaluation),
            " + ".join(pool(p) for p in (plan.evaluation.prefill, plan.evaluation.decode) if p),
            safe("; ".join(plan.differs_by), 400) or ABSENT,
        )
        for n, plan in enumerate(plans)
    ]
    titles = ("#", "$/month", "$/Mtok", "above", "design", "instances", "differs by")
    return Table("Ranked plans", titles, tuple(rows), frozenset({1, 2, 3}), marked=frozenset({0}))


def tiers(found: Evaluation) -> Table:
    """Each tier's role, and why it has that role; hits and misses sum to 100 %."""
    shares = rounded_to_sum([*(t.hit_rate for t in found.tiers), 1.0 - sum(t.hit_rate for t in found.tiers)], 3)
    rows = [_tier(tier, share) for tier, share in zip(found.tiers, shares, strict=False)]
    rows.append(("miss", "", "", percent(shares[-1], 1), "", "", "", ""))
    titles = ("tier", "role", "capacity", "hits", "reads", "fetch", "slack", "why")
    return Table("Cache tiers of the first plan", titles, tuple(rows), frozenset({2, 3, 4, 5, 6}))


def _tier(tier: TierUse, share: float) -> tuple[str, ...]:
    why = safe(tier.why, 400)
    if tier.role == "unused":
        return (safe(tier.name, 40), "unused", *[ABSENT] * 5, why)
    fetched = tier.fetch_s > 0
    reads, fetch = (percent(tier.read_utilization), ms(tier.fetch_s)) if fetched else (ABSENT, ABSENT)
    figures = (size(tier.capacity_bytes), percent(share, 1), reads, fetch, ms(tier.slack_s))
    return (safe(tier.name, 40), tier.role, *figures, why)


def pools(found: Evaluation) -> Table:
    """What each pool runs and how busy it is."""
    named = [("prefill" if found.decode else "prefill and decode", found.prefill)]
    named += [("decode", found.decode)] if found.decode else []
    titles = ("pool", "instances", "GPUs", "nodes", "prefill load", "busy", "batch", "slots used", "TPOT")
    return Table("Pools of the first plan", titles, tuple(_pool(*one) for one in named), frozenset(range(2, 9)))


def _pool(name: str, one: Pool) -> tuple[str, ...]:
    slots = one.instances * one.batch if one.batch else None
    return (
        name,
        pool(one),
        number(one.gpus),
        f"{one.nodes:.4g}",
        ABSENT if one.offered_load is None else f"{number(one.offered_load, 2)} of {quantity(one.servers or 0)}",
        ABSENT if one.utilization is None else percent(one.utilization),
        ABSENT if one.batch is None else number(one.batch),
        ABSENT if one.slots_needed is None or slots is None else f"{number(one.slots_needed)} of {number(slots)}",
        ABSENT if one.tpot_s is None else ms(one.tpot_s),
    )


def combining(found: PlanSet) -> str:
    """The four cells and the verdict."""
    price = {(c.architecture, c.tiered): c.evaluation.usd_per_hour for c in found.cells if c.evaluation}
    if not price:
        return ""
    rows = []
    for architecture in dict.fromkeys(cell.architecture for cell in found.cells):
        pair = [price.get((architecture, tiered)) for tiered in (False, True)]
        saved = percent(1.0 - pair[1] / pair[0], 1) if pair[0] and pair[1] is not None else ABSENT
        rows.append((architecture, *("not possible" if p is None else per_month(p) for p in pair), saved))
    titles = ("", "HBM only", "with tiers", "tiers save")
    body = table_html(Table("Cheapest design of each kind, per month", titles, tuple(rows), frozenset({1, 2, 3})))
    reasons = dict.fromkeys(cell.why_not for cell in found.cells if cell.evaluation is None and cell.why_not)
    body += "".join(f"<p class=note>Not possible: {text(reason, 300)}</p>" for reason in reasons)
    said = "".join(f"<p>{text(line)}</p>" for line in verdict_sentence(found).split("\n") if line)
    return body + said + _points(found)


def _points(found: PlanSet) -> str:
    points = found.verdict.points if found.verdict else ()
    if not points:
        return ""
    rows = []
    for point in points:
        amount = point.interaction_usd_per_hour
        load = f"{percent(point.load_factor)}{', fractional instances' if point.fractional else ''}"
        rows.append((load, ABSENT if amount is None else f"{usd(amount, signed=True)}/h"))
    return table_html(Table("Interaction by load", ("load", "interaction"), tuple(rows), frozenset({1})))
