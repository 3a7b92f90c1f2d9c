"""Break-even capacities as text, Markdown, JSON and CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.report import study_markdown as md
from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, safe, significant, size, usd
from planner.report.grid import page_columns, paragraph
from planner.report.study_common import csv_text, plan_row, table, tiers_text, titled

if TYPE_CHECKING:
    from planner.study.breakeven import Best, BreakEven, BreakEvens
    from planner.study.next_tb import NextTB

Data = dict[str, Any]
TB = 1e12
SIDE_BY_SIDE = 3  # tiers in one table
LONGEST_BAR = 40
PICTURED_LOGS = 2.0  # powers of ten beyond the tier's capacity that a picture shows
NO_PICTURE = "no picture of the closed form's explosion: no power law describes the curve"


def to_table(found: BreakEvens) -> str:
    """Per tier: closed form and its verdict, the true optimum, the next TB, retention, and the explosion."""
    parts: list[list[str]] = []
    for rows in _groups(found):
        titles, cells = _figures(rows)
        parts.append(table(titles, cells, range(1, len(titles)), (0,)))
        for row in rows:
            first, *rest = _sentences(row, found)
            parts.append([*paragraph(first, hang=2), *(t for s in rest for t in paragraph(s, indent=4, hang=2))])
    for row in found.rows:
        if row.pictured:
            parts.append(_picture(row))
    return titled(
        f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}",
        paragraph(_head(found)),
        *parts,
        [line for text in _remarks(found) for line in paragraph(text, hang=2)],
    )


def to_markdown(found: BreakEvens) -> str:
    """The same, for an issue or a design document."""
    blocks = [md.text(_head(found))]
    for rows in _groups(found):
        titles, cells = _figures(rows)
        told = [[f"… {title.strip()}" if title.startswith(" ") else title, *rest] for title, *rest in cells]
        blocks.append(md.table(titles, told, range(1, len(titles))))
        blocks += [md.bullets(_sentences(row, found)) for row in rows]
    for row in found.rows:
        if row.pictured:
            cells = [[_beta(b, row), _tb(k), _against(k, row)] for b, k in row.explosion]
            titles = ["β", "closed form, TB", f"against {_tb(row.limit_bytes)} TB that fit"]
            blocks.append(md.section(_picture_title(row), md.table(titles, cells, (0, 1, 2))))
    blocks.append(md.bullets(_remarks(found)))
    return md.document(f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}", *blocks)


def _head(found: BreakEvens) -> str:
    plan = found.plan
    return (
        f"at the plan: {usd(plan.usd_per_hour)}/h, {plan.decision.architecture}, {tiers_text(plan)}, "
        f"prefill {percent(found.utilization)} busy"
    )


def _remarks(found: BreakEvens) -> list[str]:
    out = [f"{_name(row)}: {NO_PICTURE}" for row in found.rows if not row.pictured]
    if not (found.rows or found.free or found.worthless):
        out.append("the scenario lists no tier, so there is nothing to break even")
    if found.plan.decision.architecture == "colocated" and found.rows:
        out.append(
            "colocated instances decode too, so fewer prefill seconds free less than their share of a GPU: "
            "a hit saves at most what is said here"
        )
    out += [f"{safe(name, 24)}: nothing of it is paid for, so there is nothing to break even" for name in found.free]
    return out + [f"{safe(name, 60)}: a hit saves no GPU time, so no tier breaks even" for name in found.worthless]


def _groups(found: BreakEvens) -> list[Sequence[BreakEven]]:
    """Rows that share a table: the tiers of one partition, not too many side by side."""
    out: list[Sequence[BreakEven]] = []
    for partition in dict.fromkeys(row.partition for row in found.rows):
        rows = [row for row in found.rows if row.partition == partition]
        out += [rows[i : i + SIDE_BY_SIDE] for i in range(0, len(rows), SIDE_BY_SIDE)]
    return out


def _figures(rows: Sequence[BreakEven]) -> tuple[list[str], list[list[str]]]:
    """One column per tier; every line in one unit."""
    lines = [
        ("rent, $/TB·h", [significant(r.usd_per_byte_hour * TB) for r in rows]),
        ("a hit saves, $", [significant(r.usd_per_hit) for r in rows]),
        ("closed form, TB", [_tb(r.closed_form_bytes) if r.trusted else "refused" for r in rows]),
        *_uncapped(rows),
        ("optimum on the curve, TB", [_capacity(r.optimum) for r in rows]),
        ("  saves beyond free HBM, $/h", [_saving(r.optimum) for r in rows]),
        ("the plan's nodes hold, TB", [_tb(r.limit_bytes) for r in rows]),
        ("optimum within that, TB", [_capacity(r.within) for r in rows]),
        ("  saves beyond free HBM, $/h", [_saving(r.within) for r in rows]),
        ("in the plan, TB", [_tb(r.plan_bytes) if r.plan_bytes else ABSENT for r in rows]),
        ("KV stays, min: in the plan", [_minutes(r.plan_minutes) for r in rows]),
        ("  at the optimum on the curve", [_minutes(r.optimum.minutes if r.optimum.pays else None) for r in rows]),
        *_next_lines(rows),
    ]
    return ["", *(_name(r) for r in rows)], [[title, *cells] for title, cells in lines]


def _uncapped(rows: Sequence[BreakEven]) -> list[tuple[str, list[str]]]:
    """Where a closed form is the curve's ceiling, what the formula alone says."""
    capped = [_tb(r.formula_bytes) if r.trusted and r.capped else ABSENT for r in rows]
    return [("  the curve's ceiling; the formula alone", capped)] if any(c != ABSENT for c in capped) else []


def _next_lines(rows: Sequence[BreakEven]) -> list[tuple[str, list[str]]]:
    """What is bought next: a terabyte, or the purchase step that holds one, which is told per terabyte too."""
    steps = any(r.next_tb.is_step for r in rows)
    head = ("the next to buy, TB", [_tb(r.next_tb.added_bytes) for r in rows])
    lines = [head if steps else ("one more TB, saved less paid, $/h", ["" for _ in rows])]
    paid = "saved less paid, $/h, " if steps else ""
    for words, amounts in (
        ("at the plan, whole GPUs", [r.next_tb.plan_usd_per_hour for r in rows]),
        ("with GPUs in fractions", [r.next_tb.fractional_usd_per_hour for r in rows]),
    ):
        lines.append((f"  {paid}{words}", [_worth(x) for x in amounts]))
        if steps:
            per_tb = [r.next_tb.per_tb(x) for r, x in zip(rows, amounts, strict=True)]
            lines.append(("    per TB", [ABSENT if x is None else _worth(x) for x in per_tb]))
    return lines


def _name(row: BreakEven) -> str:
    return safe(row.tier, 24) + (f" ({safe(row.partition, 30)})" if row.partition else "")


def _tb(size_bytes: float) -> str:
    value = size_bytes / TB
    return significant(value) if value < 1e6 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _capacity(best: Best) -> str:
    return _tb(best.size_bytes) if best.pays else "none pays"


def _saving(best: Best) -> str:
    return number(best.usd_per_hour, 2) if best.pays else ABSENT


def _minutes(minutes: float | None) -> str:
    return ABSENT if minutes is None else significant(minutes)


def _worth(usd_per_hour: float | None) -> str:
    if usd_per_hour is None:
        return "does not fit"
    sign = "+" if usd_per_hour > 0 else ""
    return sign + (number(usd_per_hour, 2) if abs(usd_per_hour) >= 0.1 else significant(usd_per_hour))


def _sentences(row: BreakEven, found: BreakEvens) -> list[str]:
    """What the figures mean, the closed form's verdict first."""
    out = [f"{_name(row)}: the closed form {_verdict(row)}"]
    what = "the formula alone" if row.trusted and row.capped else "it"
    moved = f"{what} {_grows(row.elasticity / 100)} per 0.01 of beta"
    if row.pictured:
        out.append(moved)
    if not row.optimum.pays:
        out.append("no capacity of it saves more than it costs: what pays is in free HBM already")
    elif row.optimum.size_bytes > row.limit_bytes * (1 + 1e-9):
        out.append(
            f"the optimum on the curve does not fit: the plan's nodes hold {size(row.limit_bytes)}"
            + (f"; {size(row.within.size_bytes)} saves {usd(row.within.usd_per_hour)}/h" if row.within.pays else "")
        )
    if not row.plan_bytes and row.within.pays:
        why = next(tier.why for tier in found.plan.tiers if tier.name == row.tier)
        out.append(f"the plan leaves it out: {safe(why, 300)}")
    own = [rule for rule in found.plan.binding if rule.startswith(f"{row.tier}_")]
    if row.plan_bytes > 1.02 * row.optimum.size_bytes and own:
        out.append(f"the plan has more than the curve asks for: {', '.join(own)} decides its size")
    return out + _next_sentences(row.next_tb, row)


def _verdict(row: BreakEven) -> str:
    """Where the curve ends before the formula does, it is the curve's ceiling that is told, not the formula."""
    if not (row.trusted and row.capped):
        return row.why
    shown, alone = _tb(row.closed_form_bytes), _tb(row.formula_bytes)
    return f"is {shown} TB (the curve's ceiling; the formula alone {alone}): {row.why.removeprefix('holds: ')}"


def _grows(logarithm: float) -> str:
    """A change by ``e^logarithm`` in words.

    >>> _grows(0.121), _grows(2.0), _grows(300.0)
    ('moves by +12.1 %', 'grows 7.39-fold', 'grows more than 1,000-fold')
    """
    if logarithm < math.log(2):
        return f"moves by {percent(logarithm, 1, signed=True)}"
    return (
        f"grows {significant(math.exp(logarithm))}-fold" if logarithm < math.log(1e3) else "grows more than 1,000-fold"
    )


def _next_sentences(one: NextTB, row: BreakEven) -> list[str]:
    more = f"{size(one.added_bytes)} more (a purchase step)" if one.is_step else "one more TB"
    if one.plan_usd_per_hour is None:
        plan = f"{more} does not fit: {size(row.plan_bytes)} of {size(row.limit_bytes)} are in the plan"
    elif not row.plan_bytes:
        plan = f"{more}, its GPUs and roles kept, would lie idle: {balance(one.plan_usd_per_hour)}"
    else:
        plan = f"{more}, its GPUs and roles kept, {balance(one.plan_usd_per_hour)}"
    return [
        f"at the plan: {plan}",
        f"in the model with GPUs in fractions (no limit but the curve, beside what the plan has): {more} "
        f"{balance(one.fractional_usd_per_hour)}",
    ]


def balance(usd_per_hour: float) -> str:
    """What is saved less what is paid, in words.

    >>> balance(2.5), balance(-0.0115), balance(0.0)
    ('saves $2.50/h more than it costs', 'costs $0.0115/h more than it saves', 'saves what it costs')
    """
    amount = abs(usd_per_hour)
    if amount < 1e-6:
        return "saves what it costs"
    shown = usd(amount) if amount >= 0.1 else f"${significant(amount)}"
    return f"saves {shown}/h more than it costs" if usd_per_hour > 0 else f"costs {shown}/h more than it saves"


def _picture_title(row: BreakEven) -> str:
    return f"Closed form of {_name(row)} as β nears 1, through the same point of the curve"


def _beta(beta: float, row: BreakEven) -> str:
    return number(beta, 2) + (" (today)" if beta == row.beta else "")


def _against(closed_form: float, row: BreakEven) -> str:
    times = closed_form / row.limit_bytes if row.limit_bytes > 0 else math.inf
    return f"{significant(times, 2)} times" if times < 1000 else "over 1,000 times"


def _picture(row: BreakEven) -> list[str]:
    """The closed form against beta on a logarithmic scale that ends soon after what the tier can hold."""
    columns = min(LONGEST_BAR, page_columns() - 30)
    logs = [math.log10(max(k, 1.0)) for _, k in row.explosion]
    limit = math.log10(max(row.limit_bytes, 1.0))
    low = min(logs[0], limit) - 0.5
    high = max(limit, logs[0]) + PICTURED_LOGS
    edge = round(columns * (limit - low) / (high - low))
    lines = paragraph(f"{_picture_title(row)} (log scale)", hang=2)
    lines += paragraph(
        f"│ is what the plan's nodes hold, {_tb(row.limit_bytes)} TB; ░ does not fit; > goes on beyond the picture; "
        f"the curve meets its ceiling at {_tb(row.ceiling_bytes)} TB",
        hang=2,
    )
    cells = []
    for (beta, k), log in zip(row.explosion, logs, strict=True):
        length = max(1, round(columns * (min(log, high) - low) / (high - low)))
        bar = "█" * min(length, edge) + " " * (edge - length) + "│" + "░" * (length - edge)
        cells.append([_beta(beta, row), _tb(k), bar + (">" if log > high else "")])
    return [*lines, *table(["β", "TB", ""], cells, (1,), ())]


def to_data(found: BreakEvens) -> Data:
    """All rows."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "breakeven", "scenario": found.scenario_name,
        "headline": found.headline, "plan": plan_row(found.plan), "prefill_utilization": found.utilization,
        "tiers": [{**_row(r), "explosion": [{"beta": b, "closed_form_gb": k / 1e9} for b, k in r.explosion]}
                  for r in found.rows],
        "free_tiers": list(found.free), "classes_without_saving": list(found.worthless),
    }  # fmt: skip


def _row(row: BreakEven) -> Data:
    one = row.next_tb
    return {
        "tier": row.tier, "partition": row.partition, "usd_per_gb_hour": row.usd_per_byte_hour * 1e9,
        "usd_per_hit": row.usd_per_hit, "beta": row.beta,
        "fit_error": row.fit_error, "closed_form_gb": row.closed_form_bytes / 1e9, "capped_by_ceiling": row.capped,
        "ceiling_gb": row.ceiling_bytes / 1e9 if math.isfinite(row.ceiling_bytes) else None,
        "formula_gb": row.formula_bytes / 1e9, "trusted": row.trusted, "why": row.why, "dlnk_dbeta": row.elasticity,
        "optimum_gb": row.optimum.size_bytes / 1e9, "optimum_usd_per_hour": row.optimum.usd_per_hour,
        "limit_gb": row.limit_bytes / 1e9, "optimum_within_limit_gb": row.within.size_bytes / 1e9,
        "optimum_within_limit_usd_per_hour": row.within.usd_per_hour, "plan_gb": row.plan_bytes / 1e9,
        "next_gb": one.added_bytes / 1e9, "next_at_plan_usd_per_hour": one.plan_usd_per_hour,
        "next_fractional_usd_per_hour": one.fractional_usd_per_hour,
        "next_at_plan_usd_per_hour_per_tb": one.per_tb(one.plan_usd_per_hour),
        "next_fractional_usd_per_hour_per_tb": one.per_tb(one.fractional_usd_per_hour),
        "plan_retention_minutes": row.plan_minutes, "optimum_retention_minutes": row.optimum.minutes,
    }  # fmt: skip


def to_csv(found: BreakEvens) -> str:
    """One row per tier."""
    return csv_text([_row(r) for r in found.rows])
