"""A tornado as text, Markdown, JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report import study_markdown as md
from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, number, percent, safe, significant, usd, width
from planner.report.grid import page_columns, paragraph
from planner.report.study_common import csv_text, plan_row, table, tiers_text, titled

if TYPE_CHECKING:
    from planner.study.sensitivity import Bar, End, Sensitivity

Data = dict[str, Any]
BAR_COLUMNS = 10  # on either side of today
SHORTEST_BAR = 4
BETWEEN = 13  # columns between and before six columns, and the bar's middle
SMALLEST_REGRET = 0.005  # dollars per hour
CHANGES = {"plan": "plan", "size": "sizes", "price": "price", "nothing": "nothing"}
KEEPING = ["input", "at", "today's plan"]
NO_REGRET = "Keeping today's plan costs nothing extra at any end."


def to_table(found: Sensitivity) -> str:
    """Widest first: a bar, both ends, what changes; then what each input does, and what keeping today's plan costs."""
    return titled(
        f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}",
        [*paragraph(_head(found)), *_tornado(found)],
        _changes(found),
        _keeping(found),
        [line for text in _remarks(found) for line in paragraph(text, hang=2)],
    )


def to_markdown(found: Sensitivity) -> str:
    """The same as tables."""
    now = found.plan.usd_per_hour
    tornado = [[_label(b), _range(b), _move(b.low, now), _move(b.high, now), CHANGES[b.effect]] for b in _moving(found)]
    titles = ["input", "range", "low", "high", "changes"]
    return md.document(
        f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}",
        md.text(_head(found)),
        md.table(titles, tornado, (2, 3)) if tornado else "",
        md.section("What each input does", md.bullets(_groups(found))),
        md.section(
            "Keeping today's plan", md.table(KEEPING, _kept(found), (1,)) if _kept(found) else md.text(NO_REGRET)
        ),
        md.bullets(_remarks(found)),
    )


def _head(found: Sensitivity) -> str:
    plan = found.plan
    return f"Today {usd(plan.usd_per_hour)}/h · {plan.decision.architecture} · {tiers_text(plan)}"


def _remarks(found: Sensitivity) -> list[str]:
    out = [f"left out: {not_tried(text)}" for text in found.skipped]
    if found.unfinished:
        out.append(f"stopped before: {', '.join(safe(_short(label), 60) for label in found.unfinished)}")
    return out + list(found.notes)


def not_tried(said: str) -> str:
    """An end of a range that makes no valid scenario, and why.

    >>> not_tried("tiers[dram].gb_per_s_per_gpu 19: tiers[1]: faster than 'dram' before it: 1 GB takes 5 ms")
    "tiers[dram].gb_per_s_per_gpu 19, where tiers[1] would be faster than 'dram' before it: 1 GB takes 5 ms"
    """
    moved, _, why = safe(said, 300).partition(": ")
    where, _, rule = why.partition(": ")
    return f"{moved}, where {where} would be {rule}" if rule.startswith("faster ") else f"{moved}, refused: {why}"


def _moving(found: Sensitivity) -> list[Bar]:
    return [bar for bar in found.bars if bar.effect != "nothing"]


def _tornado(found: Sensitivity) -> list[str]:
    now = found.plan.usd_per_hour
    moves = [abs(e.usd_per_hour - now) for b in found.bars for e in b.ends if e.usd_per_hour is not None]
    widest = max(moves, default=0.0) or 1.0
    titles = ["input", "range", "low", "", "high", "changes"]
    cells = [
        (b, [_label(b), _range(b), _move(b.low, now), "", _move(b.high, now), CHANGES[b.effect]])
        for b in _moving(found)
    ]
    words = sum(max(map(width, column)) for column in zip(titles, *(row for _, row in cells), strict=True))
    half = min(
        BAR_COLUMNS, max(SHORTEST_BAR, (page_columns() - words - BETWEEN) // 2)
    )  # keys stay whole, bars give way
    rows = [[*row[:3], _picture(b, now, widest, half), *row[4:]] for b, row in cells]
    return table(titles, rows, (1, 2, 4), (0, 1)) if rows else []


def _label(bar: Bar) -> str:
    return safe(_short(bar.knob.label), 60)


def _short(label: str) -> str:
    """The input's key without the sections that its name makes plain."""
    for section in ("prices.", "workload.", "deployment."):
        label = label.removeprefix(section)
    return label


def _range(bar: Bar) -> str:
    low, high = (ABSENT if end.left_out else _amount(bar, end.value) for end in bar.ends)
    return f"{low} … {high} {bar.knob.unit}".rstrip()


def _at(bar: Bar, end: End) -> str:
    """A value with its unit."""
    return f"{_amount(bar, end.value)} {bar.knob.unit}".rstrip()


def _amount(bar: Bar, value: float) -> str:
    return number(value, 0) if bar.knob.whole else significant(value)


def _move(end: End, now: float) -> str:
    if end.left_out:
        return ABSENT
    return "impossible" if end.usd_per_hour is None else percent(end.usd_per_hour / now - 1, 1, signed=True)


def _picture(bar: Bar, now: float, widest: float, half: int) -> str:
    """Left of the middle is cheaper; ``▒`` the low end, ``█`` the high end."""
    cells = [" "] * (2 * half + 1)
    cells[half] = "│"
    for end, glyph in ((bar.low, "▒"), (bar.high, "█")):
        if end.usd_per_hour is None:
            continue
        length = round(half * (end.usd_per_hour - now) / widest)
        for i in range(half + 1, half + 1 + length) if length > 0 else range(half + length, half):
            cells[i] = glyph
    return "".join(cells)


def _changes(found: Sensitivity) -> list[str]:
    if not found.bars:
        return []
    lines: list[str] = []
    if any(bar.effect in ("plan", "size") for bar in found.bars):
        lines.append("  Inputs that change the plan")
    elif any(bar.effect == "price" for bar in found.bars):
        lines.append("  No input changes the plan within its range: only its price.")
    else:
        lines.append("  No input changes anything within its range.")
    return lines + [line for text in _groups(found) for line in paragraph(text, hang=4)]


def _groups(found: Sensitivity) -> list[str]:
    """What each end changes, then the inputs that change only the price, then those that change nothing."""
    out = []
    for bar in found.bars:
        for word, end in (("low", bar.low), ("high", bar.high)):
            what = "no plan keeps every promise" if end.plan is None else ", ".join((*end.changes, *end.resized))
            if not what and end.effect == "size":
                what = "a little more capacity"
            if what:
                out.append(f"{_label(bar)} {_at(bar, end)} ({word}): {what}")
    only = [_label(b) for b in found.bars if b.effect == "price"]
    nothing = [f"{_label(b)} ({_range(b)})" for b in found.bars if b.effect == "nothing"]
    out += [f"Only the price: {', '.join(only)}"] if only else []
    return out + ([f"Changes nothing: {', '.join(nothing)}"] if nothing else [])


def _kept(found: Sensitivity) -> list[list[str]]:
    """What happens at each end where today's plan is not as good as the best there, widest first."""
    rows = []
    for bar in found.bars:
        for end in bar.ends:
            regret = end.regret_usd_per_hour
            if regret is not None and regret < SMALLEST_REGRET:
                continue
            rows.append([_label(bar), _at(bar, end), safe(_keeping_means(end), 300)])
    return rows


def _keeping_means(end: End) -> str:
    if end.regret_usd_per_hour is not None:
        return f"costs {usd(end.regret_usd_per_hour)}/h more than the best plan there"
    missed = "promise" if len(end.breaks) == 1 else "promises"
    means = f"cannot be kept: {missed} missed: {'; '.join(end.breaks)}"
    return means if end.plan is not None else f"{means} (nor does any other plan keep them)"


def _keeping(found: Sensitivity) -> list[str]:
    if not found.bars:
        return []
    rows = _kept(found)
    return ["  If today's plan is kept", *table(KEEPING, rows, (1,), (0, 1, 2))] if rows else [f"  {NO_REGRET}"]


def to_data(found: Sensitivity) -> Data:
    """All bars."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "sensitivity", "scenario": found.scenario_name,
        "headline": found.headline, "today": plan_row(found.plan), "bars": [_bar(b) for b in found.bars],
        "skipped": list(found.skipped), "unfinished": list(found.unfinished), "seconds": found.seconds,
        "notes": list(found.notes),
    }  # fmt: skip


def _bar(bar: Bar) -> Data:
    knob = bar.knob
    return {
        "input": knob.name, "label": knob.label, "kind": knob.kind, "unit": knob.unit,
        "today": knob.today, "effect": bar.effect,
        "low": _end(bar.low), "high": _end(bar.high),
    }  # fmt: skip


def _end(end: End) -> Data:
    return {
        "value": end.value, "left_out": end.left_out, "usd_per_hour": end.usd_per_hour, "changes": list(end.changes),
        "resized": list(end.resized),
        "keep_usd_per_hour": end.keep_usd_per_hour, "regret_usd_per_hour": end.regret_usd_per_hour,
        "breaks": list(end.breaks), "plan": plan_row(end.plan) if end.plan else None,
    }  # fmt: skip


def to_csv(found: Sensitivity) -> str:
    """One row per input and end."""
    rows = []
    for bar in found.bars:
        for side, end in (("low", bar.low), ("high", bar.high)):
            rows.append({
                "input": bar.knob.name, "end": side, "value": end.value, "unit": bar.knob.unit,
                "usd_per_hour": end.usd_per_hour, "effect": bar.effect,
                "changes": "; ".join(end.changes or end.resized) or ABSENT,
                "regret_usd_per_hour": end.regret_usd_per_hour, "breaks": "; ".join(end.breaks),
            })  # fmt: skip
    return csv_text(rows)
