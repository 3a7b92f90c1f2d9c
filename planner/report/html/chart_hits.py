"""The hit-rate curve: the law, what was measured, what the plan holds, and where each tier breaks even."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.physics.reuse import Law, MeasuredLaw
from planner.physics.system import System
from planner.plan import Evaluation
from planner.report.derivation_cache import staging
from planner.report.format import percent, safe, size
from planner.report.html.breakeven import Mark, break_evens
from planner.report.html.parts import Chart, Series, plot_text
from planner.report.tabular import Table

SAMPLES = 240
NEAR = 3.0  # samples on either side of a mark that stay silent
DEEPEST = 1e5  # from the axis's end to its start; what is smaller than its start is in the table only
LABELLED = 4  # break-even marks; more would lie on each other, and the table has their names
ROOM = 8.0  # the axis goes on beyond the largest capacity, for its label
TOP = 1.12  # of the axis of hit rates: room for a label above a mark at 100 %
DECADES = tuple(range(6, 19))
DASHES = ("solid", "dash", "dot")  # equal laws lie on each other
COLOURS = ("s1", "s2", "s4", "s6", "s3", "s5", "s7", "s8")


@dataclass(frozen=True)
class Held:
    """What one level of the hierarchy holds of a partition, and the hit rate that it is counted with."""

    level: str
    partition: int
    capacity_bytes: float
    hit_rate: float


def hits_chart(system: System, found: Evaluation) -> Chart:
    """One curve per cache partition on a logarithmic axis of capacity."""
    decision = found.decision
    laws = [system.partition_law(j, decision.architecture, decision.prefill_instances) for j in range(len(system.laws))]
    held = _held(system, found)
    k_max = _reach(laws, held)
    even = break_evens(system, found)
    marks = even.marks
    shown = [h.capacity_bytes for h in held] + [m.reached_bytes for m in marks]
    k_max = max(k_max, *(ROOM * k for k in shown))
    k_min = max(k_max / DEEPEST, min(min(shown, default=k_max) / 8, k_max / 1e3))
    drawn = [h for h in held if h.capacity_bytes >= k_min]
    names = _names(system)
    marked = [*shown, *(k for law in laws if isinstance(law, MeasuredLaw) for k, _ in law.points)]
    return Chart(
        id="hits",
        title="Hit rate against cache capacity",
        says=_says(held, marks),
        traces=(*_curves(laws, k_min, k_max), *_along(laws, names, k_min, k_max, marked),
                *_measured(laws, names, k_min, k_max), _chosen(drawn, names), _even(marks, names, k_min, k_max)),
        layout=_layout(k_min, k_max, max(law.top for law in laws)),
        height=400,
        legend=_legend(laws, names, marks),
        table=_table(held, marks, names),
        notes=even.notes,
    )  # fmt: skip


def _held(system: System, found: Evaluation) -> list[Held]:
    """Capacities net of staging: of each level alone when inclusive, of all levels so far when exclusive."""
    decision, held = found.decision, []
    for j, hbm in enumerate(decision.hbm_bytes):
        total = hbm
        held.append(Held("hbm", j, hbm, decision.hits[0][j]))
        for t, tier in enumerate(system.tiers):
            if decision.roles[t] != "unused":
                own = decision.capacity_bytes[t][j] - staging(system, decision, t, j)
                total += own
                capacity = own if system.inclusive else total
                held.append(Held(tier.name, j, capacity, decision.hits[t + 1][j]))
    return [h for h in held if h.capacity_bytes > 0]


def _reach(laws: list[Law], held: list[Held]) -> float:
    """How far the axis goes: past everything held, to where the law is nearly flat."""
    nearly = [law.capacity_for(0.985 * law.top) for law in laws]
    flat = max((k for k in nearly if math.isfinite(k)), default=1e12)
    most = max((h.capacity_bytes for h in held), default=flat)
    return 2.2 * max(1e9, min(flat, 300 * most), most)


def _names(system: System) -> list[str]:
    """A partition by the classes that share it."""
    if len(system.partitions) == 1:
        return [""]
    return [safe(", ".join(system.classes[k].name for k in part), 40) for part in system.partitions]


def _spaced(low: float, high: float) -> list[float]:
    return [low * (high / low) ** (n / SAMPLES) for n in range(SAMPLES + 1)]


def _curves(laws: list[Law], k_min: float, k_max: float) -> list[dict[str, object]]:
    traces: list[dict[str, object]] = []
    for j, law in enumerate(laws):
        places = sorted({*_spaced(k_min, k_max), *(k for k in law.knots() if k_min < k < k_max)})
        traces.append({
            "type": "scatter", "mode": "lines", "name": "law", "x": places, "hoverinfo": "skip",
            "y": [law.hit_rate(k) for k in places],
            "line": {"color": f"@{COLOURS[j % len(COLOURS)]}", "width": 2.5, "dash": DASHES[j % len(DASHES)]},
        })  # fmt: skip
    return traces


def _along(
    laws: list[Law], names: list[str], k_min: float, k_max: float, marked: list[float]
) -> list[dict[str, object]]:
    """Unseen points that tell the law's value under the mouse, none so near to a mark as to answer in its place."""
    near = (k_max / k_min) ** (NEAR / SAMPLES)
    places = [k for k in _spaced(k_min, k_max) if all(not 1 / near < k / m < near for m in marked)]
    traces: list[dict[str, object]] = []
    for j, law in enumerate(laws):
        of = f"{plot_text(names[j])}<br>" if names[j] else ""
        traces.append({
            "type": "scatter", "mode": "markers", "name": "along the law", "x": places, "hoverinfo": "text",
            "y": [law.hit_rate(k) for k in places], "marker": {"size": 4, "opacity": 0},
            "hovertext": [f"{of}{size(k)}: {percent(law.hit_rate(k), 1)}" for k in places],
        })  # fmt: skip
    return traces


def _measured(laws: list[Law], names: list[str], k_min: float, k_max: float) -> list[dict[str, object]]:
    traces: list[dict[str, object]] = []
    for j, law in enumerate(laws):
        points = [(k, h) for k, h in law.points if k_min <= k <= k_max] if isinstance(law, MeasuredLaw) else []
        if points:
            of = f"{plot_text(names[j])}<br>" if names[j] else ""
            ring = {"color": f"@{COLOURS[j % len(COLOURS)]}", "width": 2}
            traces.append({
                "type": "scatter", "mode": "markers", "name": "measured", "x": [k for k, _ in points],
                "y": [h for _, h in points], "hoverinfo": "text",
                "hovertext": [f"{of}measured<br>{size(k)}: {percent(h, 1)}" for k, h in points],
                "marker": {"color": "@paper", "size": 7, "line": ring},
            })  # fmt: skip
    return traces


def _chosen(held: list[Held], names: list[str]) -> dict[str, object]:
    texts = [
        f"{plot_text(h.level)}{_of(h.partition, names)}<br><b>{size(h.capacity_bytes)}: {percent(h.hit_rate, 1)}</b>"
        for h in held
    ]
    return {
        "type": "scatter", "mode": "markers+text", "name": "chosen", "x": [h.capacity_bytes for h in held],
        "y": [h.hit_rate for h in held], "text": [plot_text(h.level, 24) for h in held], "textposition": "top left",
        "hoverinfo": "text", "hovertext": texts, "cliponaxis": False,
        "marker": {"color": "@ink", "size": 12, "line": {"color": "@paper", "width": 2}},
    }  # fmt: skip


def _even(marks: tuple[Mark, ...], names: list[str], k_min: float, k_max: float) -> dict[str, object]:
    marks = tuple(m for m in marks if m.reached_bytes >= k_min)
    late = [math.log(m.reached_bytes / k_min) > 0.8 * math.log(k_max / k_min) for m in marks]
    return {
        "type": "scatter", "mode": "markers+text", "name": "break-even", "x": [m.reached_bytes for m in marks],
        "y": [m.hit_rate for m in marks], "text": _apart(marks),
        "hoverinfo": "text", "cliponaxis": False,
        "textposition": ["bottom left" if end else "bottom right" for end in late],
        "hovertext": [
            f"{plot_text(m.tier)}{_of(m.partition, names)} breaks even at<br><b>{size(m.capacity_bytes)}: "
            f"{percent(m.hit_rate, 1)}</b>"
            for m in marks
        ],
        "marker": {"color": "@limit", "size": 13, "symbol": "line-ns-open", "line": {"color": "@limit", "width": 3}},
    }  # fmt: skip


def _apart(marks: tuple[Mark, ...]) -> list[str]:
    """Labels of the marks; those in the same place share one."""
    texts = []
    for mark in marks if len(marks) <= LABELLED else ():
        near = [m for m in marks if _near(mark, m)]
        texts.append(plot_text(", ".join(m.tier for m in near), 40) if near[0] is mark else "")
    return texts


def _near(one: Mark, other: Mark) -> bool:
    return abs(math.log(one.reached_bytes / other.reached_bytes)) < 0.15 and abs(one.hit_rate - other.hit_rate) < 0.05


def _of(partition: int, names: list[str]) -> str:
    return f", {plot_text(names[partition])}" if names[partition] else ""


def _layout(k_min: float, k_max: float, top: float) -> dict[str, object]:
    ticks = [10.0**d for d in DECADES if k_min <= 10.0**d <= k_max]
    if len(ticks) > 5:
        ticks = ticks[len(ticks) % 2 :: 2]
    if len(ticks) < 3:
        ticks = [m * 10.0**d for d in DECADES for m in (1, 2, 5) if k_min <= m * 10.0**d <= k_max]
    return {
        "xaxis": {"type": "log", "title": {"text": "capacity shared by the service"}, "tickvals": ticks,
                  "ticktext": [size(k).replace(".00", "").replace(".0 ", " ") for k in ticks],
                  "range": [math.log10(k_min), math.log10(k_max)]},
        "yaxis": {"title": {"text": "hit rate of reusable tokens"}, "tickformat": ".0%",
                  "range": [0, min(TOP, 1.14 * top)]},
        "margin": {"l": 58, "r": 14, "t": 8, "b": 52},
    }  # fmt: skip


def _legend(laws: list[Law], names: list[str], marks: tuple[Mark, ...]) -> tuple[Series, ...]:
    legend = [
        Series(f"law{f' of {names[j]}' if names[j] else ''}", COLOURS[j % len(COLOURS)], "line")
        for j in range(len(laws))
    ]
    legend += [Series("measured", COLOURS[0], "ring")] if any(isinstance(law, MeasuredLaw) for law in laws) else []
    legend += [Series("held by the plan", "ink", "dot")]
    return (*legend, *([Series("break-even of a tier", "limit", "tick")] if marks else []))


def _says(held: list[Held], marks: tuple[Mark, ...]) -> str:
    last = max(held, key=lambda h: h.hit_rate, default=None)
    if last is None:
        return "The plan holds no cache."
    level = safe(last.level, 24) if last.level != "hbm" else "HBM alone"
    text = f"{level} brings the hit rate to {percent(last.hit_rate, 1)} with {size(last.capacity_bytes)}"
    own = next((m for m in marks if m.tier == last.level and m.partition == last.partition), None)
    return text + (f"; by itself it breaks even at {size(own.capacity_bytes)}." if own else ".")


def _table(held: list[Held], marks: tuple[Mark, ...], names: list[str]) -> Table:
    rows = [("held", safe(h.level), names[h.partition], size(h.capacity_bytes), percent(h.hit_rate, 1)) for h in held]
    rows += [
        ("break-even", safe(m.tier), names[m.partition], size(m.capacity_bytes), percent(m.hit_rate, 1)) for m in marks
    ]
    titles = ("", "level", "classes", "capacity", "hit rate")
    return Table("Capacities on the curve", titles, tuple(rows), frozenset({3, 4}))
