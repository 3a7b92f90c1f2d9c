"""The sections of the terminal's answer, each a pure function from results to lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.plan import Evaluation, Plan, PlanSet, Pool, TierUse, TtftPath
from planner.report.format import (
    ABSENT,
    ms,
    number,
    percent,
    quantity,
    rounded_to_sum,
    safe,
    size,
    unit_price,
    usd_per_mtok,
)
from planner.report.grid import INDENT, Column, grid, page_columns, paragraph

BAR_COLUMNS = 16
_GLYPHS = "░▒▓█"  # queue, fetch, prefill, transfer
_SHOWN_PATHS = 12
_NAME = 24  # columns that a user's name may take in a table
_SHORT_NAME = 16
_DEFAULTS_SHOWN = 6
_NARROWEST_WITH_BARS = 94  # columns of a page


def costs(found: Evaluation, defaults: Sequence[tuple[str, str]] = ()) -> list[str]:
    """The bill; the shown cents add up to the shown total, the shares to 100 %."""
    defaulted = {key for key, _ in defaults}
    amounts = rounded_to_sum([line.usd_per_hour for line in found.costs], 2, found.usd_per_hour)
    shares = rounded_to_sum([line.usd_per_hour / (found.usd_per_hour or 1.0) for line in found.costs], 3)
    rows = [
        [
            safe(line.item, _NAME),
            f"{quantity(line.quantity)} {safe(line.unit, 12)}",
            unit_price(line.unit_usd_per_hour, safe(line.unit, 12)) + ("*" if line.source_key in defaulted else " "),
            number(amount, 2),
            percent(share, 1),
        ]
        for line, amount, share in zip(found.costs, amounts, shares, strict=True)
    ]
    rows.append(["total", "", "", number(sum(amounts), 2), percent(sum(shares), 1)])
    columns = [
        Column("", wrap=True),
        Column("quantity", "right", wrap=True),
        Column("unit price ", "right"),
        Column("$/h", "right"),
        Column("share", "right"),
    ]
    laid = grid(columns, rows)
    rule = " " * (INDENT + sum(laid.widths[:3]) + 3 * 2) + "─" * laid.widths[3]
    return [*laid.header, *(line for row in laid.rows[:-1] for line in row), rule, *laid.rows[-1]]


def ttft(found: Evaluation) -> list[str]:
    """One row and one bar per path in use: queue, fetch, prefill and transfer, up to the limit."""
    used = sorted((path for path in found.paths if path.in_use), key=lambda path: path.slack_s)
    shown = used[:_SHOWN_PATHS]
    if not shown:
        return []
    shown = [path for path in found.paths if path in shown]  # the evaluation's order reads by class
    titles = ["class", "path", "share", "queue", "fetch", "prefill", "transfer", "total", "slack"]
    legend = f"{_GLYPHS[0]} queue {_GLYPHS[1]} fetch {_GLYPHS[2]} prefill {_GLYPHS[3]} transfer"
    if has_front_end(found):
        legend += " with front end"  # of a corrected plan: latency outside the GPU
    legend += " · slack"
    columns = [Column(t, "left" if n < 2 else "right", wrap=n < 2) for n, t in enumerate(titles)]
    rows = [_path_cells(path) for path in shown]
    limit_s = shown[0].total_s + shown[0].slack_s
    if page_columns() < _NARROWEST_WITH_BARS:
        rows, legend = [row[:-1] for row in rows], "of a path in use"
    else:
        columns.append(Column("of the limit"))
    laid = grid(columns, rows)
    hidden = len(used) - len(shown)
    more = [f"  {hidden} more paths with more slack are in the plan file"] if hidden else []
    return [f"  ms; the limit is {ms(limit_s)}; {legend}", *laid.lines, *more]


def has_front_end(found: Evaluation) -> bool:
    """Whether the times hold latency outside the GPU, as corrected ones do."""
    return any(note.startswith(("corrected by ", "far from anything measured: ")) for note in found.notes)


def _path_cells(path: TtftPath) -> list[str]:
    parts_s = [path.queue_s, path.fetch_s, path.prefill_s, path.transfer_s]
    limit_s = path.total_s + path.slack_s
    decimals = 1 if limit_s >= 0.1 else 3
    figures = [number(1e3 * part, decimals) if part > 0 else ABSENT for part in parts_s]  # equal times look equal
    return [
        safe(path.class_name, _SHORT_NAME),
        safe(path.path, _SHORT_NAME),
        percent(path.probability),
        *figures,
        number(1e3 * path.total_s, decimals),
        number(1e3 * path.slack_s, decimals),
        bar(parts_s, limit_s),
    ]


def bar(parts_s: Sequence[float], limit_s: float, columns: int = BAR_COLUMNS) -> str:
    """Parts of a limit as one bar; whatever is left is slack, drawn as dots.

    >>> bar([0.25, 0.0, 0.5, 0.0], 1.0, columns=8)
    '░░▓▓▓▓··'
    """
    whole = max(limit_s, sum(parts_s)) or 1.0
    cells = rounded_to_sum([columns * part / whole for part in parts_s])
    drawn = "".join(glyph * int(count) for glyph, count in zip(_GLYPHS, cells, strict=True))
    return drawn[:columns].ljust(columns, "·")


def pools(found: Evaluation) -> list[str]:
    """What each pool runs and how busy it is, and which promises hold the plan where it is."""
    named = [("prefill" if found.decode else "prefill and decode", found.prefill)]
    named += [("decode", found.decode)] if found.decode else []
    titles = ["", "size", "GPUs", "nodes", "prefill load", "busy", "batch", "slots used", "TPOT"]
    columns = [Column(t, "left" if n < 2 else "right", wrap=n == 1) for n, t in enumerate(titles)]
    lines = grid(columns, [_pool_cells(name, one) for name, one in named]).lines
    binding = ", ".join(safe(rule, 40) for rule in found.binding)
    return lines + (paragraph(f"binding, tightest first: {binding}", hang=2) if binding else [])


def _pool_cells(name: str, one: Pool) -> list[str]:
    slots = one.instances * one.batch if one.batch else None
    return [
        name,
        pool(one, batch=False),
        number(one.gpus),
        quantity(one.nodes),
        ABSENT if one.offered_load is None else f"{number(one.offered_load, 2)} of {quantity(one.servers or 0)}",
        ABSENT if one.utilization is None else percent(one.utilization),
        ABSENT if one.batch is None else number(one.batch),
        ABSENT if one.slots_needed is None or slots is None else f"{number(one.slots_needed)} of {number(slots)}",
        ABSENT if one.tpot_s is None else f"{number(1e3 * one.tpot_s, 1)} ms",
    ]


def tiers(found: Evaluation) -> list[str]:
    """Each tier's role, capacity, hits and slack, and why it has that role; hits and misses sum to 100 %."""
    hits = [tier.hit_rate for tier in found.tiers]
    shares = rounded_to_sum([*hits, 1.0 - sum(hits)], 3)
    titles = ["", "role", "capacity", "hits", "all so far", "reads", "fetch", "slack"]
    columns = [Column(t, "left" if n < 2 else "right", wrap=n == 0) for n, t in enumerate(titles)]
    rows = []
    so_far = 0.0
    for tier, share in zip(found.tiers, shares, strict=False):
        so_far += share
        rows.append(_tier_cells(tier, share, so_far))
    rows.append(["miss", "", "", percent(shares[-1], 1), "", "", "", ""])
    laid = grid(columns, rows)
    lines = [*laid.header]
    for tier, block in zip(found.tiers, laid.rows, strict=False):
        lines += [*block, *paragraph(safe(tier.why, 400), indent=INDENT + 4)]
    lines += laid.rows[-1]
    return [*lines, f"  effective hit rate {percent(found.effective_hit_rate, 1)} of the reusable tokens"]


def _tier_cells(tier: TierUse, share: float, so_far: float) -> list[str]:
    if tier.role == "unused":
        return [safe(tier.name, _NAME), "unused", *[ABSENT] * 6]
    fetched = tier.fetch_s > 0
    return [
        safe(tier.name, _NAME),
        tier.role,
        size(tier.capacity_bytes),
        percent(share, 1),
        percent(so_far, 1),
        percent(tier.read_utilization) if fetched else ABSENT,
        ms(tier.fetch_s) if fetched else ABSENT,
        ms(tier.slack_s),
    ]


def ranking(plans: Sequence[Plan]) -> list[str]:
    """The ranked plans, and under each what sets it apart from the first."""
    titles = ["#", "$/Mtok", "$/h", "above", "architecture", "prefill", "decode", "tiers"]
    columns = [Column(t, "right" if n in (1, 2, 3) else "left", wrap=n > 4) for n, t in enumerate(titles)]
    laid = grid(columns, [_plan_cells(plan, plans[0]) for plan in plans])
    lines = [*laid.header]
    for plan, block in zip(plans, laid.rows, strict=True):
        lines += block
        if plan.differs_by:
            lines += paragraph(safe("differs by: " + "; ".join(plan.differs_by), 400), indent=INDENT + 3, hang=2)
    return lines


def _plan_cells(plan: Plan, first: Plan) -> list[str]:
    found = plan.evaluation
    above = found.usd_per_hour / (first.evaluation.usd_per_hour or 1.0) - 1.0
    bought = [tier for tier in found.tiers[1:] if tier.role != "unused"]
    return [
        str(plan.rank),
        usd_per_mtok(found.usd_per_million_tokens).lstrip("$"),
        number(found.usd_per_hour, 2),
        "" if plan is first else percent(above, 1, signed=True),
        found.decision.architecture,
        pool(found.prefill),
        pool(found.decode) if found.decode else ABSENT,
        ",\n".join(f"{size(t.capacity_bytes)} {safe(t.name, _NAME)} {t.role}" for t in bought) or "none",
    ]


def pool(one: Pool, batch: bool = True) -> str:
    """A pool as instances × GPUs, how they are split, and the sequences that one decodes together.

    >>> pool(Pool(3, 8, "tp8·ep8", 3, 24, 24.0)), pool(Pool(2, 8, "tp8·ep8", 2, 16, 16.0, batch=128))
    ('3×8 tp8·ep8', '2×8 tp8·ep8 b128')
    """
    together = f" b{one.batch}" if batch and one.batch else ""
    return f"{one.instances}×{one.gpus_per_instance} {safe(one.parallelism, _NAME)}{together}"


def notes(plan_set: PlanSet) -> list[str]:
    """Estimates that the first plan rests on, and the defaults behind it."""
    found = plan_set.plans[0].evaluation.notes if plan_set.plans else ()
    lines = [line for note in dict.fromkeys(found) for line in paragraph(f"- {safe(note, 300)}", hang=2)]
    return lines + (_defaults(plan_set.defaults) if plan_set.defaults else [])


def _defaults(defaults: Sequence[tuple[str, str]]) -> list[str]:
    """The defaults in short, those that decide most first."""
    ordered = sorted(defaults, key=lambda one: _rank_of_section(one[0]))
    shown: Iterable[str] = (f"{safe(key, 60)} {safe(value, 30)}" for key, value in ordered[:_DEFAULTS_SHOWN])
    more = len(defaults) - _DEFAULTS_SHOWN
    rest = f" and {more} more, all in the plan file" if more > 0 else ""
    plural = "value is a catalog default" if len(defaults) == 1 else "values are catalog defaults"
    return paragraph(f"* {len(defaults)} {plural}: {', '.join(shown)}{rest}", hang=2)


def _rank_of_section(key: str) -> int:
    order = ("prices", "hardware", "tiers", "engine.timing", "slo", "deployment", "read", "workload.prefetch", "engine")
    return next((n for n, start in enumerate(order) if key.startswith(start)), len(order))
