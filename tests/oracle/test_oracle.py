"""The oracle agrees with itself: three ways to the same optimum, and figures known by other means."""

import math
from typing import Any

import numpy as np
import pytest

from tests.oracle import brute, partitions, scip_model
from tests.oracle.candidates import Prefill
from tests.oracle.generate import scenario
from tests.oracle.laws import Law, SplitLaw
from tests.oracle.physics import Physics, erlang_c

LAWS: tuple[dict[str, Any], ...] = (
    {"law": "power", "beta": 0.4, "hit_rate": 0.35, "at_gb": 2000, "ceiling": 0.8},
    {"law": "hill", "floor": 0.04, "ceiling": 0.7, "half_gb": 900, "slope": 1.84},
    {"law": "measured", "points_gb": [[100, 0.05], [500, 0.08], [1000, 0.2], [4000, 0.55], [9000, 0.66]]},
)
CONCAVE_SEEDS = [s for s in range(60) if partitions.is_concave(Law(scenario(s, False)["workload"]["reuse"], 1e5, 1.0))]


@pytest.mark.parametrize("spec", LAWS, ids=lambda s: s["law"])
@pytest.mark.parametrize("copies", [1, 4])
def test_inverse_undoes_the_law(spec: dict[str, Any], copies: int) -> None:
    law = SplitLaw(Law({**spec, "at_requests_per_second": 30}, 1e5, 45.0), copies)
    hits = np.linspace(0.06, law.ceiling * 0.999, 50)
    assert law.h(law.inverse(hits)) == pytest.approx(hits, abs=1e-12)
    assert law.h(law.inverse(hits) * 0.999).max() < law.ceiling


@pytest.mark.parametrize("spec", LAWS, ids=lambda s: s["law"])
def test_a_load_of_twice_the_observed_needs_twice_the_capacity(spec: dict[str, Any]) -> None:
    observed, doubled = Law(spec, 1e5, 20.0), Law({**spec, "at_requests_per_second": 20}, 1e5, 40.0)
    assert doubled.inverse(0.3) == pytest.approx(2 * observed.inverse(0.3))


def test_random_routing_makes_copies_and_lowers_the_ceiling() -> None:
    law = Law(LAWS[0], 1e5, 20.0)
    split = SplitLaw(law, 5)
    dilution = 5 - 4 * 0.8
    assert float(split.h(3e12)) == pytest.approx(float(law.h(3e12 * dilution / 5)) / dilution)
    assert split.ceiling == pytest.approx(0.8 / dilution)
    assert float(SplitLaw(law, 1).h(3e12)) == float(law.h(3e12))


def test_erlang_c_matches_closed_forms() -> None:
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    a = 1.4
    assert erlang_c(2, a) == pytest.approx(a * a / (2 * (1 - a / 2)) / (1 + a + a * a / (2 * (1 - a / 2))))


def test_admissible_load_of_one_server_matches_the_exponential_tail() -> None:
    doc = scenario(1, False)
    doc["workload"]["arrival_cv"], doc["slo"]["percentile"] = 1.0, 0.95
    p = Physics(doc)
    a = p.admissible(1, 10.0, 1.0, 0.5)  # M/M/1: P(W > t) = a exp(-(1 - a) t / S), S = a / 10
    assert a is not None
    assert a * math.exp(-(1 - a) * 0.5 / (a / 10)) == pytest.approx(0.05, rel=1e-9)
    assert p.admissible(1, 10.0, 1.0, -1e-9) is None


@pytest.mark.parametrize("seed", CONCAVE_SEEDS[:10])
def test_grid_and_cutting_planes_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = scenario(seed, partitions=False)
    by_grid = brute.cells(doc)

    def by_tangents(p: Physics, arch: str, c: Prefill, roles: tuple[str, ...], rent_limit: float) -> Any:
        limit = brute.load_limit(p, c, brute.wait_budget(p, c, roles))
        found = None if limit is None else partitions.cheapest_partitions(p, c, roles, limit, rent_limit)
        return None if found is None else {"usd_per_hour": c.usd + found.usd}

    monkeypatch.setattr(brute, "_solve", by_tangents)
    assert costs(brute.cells(doc)) == pytest.approx(costs(by_grid), rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("seed", range(100, 112))
def test_scip_proves_the_brute_force(seed: int) -> None:
    pytest.importorskip("pyscipopt")
    doc = scenario(seed)
    for architecture, pair in brute.cells(doc).items():
        for which, design in pair.items():
            proven = scip_model.optimum(doc, architecture, tiered=which == "tiered")
            assert (proven["usd_per_hour"] is None) == (design is None)
            if design is not None:
                assert proven["usd_per_hour"] == pytest.approx(design["usd_per_hour"], rel=1e-6)
                assert proven["bound"] <= design["usd_per_hour"] * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(200, 210))
def test_more_freedom_never_costs_more(seed: int) -> None:
    doc = scenario(seed, partitions=False)
    base = brute.cells(doc)
    doc["slo"]["ttft_ms"] *= 1.3
    for t in doc["tiers"]:
        t["gb_per_s_per_node"] *= 1.3
        t["usd_per_gb_hour"] *= 0.8
    for was, now in zip(costs(base).values(), costs(brute.cells(doc)).values(), strict=True):
        assert math.isnan(was) or now <= was * (1 + 1e-7)
    for pair in base.values():
        if pair["hbm_only"] and pair["tiered"]:
            assert pair["tiered"]["usd_per_hour"] <= pair["hbm_only"]["usd_per_hour"]


def costs(found: dict[str, dict[str, dict[str, Any] | None]]) -> dict[str, float]:
    """Dollars per cell; not a number where nothing fits."""
    return {
        f"{architecture}/{which}": design["usd_per_hour"] if design else math.nan
        for architecture, pair in found.items()
        for which, design in pair.items()
    }
