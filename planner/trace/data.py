"""A trace study as plain data, for ``planner fit --format json``; the keys are an interface."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planner.trace.curve import HitCurve
from planner.trace.laws import LawFit
from planner.trace.split import SplitStudy
from planner.trace.study import TraceStudy
from planner.trace.windows import Window

SCHEMA_VERSION = 1
WINDOW_POINTS = 16


def study_data(study: TraceStudy) -> dict[str, Any]:
    """All that was measured; rates are fractions, capacities blocks and tokens, residuals percentage points."""
    return {
        "schema_version": SCHEMA_VERSION,
        "trace": {
            "files": list(study.files),
            "block_tokens": study.block_tokens,
            "requests": study.requests,
            "block_references": study.references,
            "unique_blocks": study.unique_blocks,
            "input_tokens": study.input_tokens,
            "output_tokens": study.output_tokens,
            "sample_rate": study.sample_rate,
            "skipped_rows": study.skipped_rows,
            "notes": list(study.notes),
        },
        "curve": _curve(study),
        "ceiling": study.curve.ceiling,
        "hit_tokens_unlimited": study.curve.unlimited_tokens,
        "saturation_blocks": study.curve.saturation_blocks,
        "laws": {fit.law: _law(fit) for fit in study.laws},
        "verdict": {
            "use": "measured",
            "closed_form_break_even": study.closed_form_refusal is None,
            "closed_form_refused_because": study.closed_form_refusal,
        },
        "concavity_gaps": [
            {"from_tokens": low, "to_tokens": high, "largest_gap_points": gap * 100}
            for low, high, gap in study.concavity
        ],
        "arrivals": _arrivals(study),
        "windows": [_window(window) for window in study.stationarity.windows],
        "stationarity": _stationarity(study),
        "classes": [asdict(kind) for kind in study.classes.classes],
        "hit_probability": study.classes.hit_probability,
        "reuse_gaps": _gaps(study),
        "split": _split(study.split) if study.split else None,
    }


def _points(curve: HitCurve, capacities: list[int]) -> list[dict[str, Any]]:
    hits, rates = curve.tokens_at(capacities).tolist(), curve.rates(capacities).tolist()
    return [
        {"capacity_blocks": c, "capacity_tokens": c * curve.block_tokens, "hit_tokens": hit, "hit_rate": rate}
        for c, hit, rate in zip(capacities, hits, rates, strict=True)
    ]


def _curve(study: TraceStudy) -> list[dict[str, Any]]:
    points = _points(study.curve, list(study.capacity_blocks))
    for point, error in zip(points, study.error_bar, strict=False):
        point["standard_error"] = error
    return points


def _law(fit: LawFit) -> dict[str, Any]:
    data = asdict(fit)
    del data["law"]
    data["points_tokens"] = [list(point) for point in fit.points_tokens]
    if not fit.points_tokens:
        del data["points_tokens"]
    return data


def _arrivals(study: TraceStudy) -> dict[str, Any]:
    data = asdict(study.arrivals)
    data["dispersion"] = [{"window_s": w, "index": value} for w, value in study.arrivals.dispersion]
    return data


def _window(window: Window) -> dict[str, Any]:
    data = {key: value for key, value in vars(window).items() if key not in ("curve", "warm")}
    data["curve"] = _points(window.curve, window.curve.grid(WINDOW_POINTS).tolist())
    data["curve_warm"] = _points(window.warm, window.warm.grid(WINDOW_POINTS).tolist())
    return data


def _stationarity(study: TraceStudy) -> dict[str, Any]:
    found = study.stationarity
    return {
        "warm_half_off_points": found.half_off_points,
        "ceiling_of_first_half": found.ceiling_of_half,
        "ceiling_of_warm_half": found.ceiling_warm_half,
        "half_load": asdict(found.half_load) if found.half_load else None,
        "warnings": list(found.warnings),
    }


def _gaps(study: TraceStudy) -> dict[str, Any]:
    gaps = study.gaps
    return {
        "hit_tokens": gaps.hit_tokens,
        "by_gap": [{"from_s": low, "to_s": high, "share_of_hits": share} for low, high, share in gaps.shares],
        "quantiles_s": [{"quantile": q, "gap_s": gap} for q, gap in gaps.quantiles_s],
        "prefetch_coverage": [{"lead_s": lead, "coverage": covered} for lead, covered in gaps.coverage],
        "lead_s": study.lead_s,
        "coverage": gaps.coverage_at(study.lead_s),
    }


def _split(split: SplitStudy) -> dict[str, Any]:
    def rows(hits: tuple[int, ...]) -> list[dict[str, Any]]:
        return [
            {"capacity_blocks": c, "hit_tokens": hit, "hit_rate": hit / max(1, split.input_tokens)}
            for c, hit in zip(split.capacity_blocks, hits, strict=True)
        ]

    routed: dict[str, Any] = {
        way.routing: {
            "curve": rows(way.hit_tokens),
            "hit_tokens_unlimited": way.hit_tokens_unlimited,
            "load_imbalance": way.load_imbalance,
        }
        for way in split.routed
    }
    formula = [
        {"capacity_blocks": c, "hit_rate": rate}
        for c, rate in zip(split.capacity_blocks, split.formula_rates, strict=True)
    ]
    return {
        "servers": split.servers,
        "pooled": rows(split.pooled_tokens),
        **routed,
        "formula": formula,
        "formula_error_points": {"largest": split.formula_error_points[0], "mean": split.formula_error_points[1]},
        "hot_floor": split.floor,
        "floor_error_points": {"largest": split.floor_error_points[0], "mean": split.floor_error_points[1]},
        "naive_error_points": {"largest": split.naive_error_points[0], "mean": split.naive_error_points[1]},
    }
