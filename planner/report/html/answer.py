"""The first screen: what to buy, what it costs, what it saves, what could change that, and how sure it is."""

from __future__ import annotations

from planner.plan import Evaluation, PlanSet
from planner.report.certainty import band, errors, mark
from planner.report.change import changes, proven_since
from planner.report.format import ms, percent, quantity, safe, usd_per_mtok
from planner.report.headline import headline, simplest, unreached
from planner.report.html.parts import bullets, prose, table_html, text
from planner.report.purchase import NOTE, order
from planner.report.reread import StoredSet
from planner.report.stopped import stops
from planner.report.table import certificate_line
from planner.report.tabular import Table, per_month, per_year
from planner.report.whole import bought_whole


def answer(stored: StoredSet, studied: list[tuple[str, str]], proven_usd_per_hour: float | None = None) -> str:
    """Headline, four figures, the order list and what could change it; or why there is nothing to buy.

    ``studied`` is what studies found, each a subject and a sentence; ``proven_usd_per_hour`` the cheapest plan at
    today's promises, where one of them proved it.
    """
    found = stored.plan_set
    if not found.plans:
        return _nothing(stored)
    best = found.plans[0].evaluation
    whole = bought_whole(best, stored.scenario)
    cards = [_cost_card(best), _token_card(stored, best), _saving_card(found, best), _promise_card(stored, best)]
    could = [*changes(stored, proven_usd_per_hour), *studied]
    return (
        f"<h1>{prose(headline(stored))}</h1>\n<p class=lead>{prose(found.headline, 400)}</p>\n"
        f"<div class=cards>{''.join(cards)}</div>\n"
        f'<p class="{_tone(found)}">{text(_proof(found, proven_usd_per_hour))}</p>\n'
        f"<div class=pair><div>{table_html(order(best, stored.scenario))}{_paragraph(whole)}"
        f"<p class=note>{text(NOTE)}</p></div>\n"
        f'<div id="change"><h2>What could change the answer</h2>{bullets(could)}</div></div>\n'
    )


def _proof(found: PlanSet, proven_usd_per_hour: float | None) -> str:
    """What is proven; what a study proved since takes the place of a gap that was left open."""
    open_ended = found.certificate is not None and not found.certificate.proven
    if open_ended and proven_usd_per_hour is not None:
        said = proven_since(found.plans[0].evaluation, proven_usd_per_hour)
        return f"Not proven when it was solved ({stops(found) or 'the gap was left open'}). {said}"
    return _sentence(certificate_line(found.certificate, found.seconds))


def _paragraph(said: str) -> str:
    return f"<p>{prose(said)}</p>" if said else ""


def _card(title: str, value: str, *below: str) -> str:
    lines = "".join(f"<span>{prose(line)}</span>" for line in below if line)
    return f"<div class=card><h2>{text(title)}</h2><strong>{prose(value)}</strong>{lines}</div>"


def _cost_card(best: Evaluation) -> str:
    return _card("Cost per month", per_month(best.usd_per_hour), f"{per_year(best.usd_per_hour)} a year")


def _token_card(stored: StoredSet, best: Evaluation) -> str:
    counted = stored.scenario.prices.tokens_counted if stored.scenario else ""
    what = {"generated": "generated tokens only"}.get(counted, "prompt and generated tokens" if counted else "")
    rate = f"at {quantity(stored.scenario.workload.requests_per_second)} requests/s" if stored.scenario else ""
    return _card("Cost per million tokens", usd_per_mtok(best.usd_per_million_tokens), what, rate)


def _saving_card(found: PlanSet, best: Evaluation) -> str:
    base = simplest(found)
    if base is None:
        return _card("Saving against the simplest deployment", "not known", unreached(found))
    title = f"Saving against {base.name}"
    why = f"colocated without tiers: {base.why_not}" if base.why_not else ""
    saved = base.usd_per_hour - best.usd_per_hour
    if saved <= 0.0005 * base.usd_per_hour:
        return _card(title, "nothing", why or "the simplest deployment is the cheapest")
    share = percent(saved / base.usd_per_hour, 0 if saved > 0.1 * base.usd_per_hour else 1)
    most = "" if base.proven else "at most: that deployment's own cost is not proven"
    return _card(title, share, f"{per_month(saved)} a month of {per_month(base.usd_per_hour)}", most, why)


def _promise_card(stored: StoredSet, best: Evaluation) -> str:
    used = [path for path in best.paths if path.in_use]
    if not used:
        return _card("Effective hit rate", percent(best.effective_hit_rate, 1))
    tpot_error, ttft_error = errors(stored, best)
    tight = min(used, key=lambda path: path.slack_s)
    spare = "no slack left" if tight.slack_s < 5e-4 else f"{ms(tight.slack_s)} of slack"
    error = band(ttft_error).strip()
    limit = f"limit {ms(tight.total_s + tight.slack_s)}: {spare}"
    slo = f", limit {ms(stored.scenario.slo.tpot_ms / 1e3)}" if stored.scenario else ""
    tpot = f"TPOT {ms(best.tpot_s)}{band(tpot_error)}{slo}"
    hits = f"hit rate {percent(best.effective_hit_rate)}"
    return _card(
        "Slowest first token", ms(tight.total_s), f"{error}; {limit}" if error else limit, tpot, mark(best), hits
    )


def _tone(found: PlanSet) -> str:
    return "proof" if found.certificate is not None and found.certificate.proven else "proof unproven"


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}."


def _nothing(stored: StoredSet) -> str:
    found = stored.plan_set
    reasons = "".join(f"<li>{prose(reason)}</li>" for reason in found.reasons)
    return (
        f"<h1>{text(headline(stored))}</h1>\n<p class=lead>{text(found.headline, 400)}</p>\n{_ways_out(found)}"
        f"<ul class=points>{reasons}</ul>\n"
    )


def _ways_out(found: PlanSet) -> str:
    """Figures of the promises that cannot be kept, and a table of the changes that were found by solving again."""
    cards = [
        _card(f"{conflict.promise} asked for", f"{quantity(conflict.limit)} {safe(conflict.unit, 20)}",
              f"best possible: {quantity(conflict.best)} {safe(conflict.unit, 20)}", safe(conflict.key, 60))
        for conflict in found.conflicts
    ]  # fmt: skip
    cheapest = min(found.fixes, key=lambda fix: fix.usd_per_hour, default=None)
    if cheapest is not None:
        cards.append(_card("Cheapest way out", f"{per_month(cheapest.usd_per_hour)} a month",
                           *(f"{safe(c.key, 60)}: {_after(c.after)}" for c in cheapest.changes)))  # fmt: skip
    rows = [
        ("; ".join(f"{safe(c.key, 60)}: {_after(c.after)} instead of {_after(c.before)}" for c in fix.changes),
         per_month(fix.usd_per_hour), per_year(fix.usd_per_hour))
        for fix in found.fixes
    ]  # fmt: skip
    titles = ("change of the scenario", "per month", "per year")
    table = Table("What makes it possible", titles, tuple(rows), frozenset({1, 2}), stack=True)
    shown = f"<div class=cards>{''.join(cards)}</div>\n" if cards else ""
    return shown + (table_html(table) if rows else "")


def _after(value: object) -> str:
    if value is None:
        return "left out"
    return quantity(value) if isinstance(value, int | float) and not isinstance(value, bool) else safe(str(value), 60)
