"""Predicted against measured, one dot per row, TPOT beside TTFT: an SVG that needs nothing to be seen."""

from __future__ import annotations

from html import escape
from math import log10

from planner.fidelity.backtest import Backtest, Outcome

SIDE = 380  # of a panel, pixels
MARGIN = 62
COLOURS = {"vllm": "#2b6cb0", "sglang": "#c05621", "trtllm": "#2f855a"}
PANELS = (("TPOT", "tpot_s", "tpot", 0.15), ("TTFT", "ttft_s", "ttft", 0.25))


def to_svg(found: Backtest) -> str:
    """Both panels on logarithmic axes, with the diagonal and the band of the target."""
    width = 2 * (SIDE + MARGIN) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {SIDE + 2 * MARGIN}" font-family="sans-serif" '
        'font-size="12" role="img" aria-label="Predicted against measured TPOT and TTFT">',
        f'<rect width="{width}" height="{SIDE + 2 * MARGIN}" fill="#ffffff"/>',
    ]
    for i, panel in enumerate(PANELS):
        parts += _panel(found.outcomes, MARGIN + i * (SIDE + MARGIN), *panel)
    for i, (engine, colour) in enumerate(COLOURS.items()):
        x, y = MARGIN + i * 90, SIDE + MARGIN + 48
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/><text x="{x + 9}" y="{y}">{engine}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(outcomes: tuple[Outcome, ...], left: int, title: str, measured: str, ratio: str, target: float) -> list[str]:
    points = [(1e3 * getattr(o.row, measured), getattr(o.best, ratio), o) for o in outcomes]
    if not points:
        return []
    values = [m for m, _, _ in points] + [m * r for m, r, _ in points]
    low, high = log10(min(values)) - 0.1, log10(max(values)) + 0.1

    def at(ms: float) -> float:
        return SIDE * (log10(ms) - low) / (high - low)

    top, bottom = MARGIN - 20, MARGIN - 20 + SIDE
    band = SIDE * log10(1 + target) / (high - low)
    parts = [
        f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
        f'<clipPath id="{title}"><rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}"/></clipPath>',
        f'<g clip-path="url(#{title})"><path d="M{left},{bottom - band:.1f} L{left + SIDE},{top - band:.1f} '
        f'L{left + SIDE},{top + band:.1f} L{left},{bottom + band:.1f} Z" fill="#e2e8f0"/>',
        f'<path d="M{left},{bottom} L{left + SIDE},{top}" stroke="#555"/></g>',
        f'<text x="{left}" y="{top - 10}" font-weight="bold">{title}: predicted against measured, ms</text>',
        f'<text x="{left + SIDE - 80}" y="{bottom + 34}">measured</text>',
    ]
    for exponent in range(int(low), int(high) + 1):
        if low <= exponent <= high:
            place = at(10.0**exponent)
            parts.append(f'<text x="{left + place:.1f}" y="{bottom + 16}" text-anchor="middle">{10**exponent:,}</text>')
            parts.append(f'<text x="{left - 6}" y="{bottom - place + 4:.1f}" text-anchor="end">{10**exponent:,}</text>')
    for ms, off, o in points:
        x, y = left + at(ms), bottom - at(ms * off)
        tip = escape(
            f"{o.row.engine} {o.model} {o.row.isl}/{o.row.osl} at {o.row.concurrency}: {ms:.1f} ms, x {off:.2f}"
        )
        colour = COLOURS.get(o.row.engine, "#555")
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" fill-opacity="0.6"><title>{tip}</title></circle>'
        )
    return parts
