"""The first screen: what to buy, what it costs, what it saves, and how sure that is."""

from __future__ import annotations

from planner.plan import Cell, Evaluation, PlanSet
from planner.report.format import ms, percent, quantity, safe, size, usd, usd_per_mtok
from planner.report.html.budget import order, per_month, per_year
from planner.report.html.parts import table_html, text
from planner.report.reread import StoredSet
from planner.report.table import certificate_line


def answer(stored: StoredSet) -> str:
    """Headline, four figures, and the order list; or why there is nothing to buy."""
    found = stored.plan_set
    if not found.plans:
        return _nothing(found)
    best = found.plans[0].evaluation
    cards = [_cost_card(best), _token_card(stored, best), _saving_card(found, best), _promise_card(best)]
    return (
        f"<h1>{text(headline(stored))}</h1>\n<p class=lead>{text(found.headline, 400)}</p>\n"
        f"<div class=cards>{''.join(cards)}</div>\n"
        f"<p class=proof>{text(_sentence(certificate_line(found.certificate, found.seconds)))}</p>\n"
        f"{table_html(order(best, stored.scenario))}"
        "<p class=note>A month is 730 hours, a year 8,760. Capacities are in 10⁹ bytes; modules and drives are common "
        "sizes, rounded up so that every node is alike.</p>\n"
    )


def headline(stored: StoredSet) -> str:
    """The purchase in one sentence, for the heading and the page's title."""
    if not stored.plan_set.plans:
        return "No design keeps every promise"
    best = stored.plan_set.plans[0].evaluation
    gpus = sum(line.quantity for line in best.costs if line.unit == "GPU")
    spec = stored.scenario.hardware if stored.scenario else None
    kind = f" {safe(spec.title or spec.name, 40)}" if spec else ""
    paid = {line.source_key for line in best.costs if line.usd_per_hour > 0}
    bought: list[str] = [f"{quantity(gpus)}{kind} GPUs"]
    brought: list[str] = []
    for t, tier in enumerate(best.tiers[1:]):
        if tier.role != "unused":
            goods = bought if f"tiers[{t}].usd_per_gb_hour" in paid else brought
            goods.append(f"{size(tier.capacity_bytes)} of {label(tier.name)}")
    use = f"; use {_and(brought)} of their nodes" if brought else ""
    return f"Buy {_and(bought)}, {best.decision.architecture}{use}"


def label(name: str) -> str:
    """A tier as people write it: short names are abbreviations.

    >>> label("dram"), label("object-store")
    ('DRAM', 'object-store')
    """
    return safe(name.upper() if len(name) <= 4 else name, 24).replace("NVME", "NVMe")


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _card(title: str, value: str, *below: str) -> str:
    lines = "".join(f"<span>{text(line)}</span>" for line in below if line)
    return f"<div class=card><h2>{text(title)}</h2><strong>{text(value)}</strong>{lines}</div>"


def _cost_card(best: Evaluation) -> str:
    return _card("Cost per month", per_month(best.usd_per_hour), f"{per_year(best.usd_per_hour)} a year",
                 f"{usd(best.usd_per_hour)} an hour")  # fmt: skip


def _token_card(stored: StoredSet, best: Evaluation) -> str:
    counted = stored.scenario.prices.tokens_counted if stored.scenario else ""
    what = {"generated": "generated tokens only"}.get(counted, "prompt and generated tokens" if counted else "")
    rate = f"at {quantity(stored.scenario.workload.requests_per_second)} requests/s" if stored.scenario else ""
    return _card("Cost per million tokens", usd_per_mtok(best.usd_per_million_tokens), what, rate)


def simplest(found: PlanSet) -> Cell | None:
    """The plainest design: colocated, without tiers."""
    return next((c for c in found.cells if c.architecture == "colocated" and not c.tiered), None)


def _saving_card(found: PlanSet, best: Evaluation) -> str:
    title, base = "Saving against colocated without tiers", simplest(found)
    if base is None:
        return _card(title, "not computed")
    if base.evaluation is None:
        return _card(title, "not comparable", f"that design is impossible: {safe(base.why_not, 160)}")
    spent = base.evaluation.usd_per_hour
    saved = spent - best.usd_per_hour
    if saved <= 0.0005 * spent:
        return _card(title, "nothing", "the simplest deployment is the cheapest")
    return _card(title, percent(saved / spent, 0 if saved > 0.1 * spent else 1), f"{per_month(saved)} a month",
                 f"of {per_month(spent)}")  # fmt: skip


def _promise_card(best: Evaluation) -> str:
    used = [path for path in best.paths if path.in_use]
    if not used:
        return _card("Effective hit rate", percent(best.effective_hit_rate, 1))
    tight = min(used, key=lambda path: path.slack_s)
    spare = "no slack left" if tight.slack_s < 5e-4 else f"{ms(tight.slack_s)} of slack"
    return _card("Slowest first token", ms(tight.total_s), f"limit {ms(tight.total_s + tight.slack_s)}: {spare}",
                 f"TPOT {ms(best.tpot_s)}, hit rate {percent(best.effective_hit_rate)}")  # fmt: skip


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}."


def _nothing(found: PlanSet) -> str:
    said = "No design keeps every promise" if found.status == "infeasible" else "No plan was found"
    reasons = "".join(f"<li>{text(reason)}</li>" for reason in found.reasons)
    return f"<h1>{said}</h1>\n<p class=lead>{text(found.headline, 400)}</p>\n<ul class=points>{reasons}</ul>\n"
