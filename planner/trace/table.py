"""A trace study for people: at most 100 columns, no colour, the answer first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.report.format import number, percent, safe, seconds_text, significant, size
from planner.report.grid import Column, grid, paragraph
from planner.trace.laws import LawFit
from planner.trace.study import TraceStudy

SHOWN_CURVE = 14


def study_text(study: TraceStudy, kv_bytes_per_token: float | None = None, at_blocks: bool = False) -> str:
    """The whole study as text.

    Args:
        study: what was measured.
        kv_bytes_per_token: of the model named, to show capacities in bytes too.
        at_blocks: whether the capacities were asked for one by one.
    """
    blocks = [
        _head(study),
        _curve(study, kv_bytes_per_token, at_blocks),
        _laws(study),
        _windows(study),
        _classes(study),
        _arrivals(study),
        _gaps(study),
        _split(study) if study.split else [],
        [line for note in study.notes for line in paragraph(f"note: {safe(note, 300)}")],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _head(study: TraceStudy) -> list[str]:
    names = ", ".join(Path(file).name for file in study.files[:3]) + (" …" if len(study.files) > 3 else "")
    sampled = f" · sampled at {percent(study.sample_rate, 1)} of the prefixes" if study.sample_rate < 1 else ""
    skipped = f" · {number(study.skipped_rows)} malformed rows left out" if study.skipped_rows else ""
    return [
        f"{safe(names)} · {number(study.requests)} requests · {number(study.references)} block references"
        f"{sampled}{skipped}",
        "",
        f"  {percent(study.curve.ceiling, 2)} of {number(study.input_tokens)} prompt tokens hit an unlimited cache; "
        f"all of it at {_tokens(study.curve.saturation_blocks * study.block_tokens)} tokens",
    ]


def _curve(study: TraceStudy, kv_bytes: float | None, at_blocks: bool) -> list[str]:
    count = len(study.capacity_blocks)
    step = 1 if at_blocks else max(1, -(-count // SHOWN_CURVE))
    chosen = sorted({*range(0, count, step), count - 1})
    capacities = [study.capacity_blocks[i] for i in chosen]
    hits, rates = study.curve.tokens_at(capacities).tolist(), study.curve.rates(capacities).tolist()
    columns = [Column("Hit curve   blocks", "right"), Column("tokens", "right")]
    columns += [Column(title, "right") for title in (*(["KV"] if kv_bytes else []), "hit tokens", "hit rate")]
    if study.error_bar:
        columns.append(Column("± s.e.", "right"))
    rows = []
    for i, blocks, hit, rate in zip(chosen, capacities, hits, rates, strict=True):
        tokens = blocks * study.block_tokens
        row = [number(blocks), _tokens(tokens), *([size(tokens * kv_bytes)] if kv_bytes else [])]
        row += [number(hit), percent(rate, 2), *([percent(study.error_bar[i], 2)] if study.error_bar else [])]
        rows.append(row)
    return grid(columns, rows).lines


def _laws(study: TraceStudy) -> list[str]:
    columns = [
        Column("Law"), Column("parameters", wrap=True), Column("largest", "right"), Column("mean", "right"),
        Column("verdict", wrap=True),
    ]  # fmt: skip
    rows = [
        [
            fit.law,
            _parameters(fit),
            f"{fit.largest_residual_points:.2f}",
            f"{fit.mean_residual_points:.2f}",
            fit.verdict,
        ]
        for fit in study.laws
    ]
    lines = grid(columns, rows).lines
    lines += paragraph(
        f"Use the measured table. Residuals in percentage points, over {_tokens(study.laws[-1].from_tokens)} to "
        f"{_tokens(study.laws[-1].to_tokens)} tokens."
    )
    if study.closed_form_refusal:
        lines += paragraph(f"No closed-form break-even on this curve: {study.closed_form_refusal}.")
    for low, high, gap in study.concavity:
        lines += paragraph(
            f"Not concave between {_tokens(low)} and {_tokens(high)} tokens: up to {100 * gap:.1f} points below its "
            "concave envelope."
        )
    return lines


def _parameters(fit: LawFit) -> str:
    if fit.law == "measured":
        return f"{len(fit.points_tokens)} points"
    shown = {"beta": "β", "at_tokens": "at", "half_tokens": "half", "hit_rate": ""}
    parts = []
    for key, value in fit.parameters.items():
        name = shown.get(key, key)
        if name:
            parts.append(f"{name} {_tokens(value) if key.endswith('_tokens') else significant(value)}")
    return ", ".join(parts)


def _windows(study: TraceStudy) -> list[str]:
    found = study.stationarity
    titles = ("from", "requests/s", "ceiling", "warm", "β", "off", "per load", "per ceiling")
    columns = [Column("Windows", "left"), *[Column(title, "right") for title in titles], Column("moves")]
    rows = [
        [
            f"{i}", seconds_text(w.from_s), significant(w.requests_per_second), percent(w.ceiling_cold, 1),
            percent(w.ceiling_warm, 1), "–" if w.beta is None else f"{w.beta:.2f}", f"{w.off_points:.1f}",
            f"{w.off_after_load:.1f}", f"{w.off_after_ceiling:.1f}", w.moves,
        ]
        for i, w in enumerate(found.windows, 1)
    ]  # fmt: skip
    lines = grid(columns, rows).lines if rows else []
    lines += paragraph(
        f"off: largest distance from the whole curve in points; the second half, warm: {found.half_off_points:.1f}."
    )
    if found.half_load:
        lines += paragraph(
            f"Half of the conversations ({percent(found.half_load.token_share)} of the tokens): the curve as it is "
            f"errs by {found.half_load.off_points:.1f} points, read per load by {found.half_load.off_rescaled:.1f}."
        )
    for warning in found.warnings:
        lines += paragraph(f"warning: {warning}")
    return lines


def _classes(study: TraceStudy) -> list[str]:
    titles = ("requests", "share", "prompt", "reusable", "output", "hit tokens", "prompt CV")
    columns = [Column("Classes"), *[Column(title, "right") for title in titles]]
    rows = [
        [
            kind.name, number(kind.requests), percent(kind.share, 1), number(kind.prompt_tokens),
            number(kind.reusable_tokens), number(kind.output_tokens), number(kind.hit_tokens), f"{kind.prompt_cv:.2f}",
        ]
        for kind in study.classes.classes
    ]  # fmt: skip
    note = f"Reusable tokens are resident with probability {study.classes.hit_probability:.3f} in an unlimited cache."
    return [*grid(columns, rows).lines, *paragraph(note)]


def _arrivals(study: TraceStudy) -> list[str]:
    found = study.arrivals
    dispersion = ", ".join(f"{value:.2f} ({seconds_text(window)})" for window, value in found.dispersion)
    text = (
        f"Arrivals  {significant(found.requests_per_second)} requests/s over {seconds_text(found.span_s)}, peak "
        f"{significant(found.peak_requests_per_second)} in {seconds_text(found.peak_window_s)}; CV "
        f"{found.arrival_cv:.2f} from {found.arrival_cv_source}"
    )
    return paragraph(text + (f"; index of dispersion {dispersion}." if dispersion else "."))


def _gaps(study: TraceStudy) -> list[str]:
    shares = study.gaps.shares
    columns = [Column("Reuse gap"), *[Column(_edge(high), "right") for _, high, _ in shares]]
    rows = [["share of hits", *[percent(share) for _, _, share in shares]]]
    covered = ", ".join(f"{percent(share)} at {lead:g} s" for lead, share in study.gaps.coverage)
    note = f"Prefetch coverage at most (rested at least the lead): {covered}."
    return [*grid(columns, rows).lines, *paragraph(note)]


def _edge(seconds: float | None) -> str:
    if seconds is None:
        return "more"
    if seconds >= 3600:
        return f"<{seconds / 3600:g} h"
    return f"<{seconds / 60:g} m" if seconds >= 60 else f"<{seconds:g} s"


def _split(study: TraceStudy) -> list[str]:
    split = study.split
    if split is None:
        return []
    ways = [way.routing.replace("_", " ") for way in split.routed]
    columns: Sequence[Column] = [
        Column(f"{split.servers} instances   blocks", "right"),
        *[Column(title, "right") for title in ("pooled", *ways, "formula")],
    ]
    total = max(1, split.input_tokens)
    rows = [
        [
            number(blocks), percent(split.pooled_tokens[i] / total, 2),
            *[percent(way.hit_tokens[i] / total, 2) for way in split.routed], percent(split.formula_rates[i], 2),
        ]
        for i, blocks in enumerate(split.capacity_blocks)
    ]  # fmt: skip
    loads = ", ".join(f"{way.routing.replace('_', ' ')} {way.load_imbalance:.2f}" for way in split.routed)
    (largest, mean), (worst, usual) = split.formula_error_points, split.naive_error_points
    floored = split.floor_error_points
    return [
        *grid(columns, rows).lines,
        *paragraph(
            f"Against random routing the formula errs by {largest:.1f} points at most, {mean:.1f} on average (with the "
            f"hill's floor of {percent(split.floor, 1)}: {floored[0]:.1f} and {floored[1]:.1f}); h(K/n) by {worst:.1f} "
            f"and {usual:.1f}. Busiest instance over the mean: {loads}."
        ),
    ]


def _tokens(value: float) -> str:
    """A number of tokens, short.

    >>> _tokens(512), _tokens(1_234_567), _tokens(5.1e9)
    ('512', '1.23 M', '5.10 G')
    """
    for scale, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{significant(value / scale)} {unit}"
    return number(value)
