"""The answer as GitHub Markdown, for an issue or a design document."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Evaluation, PlanSet
from planner.report.combining import verdict_sentence
from planner.report.format import (
    ABSENT,
    joined,
    ms,
    number,
    percent,
    quantity,
    rounded_to_sum,
    safe,
    size,
    unit_price,
    usd,
    usd_per_mtok,
)
from planner.report.sections import pool
from planner.report.table import certificate_line, design, saving

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~&!"})


def to_markdown(plan_set: PlanSet) -> str:
    """Title, answer, and one table each for cost, tiers, TTFT, ranking and cells."""
    blocks = [f"# {escaped(joined([safe(plan_set.scenario_name, 60), safe(plan_set.headline, 300)]))}"]
    if plan_set.plans:
        best = plan_set.plans[0].evaluation
        price = f"{usd_per_mtok(best.usd_per_million_tokens)} per million tokens, {usd(best.usd_per_hour)} per hour"
        blocks += [f"**{escaped(price)}**: {escaped(design(plan_set.plans[0]))}", escaped(saving(plan_set))]
        blocks += [_costs(best), _tiers(best), _ttft(best), _ranking(plan_set)]
    else:
        blocks.append("**No design keeps every promise.**")
        blocks.append("\n".join(f"- {escaped(safe(reason, 500))}" for reason in plan_set.reasons))
    blocks.append(_cells(plan_set))
    if plan_set.plans:
        blocks.append(escaped(certificate_line(plan_set.certificate, plan_set.seconds)) + ".")
    if plan_set.defaults:
        blocks.append(
            "\n".join(
                ["Catalog defaults:", "", *(f"- {escaped(safe(k))} {escaped(safe(v))}" for k, v in plan_set.defaults)]
            )
        )
    return "\n\n".join(block for block in blocks if block) + "\n"


def plain(text: str) -> str:
    """A document that ends in one line break."""
    return text.rstrip("\n") + "\n"


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is.

    >>> escaped("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return text.translate(_SPECIAL)


def table(heading: str, titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A heading and a table; cells are shown as they are, whatever they contain."""
    marks = ["--:" if n in right else "---" for n in range(len(titles))]
    lines = [_row(titles), _row(marks), *(_row([escaped(cell) for cell in row]) for row in rows)]
    return "\n".join([f"## {heading}", "", *lines])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _costs(found: Evaluation) -> str:
    amounts = rounded_to_sum([line.usd_per_hour for line in found.costs], 2, found.usd_per_hour)
    rows = []
    for line, amount in zip(found.costs, amounts, strict=True):
        unit = safe(line.unit)
        price = unit_price(line.unit_usd_per_hour, unit)
        rows.append([safe(line.item), f"{quantity(line.quantity)} {unit}", price, usd(amount)])
    return table("Cost", ["item", "quantity", "unit price", "per hour"], [*rows, ["total", "", "", usd(sum(amounts))]],
                  right=(1, 2, 3))  # fmt: skip


def _tiers(found: Evaluation) -> str:
    rows = [
        [safe(t.name), t.role, size(t.capacity_bytes), percent(t.hit_rate, 1), ms(t.slack_s), safe(t.why, 400)]
        for t in found.tiers
    ]
    return table("Tiers", ["tier", "role", "capacity", "hits", "slack", "why"], rows, right=(2, 3, 4))


def _ttft(found: Evaluation) -> str:
    rows = []
    for path in (p for p in found.paths if p.in_use):
        parts = [path.queue_s, path.fetch_s, path.prefill_s, path.transfer_s, path.slack_s]
        shown = rounded_to_sum([1e3 * part for part in parts], 1)
        total = number(sum(shown[:4]), 1)
        rows.append([safe(path.class_name), safe(path.path), percent(path.probability),
                     *(number(part, 1) for part in shown[:4]), total, number(shown[4], 1)])  # fmt: skip
    titles = ["class", "path", "share", "queue", "fetch", "prefill", "transfer", "total", "slack"]
    return table("Time to first token, ms", titles, rows, right=range(2, 9))


def _ranking(plan_set: PlanSet) -> str:
    first = plan_set.plans[0].evaluation.usd_per_hour or 1.0
    rows = [
        [
            str(plan.rank),
            usd_per_mtok(plan.evaluation.usd_per_million_tokens),
            usd(plan.evaluation.usd_per_hour),
            percent(plan.evaluation.usd_per_hour / first - 1.0, 1, signed=True),
            safe(design(plan), 300),
            joined(
                [pool(plan.evaluation.prefill), pool(plan.evaluation.decode) if plan.evaluation.decode else ""], " + "
            ),
            safe("; ".join(plan.differs_by), 400) or ABSENT,
        ]
        for plan in plan_set.plans
    ]
    titles = ["#", "$/Mtok", "$/h", "above", "design", "instances", "differs by"]
    return table("Ranked plans", titles, rows, right=(1, 2, 3))


def _cells(plan_set: PlanSet) -> str:
    if not any(cell.evaluation for cell in plan_set.cells):
        return ""
    rows = []
    for architecture in dict.fromkeys(cell.architecture for cell in plan_set.cells):
        pair = sorted((c for c in plan_set.cells if c.architecture == architecture), key=lambda c: c.tiered)
        rows.append([architecture, *(usd(c.evaluation.usd_per_hour) if c.evaluation else "not possible" for c in pair)])
    found = table(
        "Do tiers and disaggregation add up?", ["per hour", "without tiers", "with tiers"], rows, right=(1, 2)
    )
    return found + (f"\n\n{escaped(verdict_sentence(plan_set))}" if plan_set.verdict else "")
