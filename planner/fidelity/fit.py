"""Fit the packaged corrections: ``python -m planner.fidelity.fit`` (needs numpy; nothing at run time does).

One correction per engine, version, mode (aggregated or disaggregated) and kind (table, MoE or dense roofline): seven
numbers, by damped Gauss-Newton on logarithms of predicted over measured, TPOT weighted by 1/10 % and TTFT by 1/25 %,
Huber's weights beyond 1.5 of those. The prior is weak, and is what the other corrections of the kind found: a version
with few rows stays close to the others. Repeated rows (one measurement under several names) count once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np

from planner.fidelity.predict import Setup, predict, setup
from planner.fidelity.rows import Row, read_rows
from planner.scenario.catalog.corrections import FILE, LEVELS, MEASURED, NUMBERS, Correction, Spread, for_unmeasured

Cell = tuple[str, str, str, str]  # engine, version, mode, kind
Validated = tuple["Sample", float, float]  # with predicted over measured: TPOT, TTFT
START = {  # centre of the weak prior, in the order of NUMBERS
    "table": (1.1, 10.0, 0.9, 1.0, 20.0, 30.0, 2.0),
    "moe": (1.0, 20.0, 1.0, 5.0, 20.0, 30.0, 2.0),
    "mla": (1.0, 20.0, 0.7, 7.0, 20.0, 50.0, 2.0),
    "dense": (0.5, 10.0, 0.75, 3.0, 20.0, 30.0, 2.0),
}
WIDTH = np.array((0.5, 1.0, 0.35, 1.2, 1.2, 1.2, 1.2))  # of the prior, in logarithms
WEIGHT = np.array((1 / 0.10, 1 / 0.18))  # of a TPOT and a TTFT residual
DISAGG_FIRST_TOKEN_MS = 300.0
RELATIVE = {"agg": (0.5, 0.2), "disagg": (0.5, 0.4)}  # share of the relative error in a TPOT and a TTFT residual
HUBER = 1.5
STEP = 0.05
ROUNDS = 8
DECODE = (2, 3, 4)  # of NUMBERS
IDENTITY = np.log((1.0, 1e-3, 1.0, 1e-3, 1e-2, 1e-3, 1e-3))
FOLDS = 10
TRUSTED = 0.20  # mean TPOT error on its own rows up to which plans use a correction
SAME_BUILD = 0.25  # a table whose TPOT is off by more is not of the build that was measured


@dataclass(frozen=True)
class Sample:
    """A row that can be predicted, its cell, and the group that stays together."""

    row: Row
    made: Setup
    cell: Cell
    group: tuple[str, ...]


def samples(rows: Iterable[Row], *, whole_models: bool = False) -> list[Sample]:
    """Predictable rows. A group holds every load of one model, engine, GPU count and shape, under whatever name.

    With ``whole_models`` it holds every shape too, so that leaving it out leaves the configuration unseen.
    """
    found: list[Sample] = []
    for row in rows:
        made = cached_setup(row)
        if made is None:
            continue
        group = (
            row.engine,
            made.model,
            row.mode,
            *pools_of(made),
            *(() if whole_models else (str(row.isl), str(row.osl))),
        )
        found.append(Sample(row, made, (row.engine, row.version, row.mode, made.kind), group))
    return found


def pools_of(made: Setup) -> tuple[str, ...]:
    """GPUs and workers of the pools: what tells configurations apart, however their splits are written down."""
    if made.decode is None:
        return (str(made.prefill.split.gpus),)
    kinds = ("dp" if p.split.dp > 1 else "tp" for p in (made.prefill, made.decode))
    return (f"{made.prefill_workers}P{made.decode_workers}D", *kinds)


@lru_cache(maxsize=4096)
def cached_setup(row: Row) -> Setup | None:
    """The row's setup, None where it cannot be predicted."""
    try:
        return setup(row)
    except ValueError:
        return None


def distinct(found: Sequence[Sample]) -> list[Sample]:
    """Each measurement once: the sources list some under two names."""
    seen: dict[tuple[object, ...], Sample] = {}
    for s in found:
        key = (
            s.row.engine,
            s.made.model,
            s.row.isl,
            s.row.osl,
            s.row.concurrency,
            round(s.row.tpot_s, 6),
            s.row.ttft_s,
        )
        seen.setdefault(key, s)
    return list(seen.values())


def ratios(found: Sequence[Sample], numbers: np.ndarray) -> np.ndarray:
    """Predicted over measured, one line per row: TPOT, TTFT."""
    correction = _correction(("", "", "", ""), numbers)
    lines = []
    for s in found:
        p = predict(s.made, correction)
        lines.append((p.tpot_s / s.row.tpot_s, p.ttft_s / s.row.ttft_s))
    return np.array(lines)


def uncorrected(found: Sequence[Sample]) -> np.ndarray:
    """As ``ratios``, of the times as packaged."""
    predicted = [(s, predict(s.made, None)) for s in found]
    return np.array([(p.tpot_s / s.row.tpot_s, p.ttft_s / s.row.ttft_s) for s, p in predicted])


def residuals(found: Sequence[Sample], numbers: np.ndarray) -> np.ndarray:
    """Weighted mean of relative and logarithmic error of predicted over measured, one line per row: TPOT, TTFT.

    The relative error alone favours predictions below the measurement, the logarithm those above.
    """
    ratio, share = ratios(found, numbers), np.array([RELATIVE[s.row.mode] for s in found])
    return np.asarray(share * (ratio - 1) + (1 - share) * np.log(ratio))


def fit_cell(
    found: Sequence[Sample], centre: np.ndarray, start: np.ndarray | None = None, rounds: int = ROUNDS,
    plain_decode: bool = False,
) -> np.ndarray:  # fmt: skip
    """The seven logarithms of one cell; ``plain_decode`` keeps a table's decode times as they are."""
    theta = (centre if start is None else start).copy()
    free = np.array([not (plain_decode and i in DECODE) for i in range(theta.size)])
    theta[~free] = IDENTITY[~free]
    for _ in range(rounds):
        r = (residuals(found, theta) * WEIGHT).ravel()
        jacobian = np.empty((r.size, theta.size))
        for k in range(theta.size):
            moved = theta.copy()
            moved[k] += STEP
            jacobian[:, k] = ((residuals(found, moved) * WEIGHT).ravel() - r) / STEP
        w = np.sqrt(np.minimum(1.0, HUBER / np.maximum(np.abs(r), 1e-9)))
        a = np.vstack([jacobian * w[:, None], np.diag(1 / WIDTH)])
        b = np.concatenate([-r * w, (centre - theta) / WIDTH])
        step = np.zeros(theta.size)
        step[free] = np.clip(np.linalg.lstsq(a[:, free], b, rcond=None)[0], -0.7, 0.7)
        theta = theta + step
        if np.max(np.abs(step)) < 0.01:
            break
    return theta


def start_of(cell: Cell) -> np.ndarray:
    """Centre of the weak prior: by kind; a disaggregated first token passes two engines and a router."""
    numbers = np.array(START[cell[3]])
    if cell[2] == "disagg":
        numbers[NUMBERS.index("first_token_ms")] = DISAGG_FIRST_TOKEN_MS
    return np.asarray(np.log(numbers))


def centres(first: dict[Cell, np.ndarray], cell: Cell) -> np.ndarray:
    """Prior of a cell: mean of the weak prior and the others of its kind and mode, its engine's counted twice."""
    mean = start_of(cell)
    others = [
        t for c, t in first.items() if c != cell and c[2:] == cell[2:] for _ in range(2 if c[0] == cell[0] else 1)
    ]
    return np.asarray(np.mean([mean, *others], axis=0)) if others else mean


def fit_all(found: Sequence[Sample], plain: frozenset[Cell] = frozenset()) -> dict[Cell, np.ndarray]:
    """Every cell's numbers: a first pass from the weak prior, a second from what the others found."""
    cells: dict[Cell, list[Sample]] = {}
    for s in distinct(found):
        cells.setdefault(s.cell, []).append(s)
    first = {cell: fit_cell(own, start_of(cell)) for cell, own in cells.items()}
    return {
        cell: fit_cell(own, centres(first, cell), first[cell], plain_decode=cell in plain)
        for cell, own in cells.items()
    }


def cross_validated(
    found: Sequence[Sample], fitted: dict[Cell, np.ndarray], plain: frozenset[Cell] = frozenset()
) -> list[Validated]:
    """Each row's predicted over measured (TPOT, TTFT) by a fit without its group."""
    result: list[Validated] = []
    for cell, theta in fitted.items():
        own = [s for s in found if s.cell == cell]
        groups = sorted({s.group for s in own})
        for fold in range(min(FOLDS, len(groups))):
            out = set(groups[fold::FOLDS])
            left = distinct([s for s in own if s.group not in out])
            centre = centres(fitted, cell)
            numbers = fit_cell(left, centre, theta, 5, cell in plain) if left else centre
            held = [s for s in own if s.group in out]
            result += [(s, float(r[0]), float(r[1])) for s, r in zip(held, ratios(held, numbers), strict=True)]
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
    """Tables whose decode correction does not carry over to rows it has not seen: those keep their decode times."""
    found = set()
    for cell in {s.cell for s, _, _ in validated if s.made.kind == "table"}:
        own = [(s, t) for s, t, _ in validated if s.cell == cell]
        with_it = np.mean([abs(t - 1) for _, t in own])
        without = np.mean(np.abs(uncorrected([s for s, _ in own])[:, 0] - 1))
        if with_it > without:
            found.add(cell)
    return frozenset(found)


def spreads(validated: Sequence[Validated], seen: bool) -> list[Spread]:
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
            made.append(Spread(engine, kind, phase, len(own), tuple(round(float(q), 3) for q in quantiles), seen))
    return made


def packaged_form(fitted: dict[Cell, np.ndarray], found: Sequence[Sample]) -> list[Correction]:
    """The corrections as shipped: rounded, with their rows, and with those that plans use marked."""
    made, usable = [], {}
    for cell, theta in sorted(fitted.items()):
        own = distinct([s for s in found if s.cell == cell])
        pools = [p for s in own for p in (s.made.prefill, s.made.decode) if p is not None]
        plain = uncorrected(own)
        tpot_ratio, ttft_ratio = np.median(1 / plain, axis=0)
        entry = replace(
            _correction(cell, theta),
            rows=len(own),
            models=tuple(sorted({s.made.model for s in own})),
            most_gpus=max(p.split.gpus for p in pools),
            most_tokens=max(s.row.isl + s.row.osl for s in own),
            most_sequences=max(s.row.concurrency // max(s.made.decode_workers, 1) for s in own),
            tpot_ratio=round(float(tpot_ratio), 3),
            ttft_ratio=round(float(ttft_ratio), 3),
            same_build=bool(cell[3] != "table" or np.abs(plain[:, 0] - 1).mean() <= SAME_BUILD),
        )
        made.append(entry)
        usable[entry] = entry.same_build and np.abs(ratios(own, theta)[:, 0] - 1).mean() <= TRUSTED
    best: dict[tuple[object, ...], Correction] = {}
    for c in made:
        key = (c.engine, c.mode, c.kind, c.models)
        if usable[c]:
            best[key] = max(best.get(key, c), c, key=lambda c: c.rows)
    return [replace(c, planning=best.get((c.engine, c.mode, c.kind, c.models)) is c) for c in made]


def _correction(cell: Cell, theta: np.ndarray) -> Correction:
    numbers = {name: float(f"{value:.4g}") for name, value in zip(NUMBERS, np.exp(theta), strict=True)}
    return Correction(*cell, **numbers)  # type: ignore[arg-type]


def main() -> None:
    """Fit, cross-validate, write, and print the errors."""
    rows = read_rows(MEASURED)
    found = samples(rows)
    plain = harmed(cross_validated(found, fit_all(found)))
    fitted = fit_all(found, plain)
    validated = cross_validated(found, fitted, plain)
    unseen = cross_validated(samples(rows, whole_models=True), fitted, plain)
    entries = packaged_form(fitted, found)
    unmeasured = without_their_model(found, entries)
    lists: dict[str, Sequence[Correction] | Sequence[Spread]] = {
        "corrections": entries,
        "spreads": [*spreads(validated, True), *spreads(of_tabled_builds(unmeasured, entries), False)],
    }
    body = [' "source": "python -m planner.fidelity.fit, from measured/h200_sxm.csv"']
    for name, items in lists.items():
        lines = ",\n  ".join(json.dumps(asdict(item)) for item in items)
        body.append(f' "{name}": [\n  {lines}\n ]')
    body.append(f' "unseen": {json.dumps(_summary(unseen))}')
    body.append(f' "unmeasured": {json.dumps(_summary(unmeasured))}')
    by_row = {s.row.id: [round(t, 4), round(f, 4)] for s, t, f in validated}
    body.append(f' "cross_validation": {json.dumps(by_row)}')
    FILE.write_text("{\n" + ",\n".join(body) + "\n}\n", encoding="utf-8")
    print("groups left out:", json.dumps(_summary(validated)))
    print("configurations left out with every shape:", json.dumps(_summary(unseen)))
    print("models left out of an engine:", json.dumps(_summary(unmeasured)))


def _summary(validated: Sequence[Validated]) -> dict[str, float]:
    """Rows, mean absolute error and bias in percent."""
    errors = np.array([[t - 1, f - 1] for _, t, f in validated])
    mape, bias = 100 * np.abs(errors).mean(axis=0), 100 * errors.mean(axis=0)
    return {
        "rows": len(errors),
        "tpot_mape_pct": round(float(mape[0]), 1), "tpot_bias_pct": round(float(bias[0]), 1),
        "ttft_mape_pct": round(float(mape[1]), 1), "ttft_bias_pct": round(float(bias[1]), 1),
    }  # fmt: skip


if __name__ == "__main__":
    main()
