"""What is derived from the curve: laws, windows, classes, arrivals, gaps, routing, sampling."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.trace.arrivals import arrivals, dispersion_index, peak_rate
from planner.trace.classes import request_classes
from planner.trace.curve import HitCurve, hit_curve
from planner.trace.gaps import reuse_gaps
from planner.trace.laws import closed_form_refusal, fit_hill, fit_laws, fit_power, fit_table
from planner.trace.sampling import standard_error
from planner.trace.split import random_routing_rates, split_study
from planner.trace.stack import reuse_runs
from planner.trace.study import StudyOptions, study_trace
from planner.trace.windows import rescaled, stationarity

from .reference import chat, read, simulated_hits, trace_of, write

TRACE = trace_of(chat(800, seed=4))
RUNS = reuse_runs(TRACE)
CURVE = hit_curve(TRACE, RUNS)


def curve_of(rate: np.ndarray) -> HitCurve:
    """A curve with the hit rates given at 0, 1, 2, … blocks of one token."""
    return HitCurve(np.rint(rate * 1e9).astype(np.int64), 10**9, 1)


BLOCKS = np.arange(0, 20_001)


def test_power_law_is_found_again() -> None:
    fit = fit_power(curve_of(np.minimum(0.6, 0.6 * (BLOCKS / 15_000) ** 0.5)))
    assert fit.parameters["beta"] == pytest.approx(0.5, abs=2e-3)
    assert fit.parameters["at_tokens"] == pytest.approx(15_000, rel=0.01)
    assert fit.largest_residual_points < 0.1
    assert fit.holds


def test_hill_law_is_found_again() -> None:
    u = (BLOCKS / 3000.0) ** 2.2
    fit = fit_hill(curve_of(0.05 + 0.55 * u / (1 + u)))
    assert fit.parameters == pytest.approx({"floor": 0.05, "ceiling": 0.6, "half_tokens": 3000, "slope": 2.2}, rel=0.02)
    assert fit.largest_residual_points < 0.1


def test_hill_floor_is_never_negative() -> None:
    fit = fit_hill(curve_of(0.5 * np.maximum(0, BLOCKS - 4000) / 16_000))
    assert fit.parameters["floor"] >= 0
    assert 0 < fit.parameters["ceiling"] <= 1


def test_closed_form_is_refused_where_beta_is_high_or_the_fit_is_poor() -> None:
    straight = fit_laws(curve_of(0.5 * np.minimum(1, BLOCKS / 20_000)))
    assert "β" in (closed_form_refusal(straight) or "")
    hot = fit_laws(curve_of(0.3 * (BLOCKS > 0) + 0.3 * (BLOCKS / 20_000)))
    assert "off by up to" in (closed_form_refusal(hot) or "")
    concave = fit_laws(curve_of(np.minimum(0.6, 0.6 * (BLOCKS / 15_000) ** 0.5)))
    assert closed_form_refusal(concave) is None


def test_table_has_the_points_asked_for_and_crowds_where_the_curve_bends() -> None:
    bent = curve_of(np.interp(BLOCKS, [0, 5000, 6000, 20_000], [0, 0.05, 0.5, 0.55]))
    fit = fit_table(bent, 12)
    assert len(fit.points_tokens) == 12
    assert fit.largest_residual_points < 0.5
    assert fit.points_tokens[-1] == (20_000, 0.55)
    rates = [rate for _, rate in fit.points_tokens]
    assert rates == sorted(rates)


def test_table_is_no_worse_than_points_spread_evenly_in_the_logarithm() -> None:
    fit = fit_table(CURVE, 12)
    even = np.unique(np.rint(np.geomspace(1, CURVE.saturation_blocks, 12)))
    grid = CURVE.grid()
    spread = np.interp(grid, [0, *even], [0, *CURVE.rates(even)])
    assert fit.largest_residual_points < 100 * np.abs(spread - CURVE.rates(grid)).max()


def test_a_trace_without_reuse() -> None:
    rows = [{"timestamp": i, "input_length": 16, "output_length": 1, "hash_ids": [i]} for i in range(100)]
    study = study_trace(trace_of(rows))
    assert study.curve.ceiling == 0
    assert study.closed_form_refusal == "there is no reuse to fit"
    assert study.classes.hit_probability == 0


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_classes_reproduce_the_totals(count: int) -> None:
    found = request_classes(TRACE, RUNS, count)
    assert len(found.classes) == count
    assert sum(kind.requests for kind in found.classes) == len(TRACE)
    mean = {
        key: sum(kind.share * getattr(kind, key) for kind in found.classes)
        for key in ("prompt_tokens", "output_tokens")
    }
    assert mean["prompt_tokens"] * len(TRACE) == pytest.approx(TRACE.total_input_tokens)
    assert mean["output_tokens"] * len(TRACE) == pytest.approx(TRACE.output_tokens.sum())
    reused = sum(kind.share * kind.reusable_tokens for kind in found.classes) * found.hit_probability * len(TRACE)
    assert reused == pytest.approx(CURVE.unlimited_tokens)
    assert all(0 < kind.reusable_tokens < kind.prompt_tokens for kind in found.classes)


def test_poisson_and_regular_arrivals() -> None:
    rng = np.random.default_rng(0)
    stamps = np.cumsum(rng.exponential(0.5, 4000))
    poisson = arrivals(replace(TRACE, timestamp_ms=stamps * 1000))
    assert poisson.requests_per_second == pytest.approx(2.0, rel=0.05)
    assert poisson.arrival_cv == pytest.approx(1.0, abs=0.06)
    assert dict(poisson.dispersion)[10.0] == pytest.approx(1.0, abs=0.25)
    coarse = arrivals(replace(TRACE, timestamp_ms=np.floor(stamps / 3) * 3000))
    assert coarse.cv_gaps > 1.8, "a clock with steps looks bursty"
    assert coarse.arrival_cv == pytest.approx(1.0, abs=0.15)
    assert "steps of about 3 s" in coarse.arrival_cv_source


def test_peak_and_dispersion_by_hand() -> None:
    stamps = np.array([0.0, 10.0, 11.0, 12.0, 30.0, 40.0])
    assert peak_rate(stamps, 5.0) == 3 / 5
    assert dispersion_index(stamps, 20.0) == pytest.approx(np.var([4, 1]) / 2.5)


def test_gaps_and_coverage_by_hand() -> None:
    ids = [[1], [1, 2], [1, 2]]
    rows = [
        {"timestamp": t * 1000, "input_length": 16 * len(x), "output_length": 1, "hash_ids": x}
        for t, x in zip([0, 4, 100], ids, strict=True)
    ]
    trace = trace_of(rows)
    gaps = reuse_gaps(trace, reuse_runs(trace), lead_s=7.5)
    assert gaps.hit_tokens == 48
    assert gaps.coverage_at(7.5) == pytest.approx(2 / 3)
    assert dict(gaps.coverage)[1.0] == 1.0
    assert sum(share for _, _, share in gaps.shares) == pytest.approx(1)


def test_stationary_traffic_is_steady_and_a_change_is_seen() -> None:
    found = stationarity(TRACE, RUNS, CURVE, 4)
    assert len(found.windows) == 4
    assert found.windows[0].moves in ("steady", "warm-up")
    assert found.ceiling_of_half < found.ceiling_warm_half
    assert "lower bound" in found.warnings[0]
    fresh = [
        {**row, "hash_ids": [b + 10**6 * (i + 1) for b in row["hash_ids"]]} for i, row in enumerate(chat(400, seed=8))
    ]
    rows = chat(400, seed=7)
    end = rows[-1]["timestamp"] + 1000
    changed = trace_of([*rows, *[{**row, "timestamp": row["timestamp"] + end} for row in fresh]])
    runs = reuse_runs(changed)
    moved = stationarity(changed, runs, hit_curve(changed, runs), 4)
    assert moved.windows[-1].ceiling_warm == 0
    assert any("the curve moves" in warning for warning in moved.warnings)


def test_rescaling_reads_the_curve_at_another_load() -> None:
    at = np.array([10.0, 40.0])
    assert rescaled(CURVE, at, 2.0, 4.0).tolist() == CURVE.rates([5, 20]).tolist()


def test_routing() -> None:
    found = split_study(TRACE, RUNS, CURVE, 3, [30, 90, 300])
    ways = {way.routing: way for way in found.routed}
    assert ways["affinity"].hit_tokens_unlimited > ways["random"].hit_tokens_unlimited
    assert ways["affinity"].hit_tokens_unlimited <= CURVE.unlimited_tokens
    rows = chat(800, seed=4)
    expected = [sum(simulated_hits(rows[s::3], c // 3, 16) for s in range(3)) for c in (30, 90, 300)]
    assert list(ways["round_robin"].hit_tokens) == expected
    assert found.formula_error_points[0] < found.naive_error_points[0]


def test_random_routing_formula_by_hand() -> None:
    curve = curve_of(0.5 * np.minimum(1, BLOCKS / 10_000))
    distinct = 4 - 3 * 0.5
    assert random_routing_rates(curve, np.array([8000]), 4)[0] == pytest.approx(
        0.5 * 8000 * distinct / 4 / 10_000 / distinct
    )
    assert random_routing_rates(curve, np.array([10**6]), 1)[0] == 0.5


def test_sampling_stays_within_its_error_bar(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", chat(3000, seed=6))
    exact, sampled = hit_curve(read(path)), read(path, sample_rate=0.25)
    assert sampled.references == read(path).references
    assert sampled.unique_blocks < 0.4 * read(path).unique_blocks
    assert len(sampled.parts) == 8
    at = np.geomspace(20, exact.saturation_blocks, 12)
    estimate, error = hit_curve(sampled).rates(at), standard_error([hit_curve(p) for p in sampled.parts], at)
    assert (error < 0.05).all()
    assert (np.abs(estimate - exact.rates(at)) < 4 * error + 0.005).all()


def test_study_at_capacities_asked_for() -> None:
    study = study_trace(TRACE, StudyOptions(at_blocks=(7, 70), classes=2, windows=2, split=2))
    assert study.capacity_blocks == (7, 70)
    assert study.split is not None
    assert study.split.capacity_blocks == (7, 70)
