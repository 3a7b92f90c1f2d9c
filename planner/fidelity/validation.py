"""How far corrections stray on rows that took no part in them: whole groups, configurations or models left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.fidelity.predict import predict
from planner.fidelity.regression import Cell, Sample, centres, first_pass, fit_all, ratios, uncorrected
from planner.scenario.catalog.corrections import LEVELS, Correction, Spread, for_unmeasured

Validated = tuple[Sample, float, float]  # with predicted over measured: TPOT, TTFT
FOLDS = 10


def cross_validated(found: Sequence[Sample], plain: frozenset[Cell] = frozenset()) -> list[Validated]:
    """Each row's predicted over measured (TPOT, TTFT), its group left out of every stage, the priors included."""
    result: list[Validated] = []
    start = first_pass(found)
    groups = sorted({s.group for s in found})
    for fold in range(min(FOLDS, len(groups))):
        out = set(groups[fold::FOLDS])
        fitted = fit_all([s for s in found if s.group not in out], plain, start)
        held = [s for s in found if s.group in out]
        for cell in sorted({s.cell for s in held}):
            own = [s for s in held if s.cell == cell]
            numbers = fitted[cell] if cell in fitted else centres(fitted, cell)
            result += [(s, float(r[0]), float(r[1])) for s, r in zip(own, ratios(own, numbers), strict=True)]
    return result


def without_their_model(found: Sequence[Sample], entries: Sequence[Correction]) -> list[Validated]:
    """Each row predicted as if its model had not been measured on its engine; rows that nothing else speaks for not."""
    result: list[Validated] = []
    for s in found:
        others = [c for c in entries if s.made.model not in c.models]
        rule = for_unmeasured(others, s.row.engine, s.row.mode, s.made.kind)
        if rule is not None:
            p = predict(s.made, rule)
            result.append((s, p.tpot_s / s.row.tpot_s, p.ttft_s / s.row.ttft_s))
    return result


def of_tabled_builds(validated: Sequence[Validated], entries: Sequence[Correction]) -> list[Validated]:
    """Without the rows of builds that the packaged tables are not of: a plan tells those apart."""
    other = {(c.engine, c.version, c.mode, c.kind) for c in entries if not c.same_build}
    return [v for v in validated if v[0].cell not in other]


def harmed(validated: Sequence[Validated]) -> frozenset[Cell]:
    """Tables whose TPOT correction does not carry over to rows it has not seen: those keep their kernel times."""
    found = set()
    for cell in {s.cell for s, _, _ in validated if s.made.kind == "table"}:
        own = [(s, t) for s, t, _ in validated if s.cell == cell]
        with_it = np.mean([abs(t - 1) for _, t in own])
        without = np.mean(np.abs(uncorrected([s for s, _ in own])[:, 0] - 1))
        if with_it > without:
            found.add(cell)
    return frozenset(found)


def spreads(validated: Sequence[Validated], left_out: str) -> list[Spread]:
    """Quantiles of measured over predicted of each engine and kind with 20 rows or more, and of all."""
    made = []
    keys = sorted({(s.row.engine, s.made.kind) for s, _, _ in validated})
    pooled = [*((e, "*") for e in sorted({k[0] for k in keys})), *(("*", k) for k in sorted({k[1] for k in keys}))]
    for engine, kind in [*keys, *pooled, ("*", "*")]:
        own = [v for v in validated if engine in ("*", v[0].row.engine) and kind in ("*", v[0].made.kind)]
        if len(own) < 20:
            continue
        for i, phase in ((1, "tpot"), (2, "ttft")):
            quantiles = np.quantile([1 / (v[1] if i == 1 else v[2]) for v in own], LEVELS)
            made.append(Spread(engine, kind, phase, len(own), tuple(round(float(q), 3) for q in quantiles), left_out))
    return made
