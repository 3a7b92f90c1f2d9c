"""The backtest: every measured row predicted, without correction, with it, and by a fit that never saw its group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median

from planner.fidelity.predict import Setup, packaged, predict, setup
from planner.fidelity.rows import Row, read_rows
from planner.scenario import catalog
from planner.scenario.catalog.corrections import FRONT_END, MEASURED, Correction, cross_validation, find

SHORTEST_SERIES = 4  # concurrencies that a rank correlation needs
ENOUGH_ROWS = 10  # of a group whose correction must not do harm


@dataclass(frozen=True)
class Ratio:
    """Predicted over measured."""

    tpot: float
    ttft: float


@dataclass(frozen=True)
class Outcome:
    """One row. ``validated`` is the prediction by a fit without the row's group; None for rows never fitted.

    ``planned`` is with the correction that plans use, whatever version was measured; ``basis`` says which corrected.
    """

    row: Row
    model: str
    workers: tuple[int, int]  # prefill, decode
    plain: Ratio
    corrected: Ratio
    planned: Ratio
    validated: Ratio | None
    basis: str

    @property
    def best(self) -> Ratio:
        """The fair one: cross-validated where the row was fitted, corrected where it was not."""
        return self.validated or self.corrected


@dataclass(frozen=True)
class Skipped:
    """A row that cannot be predicted, and why."""

    row: Row
    reason: str


@dataclass(frozen=True)
class Errors:
    """Of one phase over a set of rows, relative to the measurement."""

    mape: float
    median: float  # of the absolute error
    bias: float
    rank: float | None  # median Spearman correlation with concurrency over the series


@dataclass(frozen=True)
class Group:
    """One engine, model and mode; ``plain`` without correction."""

    engine: str
    model: str
    mode: str
    versions: tuple[str, ...]
    rows: int
    tpot: Errors
    ttft: Errors
    plain_tpot: Errors
    plain_ttft: Errors
    planned_tpot: Errors
    planned_ttft: Errors
    bases: tuple[str, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """Phases that the correction made worse, where there are rows enough to say."""
        if self.rows < ENOUGH_ROWS:
            return ()
        pairs = (("TPOT", self.tpot, self.plain_tpot), ("TTFT", self.ttft, self.plain_ttft))
        return tuple(name for name, with_it, without in pairs if with_it.mape > without.mape)


@dataclass(frozen=True)
class Backtest:
    """Everything that one backtest found. ``packaged``: the rows are the packaged ones, all of them."""

    outcomes: tuple[Outcome, ...]
    skipped: tuple[Skipped, ...]
    groups: tuple[Group, ...]
    total: Group | None
    cross_validated: bool
    packaged: bool


def backtest(rows: Iterable[Row]) -> Backtest:
    """Predict every row and compare."""
    outcomes: list[Outcome] = []
    skipped: list[Skipped] = []
    for row in rows:
        try:
            outcomes.append(_outcome(row, setup(row)))
        except ValueError as error:
            skipped.append(Skipped(row, str(error)))
    keys = sorted({(o.row.engine, o.model, o.row.mode) for o in outcomes})
    groups = tuple(_group(*key, [o for o in outcomes if (o.row.engine, o.model, o.row.mode) == key]) for key in keys)
    total = _group("all", "", "", outcomes) if outcomes else None
    validated = [o.validated is not None for o in outcomes]
    whole = all(validated) and {o.row.id for o in outcomes} == set(_packaged_rows())
    return Backtest(tuple(outcomes), tuple(skipped), groups, total, any(validated), whole)


def _outcome(row: Row, made: Setup) -> Outcome:
    def ratio(correction: Correction | None) -> Ratio:
        found = predict(made, correction)
        return Ratio(found.tpot_s / row.tpot_s, found.ttft_s / row.ttft_s)

    check_fits(row, made)
    plans = find(row.engine, None, row.mode, made.kind, made.model)
    own = packaged(made) if row.version or row.source else plans  # who names no version gets that of plans
    held = cross_validation().get(row.id) if _is_packaged(row) else None
    corrected = ratio(own)
    return Outcome(
        row, made.model, (made.prefill_workers, made.decode_workers), ratio(None), corrected,
        corrected if plans == own else ratio(plans), Ratio(*held) if held else None, _basis(own),
    )  # fmt: skip


def check_fits(row: Row, made: Setup) -> None:
    """Raises ValueError where no such run is possible, or none that is modelled."""
    if row.pipeline > 1:
        raise ValueError(f"pipeline parallelism (pp_size {row.pipeline}) is not modelled")
    tokens = row.isl + row.osl
    longest = catalog.model(made.model).get("max_context")
    if longest is not None and tokens > longest:
        raise ValueError(f"{tokens:,} tokens a request are more than {made.model}'s longest context, {longest:,}")
    for pool in (made.prefill, made.decode):
        if pool is not None and tokens > pool.kv_tokens:
            raise ValueError(
                f"{tokens:,} tokens a request do not fit in the KV memory of {pool.split.gpus} GPUs ({made.model})"
            )


def _is_packaged(row: Row) -> bool:
    """Whether every column is that of the packaged row of this id: an id alone says nothing about the values."""
    known = _packaged_rows().get(row.id)
    return known is not None and known.columns == row.columns


@cache
def _packaged_rows() -> Mapping[str, Row]:
    return {row.id: row for row in read_rows(MEASURED)}


def _basis(correction: Correction | None) -> str:
    if correction is None:
        return "not corrected: nothing like it was measured"
    if correction.kind == FRONT_END:
        return "kernel times as they are, the engine's front end added: no measurement of the model on it is used"
    return (
        f"corrected by {correction.rows} rows of {correction.engine} {correction.version or 'of no stated version'} "
        f"({', '.join(correction.models)})"
    )


def _group(engine: str, model: str, mode: str, outcomes: Sequence[Outcome]) -> Group:
    def errors(of: Callable[[Outcome], float], measured: Callable[[Row], float]) -> Errors:
        off = [of(o) - 1 for o in outcomes]
        absolute = [abs(e) for e in off]
        return Errors(fmean(absolute), median(absolute), fmean(off), _rank(outcomes, of, measured))

    return Group(
        engine,
        model,
        mode,
        tuple(sorted({o.row.version for o in outcomes})),
        len(outcomes),
        errors(lambda o: o.best.tpot, lambda r: r.tpot_s),
        errors(lambda o: o.best.ttft, lambda r: r.ttft_s),
        errors(lambda o: o.plain.tpot, lambda r: r.tpot_s),
        errors(lambda o: o.plain.ttft, lambda r: r.ttft_s),
        errors(lambda o: o.planned.tpot, lambda r: r.tpot_s),
        errors(lambda o: o.planned.ttft, lambda r: r.ttft_s),
        tuple(sorted({o.basis for o in outcomes})),
    )


def _rank(
    outcomes: Sequence[Outcome], of: Callable[[Outcome], float], measured: Callable[[Row], float]
) -> float | None:
    """Median over the series of the rank correlation between predicted and measured as concurrency rises."""
    every: dict[tuple[object, ...], list[Outcome]] = {}
    for o in outcomes:
        every.setdefault((o.row.configuration, o.row.version, o.workers), []).append(o)
    found = []
    for series in every.values():
        loads = sorted({o.row.concurrency for o in series})
        if len(loads) < SHORTEST_SERIES:
            continue
        at = [[o for o in series if o.row.concurrency == c] for c in loads]
        predicted = [fmean(of(o) * measured(o.row) for o in same) for same in at]
        found.append(spearman(predicted, [fmean(measured(o.row) for o in same) for same in at]))
    return median(found) if found else None


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Rank correlation; ties share their mean rank.

    >>> spearman([1, 2, 3, 4], [10, 20, 30, 40]), spearman([1, 2, 3], [3, 2, 1])
    (1.0, -1.0)
    """
    x, y = _ranks(a), _ranks(b)
    mx, my = fmean(x), fmean(y)
    top = sum((p - mx) * (q - my) for p, q in zip(x, y, strict=True))
    bottom = (sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)) ** 0.5
    return top / bottom if bottom else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [(ordered.index(v) + len(ordered) - 1 - ordered[::-1].index(v)) / 2 for v in values]
