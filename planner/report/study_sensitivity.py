"""A tornado as text, JSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.report.data import SCHEMA_VERSION
from planner.report.format import ABSENT, percent, safe, significant, usd
from planner.report.grid import paragraph
from planner.report.study_common import csv_text, plan_row, table, tiers_text, titled

if TYPE_CHECKING:
    from planner.study.sensitivity import Bar, End, Sensitivity

Data = dict[str, Any]
BAR_COLUMNS = 10  # on either side of today


def to_table(found: Sensitivity) -> str:
    """Widest first: a bar, both ends, and whether the plan or only the price changes."""
    now = found.plan.usd_per_hour
    head = f"  Today {usd(now)}/h · {found.plan.decision.architecture} · {tiers_text(found.plan)}"
    return titled(
        f"{safe(found.scenario_name, 60)} · {safe(found.headline, 300)}",
        [head, *_tornado(found)],
        _changes(found),
        _keeping(found),
        [line for text in found.skipped for line in paragraph(f"left out: {safe(text, 200)}", hang=2)],
    )


def _tornado(found: Sensitivity) -> list[str]:
    now = found.plan.usd_per_hour
    moves = [abs(e.usd_per_hour - now) for b in found.bars for e in (b.low, b.high) if e.usd_per_hour is not None]
    widest = max(moves, default=0.0) or 1.0
    rows = [
        [
            _label(bar), f"{significant(bar.low.value)} … {significant(bar.high.value)}",
            _move(bar.low, now), _picture(bar, now, widest), _move(bar.high, now), bar.effect,
        ]
        for bar in found.bars
    ]  # fmt: skip
    return table(["input", "range", "low", "", "high", "changes"], rows, (1, 2), (0,))


def _label(bar: Bar) -> str:
    """The input's key without the sections that its name makes plain."""
    label = safe(bar.knob.label, 60)
    for section in ("prices.", "workload.", "deployment."):
        label = label.removeprefix(section)
    return label


def _move(end: End, now: float) -> str:
    return "impossible" if end.usd_per_hour is None else percent(end.usd_per_hour / now - 1, 1, signed=True)


def _picture(bar: Bar, now: float, widest: float) -> str:
    """Left of the middle is cheaper; ``▒`` the low end, ``█`` the high end."""
    cells = [" "] * (2 * BAR_COLUMNS + 1)
    cells[BAR_COLUMNS] = "│"
    for end, glyph in ((bar.low, "▒"), (bar.high, "█")):
        if end.usd_per_hour is None:
            continue
        length = round(BAR_COLUMNS * (end.usd_per_hour - now) / widest)
        side = (
            range(BAR_COLUMNS + 1, BAR_COLUMNS + 1 + length) if length > 0 else range(BAR_COLUMNS + length, BAR_COLUMNS)
        )
        for i in side:
            cells[i] = glyph
    return "".join(cells)


def _changes(found: Sensitivity) -> list[str]:
    lines = ["  Inputs that change the plan"]
    for bar in found.bars:
        for word, end in (("low", bar.low), ("high", bar.high)):
            what = "nothing fits" if end.plan is None else ", ".join((*end.changes, *end.resized))
            if what:
                lines += paragraph(f"{_label(bar)} {significant(end.value)} ({word}): {what}", hang=4)
    if len(lines) == 1:
        lines = ["  No input changes the plan within its range: only its price."]
    only = [b.knob.label for b in found.bars if b.effect == "price"]
    return lines + (
        paragraph(f"Only the price: {', '.join(only)}", hang=4) if only and len(only) < len(found.bars) else []
    )


def _keeping(found: Sensitivity) -> list[str]:
    rows = []
    for bar in found.bars:
        for end in (bar.low, bar.high):
            regret = end.regret_usd_per_hour
            if regret is not None and regret < 0.005:
                continue
            what = (
                usd(regret) + "/h more than the cheapest" if regret is not None else "breaks " + "; ".join(end.breaks)
            )
            if end.plan is None:
                what += " (no plan keeps it)"
            rows.append([_label(bar), significant(end.value), safe(what, 200)])
    if not rows:
        return ["  Keeping today's plan costs nothing extra at any end."]
    return ["  Keeping today's plan", *table(["input", "at", "regret"], rows, (1,), (0, 2))]


def to_data(found: Sensitivity) -> Data:
    """All bars."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "sensitivity", "scenario": found.scenario_name,
        "headline": found.headline, "today": plan_row(found.plan), "bars": [_bar(b) for b in found.bars],
        "skipped": list(found.skipped), "seconds": found.seconds,
    }  # fmt: skip


def _bar(bar: Bar) -> Data:
    knob = bar.knob
    return {
        "input": knob.name, "label": knob.label, "kind": knob.kind, "today": knob.today, "effect": bar.effect,
        "low": _end(bar.low), "high": _end(bar.high),
    }  # fmt: skip


def _end(end: End) -> Data:
    return {
        "value": end.value, "usd_per_hour": end.usd_per_hour, "changes": list(end.changes),
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
                "input": bar.knob.name, "end": side, "value": end.value, "usd_per_hour": end.usd_per_hour,
                "effect": bar.effect, "changes": "; ".join(end.changes or end.resized) or ABSENT,
                "regret_usd_per_hour": end.regret_usd_per_hour, "breaks": "; ".join(end.breaks),
            })  # fmt: skip
    return csv_text(rows)
