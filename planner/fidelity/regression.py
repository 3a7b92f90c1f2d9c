"""One engine's correction fitted to measured rows: damped Gauss-Newton on predicted over measured.

Seven numbers per cell (engine, version, mode, kind), TPOT weighted by 1/10 % and TTFT by 1/18 %, Huber's weights
beyond 1.5 of those. The prior is weak, and is what the other corrections of the kind found: a version with few rows
stays close to the others. A roofline is never moved beyond what the hardware's peaks allow. Repeated rows (one
measurement under several names) count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from planner.fidelity.predict import Setup, predict, setup
from planner.fidelity.rows import Row
from planner.physics.roofline import RooflineTiming
from planner.scenario import catalog
from planner.scenario.catalog.corrections import NUMBERS, Correction
from planner.units import GB, TFLOP

Cell = tuple[str, str, str, str]  # engine, version, mode, kind
Fitted = dict[Cell, np.ndarray]
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
KERNELS = {"agg": (0, 1, 2, 3, 4), "disagg": (2, 3, 4)}  # of NUMBERS: what moves TPOT
IDENTITY = np.log((1.0, 1e-3, 1.0, 1e-3, 1e-2, 1e-3, 1e-3))
MOST_FLOPS = 0.85  # share of the peak that a running engine may reach
MOST_BYTES = 0.95


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
    return joined(found)


def pools_of(made: Setup) -> tuple[str, ...]:
    """GPUs and workers of the pools, and whether attention is data-parallel: what tells configurations apart."""
    if made.decode is None:
        return (str(made.prefill.split.gpus),)
    kinds = ("dp" if p.split.dp > 1 else "tp" for p in (made.prefill, made.decode))
    return (f"{made.prefill_workers}P{made.decode_workers}D", *kinds)


def joined(found: Sequence[Sample]) -> list[Sample]:
    """Groups that share a measurement are one: the sources list some under two names, as two configurations."""
    of: dict[tuple[object, ...], tuple[str, ...]] = {}
    other: dict[tuple[str, ...], tuple[str, ...]] = {}

    def root(group: tuple[str, ...]) -> tuple[str, ...]:
        while group in other:
            group = other[group]
        return group

    for s in found:
        one, two = root(s.group), root(of.setdefault(measurement(s), s.group))
        if one != two:
            other[one] = two
    return [replace(s, group=root(s.group)) for s in found]


@lru_cache(maxsize=4096)
def cached_setup(row: Row) -> Setup | None:
    """The row's setup, None where it cannot be predicted."""
    try:
        return setup(row)
    except ValueError:
        return None


def measurement(s: Sample) -> tuple[object, ...]:
    """What two rows of one measurement have in common."""
    row = s.row
    return row.engine, s.made.model, row.isl, row.osl, row.concurrency, round(row.tpot_s, 6), row.ttft_s


def distinct(found: Sequence[Sample]) -> list[Sample]:
    """Each measurement once: the sources list some under two names."""
    seen: dict[tuple[object, ...], Sample] = {}
    for s in found:
        seen.setdefault(measurement(s), s)
    return list(seen.values())


def ratios(found: Sequence[Sample], numbers: np.ndarray) -> np.ndarray:
    """Predicted over measured, one line per row: TPOT, TTFT."""
    correction = correction_of(("", "", "", ""), numbers)
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


def floors(found: Sequence[Sample]) -> np.ndarray:
    """Least logarithms of the seven numbers: a roofline's factors stop where the hardware's peaks are reached."""
    least = np.full(len(NUMBERS), -np.inf)
    for s in found:
        for pool in (s.made.prefill, s.made.decode or s.made.prefill):
            if isinstance(pool.timing, RooflineTiming):
                flops, bandwidth = _peaks(s.made.model)
                compute = pool.timing.flops_per_s / (MOST_FLOPS * flops * pool.split.gpus)
                memory = pool.timing.bytes_per_s / (MOST_BYTES * bandwidth * pool.split.gpus)
                least[0], least[2] = max(least[0], np.log(compute)), max(least[2], np.log(memory))
    return least


@cache
def _peaks(model: str) -> tuple[float, float]:
    """Operations in the model's precision and bytes per second of the GPU that the rows were measured on."""
    known = catalog.hardware("h200-sxm")
    flops = known["peak_tflops"][catalog.model(model).get("compute_dtype") or "bf16"]
    return float(flops) * TFLOP, float(known["hbm_gb_per_s"]) * GB


def fit_cell(
    found: Sequence[Sample], centre: np.ndarray, start: np.ndarray | None = None, plain: Sequence[int] = ()
) -> np.ndarray:
    """The seven logarithms of one cell; ``plain`` numbers leave a table's kernel times as they are."""
    least = floors(found)
    theta = np.maximum(centre if start is None else start, least)
    free = np.array([i not in plain for i in range(theta.size)])
    theta[~free] = IDENTITY[~free]
    for _ in range(ROUNDS):
        r = (residuals(found, theta) * WEIGHT).ravel()
        jacobian = np.empty((r.size, theta.size))
        for k in range(theta.size):
            moved = theta.copy()
            moved[k] += STEP
            jacobian[:, k] = ((residuals(found, moved) * WEIGHT).ravel() - r) / STEP
        w = np.sqrt(np.minimum(1.0, HUBER / np.maximum(np.abs(r), 1e-9)))
        a = np.vstack([jacobian * w[:, None], np.diag(1 / WIDTH)])
        b = np.concatenate([-r * w, (centre - theta) / WIDTH])
        step = _bounded_step(a, b, theta, least, free)
        theta = theta + step
        if np.max(np.abs(step)) < 0.01:
            break
    return theta


def _bounded_step(a: np.ndarray, b: np.ndarray, theta: np.ndarray, least: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The least-squares step of the free numbers; those that would pass their floor stop there, the rest follow."""
    step, moving = np.zeros(theta.size), free.copy()
    for _ in range(theta.size):
        rest = b - a[:, ~moving] @ step[~moving]
        step[moving] = np.clip(np.linalg.lstsq(a[:, moving], rest, rcond=None)[0], -0.7, 0.7)
        passed = moving & (theta + step < least - 1e-12)
        if not passed.any():
            break
        step[passed] = (least - theta)[passed]
        moving &= ~passed
    return step


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


def by_cell(found: Iterable[Sample]) -> dict[Cell, list[Sample]]:
    """Distinct measurements of each cell."""
    cells: dict[Cell, list[Sample]] = {}
    for s in distinct(list(found)):
        cells.setdefault(s.cell, []).append(s)
    return cells


def first_pass(found: Iterable[Sample], start: Mapping[Cell, np.ndarray] | None = None) -> Fitted:
    """Every cell's numbers from the weak prior alone; ``start`` only saves rounds."""
    near = start or {}
    return {cell: fit_cell(own, start_of(cell), near.get(cell)) for cell, own in by_cell(found).items()}


def fit_all(
    found: Iterable[Sample], plain: frozenset[Cell] = frozenset(), start: Mapping[Cell, np.ndarray] | None = None
) -> Fitted:
    """Every cell's numbers: a first pass from the weak prior, a second from what the others found."""
    rows = list(found)
    first = first_pass(rows, start)
    return {
        cell: fit_cell(own, centres(first, cell), first[cell], plain=KERNELS[cell[2]] if cell in plain else ())
        for cell, own in by_cell(rows).items()
    }


def correction_of(cell: Cell, theta: np.ndarray) -> Correction:
    """The seven logarithms as a correction, to four digits."""
    numbers: dict[str, Any] = {name: float(f"{value:.4g}") for name, value in zip(NUMBERS, np.exp(theta), strict=True)}
    return Correction(*cell, **numbers)
