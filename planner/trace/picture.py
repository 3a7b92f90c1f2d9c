"""One picture of a trace study as SVG: the curve with its fits, the windows, and where reuse comes from.

Plain SVG with its own style sheet: it needs no script, prints, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from planner.trace.curve import HitCurve
from planner.trace.laws import LawFit
from planner.trace.records import Floats
from planner.trace.study import TraceStudy

WIDTH, HEIGHT = 1180, 460
STYLE = """
svg{font:13px system-ui,sans-serif;background:#fff}
text{fill:#222}.soft{fill:#666}.axis{stroke:#999;fill:none}.grid{stroke:#e4e4e4;fill:none}
.exact{stroke:#1f4e79;stroke-width:2.5;fill:none}.dot{fill:#1f4e79}.bar{fill:#1f4e79}
.power{stroke:#c0504d;stroke-width:1.6;fill:none;stroke-dasharray:7 4}
.hill{stroke:#2e8b57;stroke-width:1.6;fill:none;stroke-dasharray:2 3}
.w0{stroke:#7b3294}.w1{stroke:#c2a5cf}.w2{stroke:#a6dba0}.w3{stroke:#008837}.w4{stroke:#e08214}.w5{stroke:#542788}
.win{stroke-width:1.8;fill:none}.whole{stroke:#222;stroke-width:2.2;fill:none}
@media (prefers-color-scheme:dark){svg{background:#15181c}text{fill:#e6e6e6}.soft{fill:#a0a0a0}.grid{stroke:#30353b}
.exact{stroke:#7db4e8}.dot,.bar{fill:#7db4e8}.whole{stroke:#eee}.power{stroke:#f0837f}.hill{stroke:#67c99a}}
""".strip().replace("\n", "")


@dataclass(frozen=True)
class Panel:
    """A plot area with a logarithmic abscissa in tokens and a hit rate from 0 to ``top``."""

    left: float
    low: float
    high: float
    top: float
    width: float = 330.0
    above: float = 70.0
    height: float = 300.0

    def x(self, tokens: float) -> float:
        """Abscissa of a capacity."""
        span = np.log(self.high / self.low)
        return float(self.left + self.width * np.clip(np.log(max(tokens, 1e-9) / self.low) / span, 0, 1))

    def y(self, rate: float) -> float:
        """Ordinate of a hit rate."""
        return float(self.above + self.height * (1 - rate / self.top))

    def line(self, tokens: Floats, rates: Floats, style: str) -> str:
        """A curve."""
        points = " ".join(f"{self.x(t):.1f},{self.y(r):.1f}" for t, r in zip(tokens, rates, strict=True))
        return f'<polyline class="{style}" points="{points}"/>'

    def frame(self, title: str) -> list[str]:
        """Title, axes and grid."""
        out = [_text(self.left, self.above - 18, title, weight=True)]
        for power in range(int(np.ceil(np.log10(self.low))), int(np.floor(np.log10(self.high))) + 1):
            at = self.x(10.0**power)
            out += [
                _rule(at, self.above, at, self.above + self.height),
                _text(at, self.above + self.height + 18, _short(power), "middle"),
            ]
        for share in np.linspace(0, self.top, 6):
            at = self.y(float(share))
            out += [
                _rule(self.left, at, self.left + self.width, at),
                _text(self.left - 6, at + 4, f"{100 * share:.0f} %", "end"),
            ]
        middle = self.left + self.width / 2
        return [*out, _text(middle, self.above + self.height + 38, "cache capacity, tokens", "middle", soft=True)]


def study_svg(study: TraceStudy) -> str:
    """The picture of a study."""
    top = max(0.05, float(np.ceil(study.curve.ceiling * 20) / 20))
    high = float(max(2, study.curve.saturation_blocks) * study.block_tokens)
    low = max(float(study.block_tokens), high / 2000)
    left, middle = (Panel(x, low, high, top) for x in (60.0, 460.0))
    names = ", ".join(Path(file).name for file in study.files)
    ceiling = f"{100 * study.curve.ceiling:.1f} % of the prompt tokens hit an unlimited cache"
    title = f"{names} · {study.requests:,} requests · {ceiling}"
    body = [
        _text(60, 20, title, soft=True),
        *_fits(study, left),
        *_windows(study, middle),
        *_gap_bars(study, 860.0),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><style>{STYLE}</style>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _fits(study: TraceStudy, panel: Panel) -> list[str]:
    """The exact curve, the table's points, and the two laws."""
    tokens, rates = _sampled(study.curve, panel)
    out = [*panel.frame("Hit curve and laws"), panel.line(tokens, rates, "exact")]
    legend = [("exact", "exact")]
    for fit in study.laws:
        if fit.law == "measured":
            out += [
                f'<circle class="dot" cx="{panel.x(t):.1f}" cy="{panel.y(r):.1f}" r="3.5"/>'
                for t, r in fit.points_tokens if t >= panel.low
            ]  # fmt: skip
            legend.append(
                ("dot", f"table, {len(fit.points_tokens)} points: {fit.largest_residual_points:.1f} points off")
            )
        else:
            out.append(panel.line(tokens, predicted(fit, tokens), fit.law))
            legend.append((fit.law, f"{fit.law}: {fit.largest_residual_points:.1f} points off"))
    return out + _legend(panel, legend)


def predicted(fit: LawFit, tokens: Floats) -> Floats:
    """A fitted law at capacities in tokens."""
    p = fit.parameters
    if fit.law == "power":
        return np.asarray(np.minimum(p["ceiling"], p["hit_rate"] * (tokens / p["at_tokens"]) ** p["beta"]))
    if fit.law == "hill":
        u = (tokens / p["half_tokens"]) ** p["slope"]
        return np.asarray(p["floor"] + (p["ceiling"] - p["floor"]) * u / (1 + u))
    knots = np.array([(0.0, 0.0), *fit.points_tokens])
    return np.interp(tokens, knots[:, 0], knots[:, 1])


def _windows(study: TraceStudy, panel: Panel) -> list[str]:
    """Every window with the cache warmed by what came before, against the whole."""
    tokens, rates = _sampled(study.curve, panel)
    shown = study.stationarity.windows[:6]
    top = max([panel.top, *[float(np.ceil(w.ceiling_warm * 20) / 20) for w in shown]])
    panel = Panel(panel.left, panel.low, panel.high, top)
    out = panel.frame("Windows of time, warm cache")
    legend = [("whole", "whole trace")]
    for i, window in enumerate(shown):
        out.append(panel.line(tokens, window.warm.rates(tokens / study.block_tokens), f"win w{i}"))
        legend.append((f"win w{i}", f"{window.from_s:,.0f}–{window.to_s:,.0f} s: {window.moves}"))
    out.append(panel.line(tokens, rates, "whole"))
    return out + _legend(panel, legend)


def _gap_bars(study: TraceStudy, left: float) -> list[str]:
    """Share of hits by the time since the last use."""
    out = [_text(left, 52, "Hits by time since the last use", weight=True)]
    shares = study.gaps.shares
    largest = max([share for _, _, share in shares] + [1e-9])
    for i, (low, high, share) in enumerate(shares):
        at = 74 + i * 27
        name = f"≥ {_clock(low)}" if high is None else f"{_clock(low)} – {_clock(high)}"
        out += [
            _text(left + 100, at + 12, name, "end"),
            f'<rect class="bar" x="{left + 108:.0f}" y="{at}" width="{140 * share / largest:.1f}" height="16"/>',
            _text(left + 114 + 140 * share / largest, at + 12, f"{100 * share:.0f} %"),
        ]
    return out


def _sampled(curve: HitCurve, panel: Panel) -> tuple[Floats, Floats]:
    tokens = np.geomspace(panel.low, panel.high, 160)
    return tokens, curve.rates(tokens / curve.block_tokens)


def _legend(panel: Panel, entries: Sequence[tuple[str, str]]) -> list[str]:
    out = []
    for i, (style, label) in enumerate(entries):
        x, y = panel.left + 14, panel.above + 16 + 19 * i
        if style == "dot":
            out.append(f'<circle class="dot" cx="{x + 12}" cy="{y - 4}" r="3.5"/>')
        else:
            out.append(f'<path class="{style}" d="M{x},{y - 4}h24"/>')
        out.append(_text(x + 32, y, label))
    return out


def _text(x: float, y: float, text: str, anchor: str = "start", weight: bool = False, soft: bool = False) -> str:
    style = (' font-weight="600"' if weight else "") + (' class="soft"' if soft else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="grid" d="M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}"/>'


def _short(power: int) -> str:
    """A power of ten of tokens.

    >>> _short(3), _short(6), _short(8)
    ('1 k', '1 M', '100 M')
    """
    unit = {0: "", 1: " k", 2: " M", 3: " G", 4: " T"}[min(4, max(0, power // 3))]
    return f"{10 ** (power - 3 * min(4, max(0, power // 3)))}{unit}"


def _clock(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:g} h"
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
