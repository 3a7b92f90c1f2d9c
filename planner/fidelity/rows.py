"""Measured rows: mean TTFT and TPOT of a closed-loop benchmark, in the columns of the packaged file or a user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.errors import InputError
from planner.fidelity.cells import Values, first_of, read_lines
from planner.scenario.catalog.corrections import BACKENDS

FAMILIES = {backend: timing for timing, backend in BACKENDS.items()}
REQUIRED = ("backend", "model_path", "mode", "isl", "osl", "silicon_ttft_ms", "silicon_tpot_ms")
MODES = ("agg", "disagg")
SYSTEM = "h200_sxm"
MOST_TOKENS = 10_000_000  # no model's context is longer
MOST_REQUESTS = 65_536  # in flight
CONCURRENCY = re.compile(r"concurrency=(\d+)")


@dataclass(frozen=True)
class Split:
    """How one instance's GPUs are split: ``tp * dp`` for attention, ``etp * ep`` for the experts."""

    tp: int
    dp: int = 1
    etp: int = 1
    ep: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of the instance."""
        return self.tp * self.dp

    @property
    def name(self) -> str:
        """The split in one word, as plans print it."""
        from planner.physics.timing import config_name

        return config_name(self.tp, self.dp, self.etp, self.ep)


@dataclass(frozen=True)
class Row:
    """One measurement. ``decode`` is None where one pool does both; worker counts are None where not published."""

    id: str
    engine: str  # backend: vllm, sglang, trtllm
    version: str
    model: str  # as the row names it
    precision: str
    mode: str  # agg or disagg
    isl: int
    osl: int
    concurrency: int
    prefill: Split
    decode: Split | None
    prefill_workers: int | None
    decode_workers: int | None
    ttft_s: float
    tpot_s: float
    source: str
    pipeline: int = 1  # pipeline-parallel stages
    columns: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)  # as given, for identity

    @property
    def configuration(self) -> tuple[str, ...]:
        """What stays together in cross-validation: everything but the load, whatever name or file it came under."""
        decode = self.decode.name if self.decode else ""
        return (self.engine, self.model, self.mode, self.prefill.name, decode, str(self.isl), str(self.osl))


def read_rows(path: str | Path) -> tuple[Row, ...]:
    """Rows of a CSV file; lines that start with ``#`` are comments.

    Raises:
        InputError: up to ten mistakes, each with file, line, column and what to write instead.
    """
    lines, problems = read_lines(path, REQUIRED)
    rows = []
    for line in lines:
        values = Values({name: cell.text for name, cell in line.cells.items()}, line.span)
        rows.append(_row(values, {name: cell.text.strip() for name, cell in line.cells.items()}))
        problems += values.problems
    if problems:
        raise InputError(*first_of(problems))
    return tuple(rows)


def row_of(fields: Mapping[str, str]) -> Row:
    """One row from its columns.

    Raises:
        InputError: a value that no measurement has.
    """
    values = Values(fields)
    row = _row(values, fields)
    if values.problems:
        raise InputError(*values.problems)
    return row


def _row(values: Values, fields: Mapping[str, str]) -> Row:
    disagg = values.choice("mode", MODES, "mode") == "disagg"
    _check_system(values)
    pools = ("prefill_", "decode_") if disagg else ("",)
    return Row(
        id=values.text("id"),
        engine=_engine(values),
        version=values.text("backend_version"),
        model=values.text("model_path"),
        precision=values.text("precision"),
        mode="disagg" if disagg else "agg",
        isl=values.whole("isl", 1, MOST_TOKENS),
        osl=values.whole("osl", 1, MOST_TOKENS),
        concurrency=_concurrency(values),
        prefill=_split(values, pools[0]),
        decode=_split(values, "decode_") if disagg else None,
        prefill_workers=_count(values, "prefill_num_workers") if disagg else 1,
        decode_workers=_count(values, "decode_num_workers") if disagg else 0,
        ttft_s=values.positive("silicon_ttft_ms", 1e9, "milliseconds") / 1e3,
        tpot_s=values.positive("silicon_tpot_ms", 1e9, "milliseconds") / 1e3,
        source=values.text("silicon_data_source"),
        pipeline=max(values.whole(f"{pool}pp_size", 1, 1024, 1) for pool in pools),
        columns=tuple(sorted((name, value) for name, value in fields.items() if value)),
    )


def _engine(values: Values) -> str:
    """The backend; the planner's own names of timings (``vllm-0.31``) mean theirs."""
    value = values.text("backend").lower()
    return BACKENDS[value] if value in BACKENDS else _lowered(values, value)


def _lowered(values: Values, value: str) -> str:
    return value if value in FAMILIES else values.choice("backend", FAMILIES, "backend")


def _check_system(values: Values) -> None:
    system = values.text("system")
    if system and system.lower().replace("-", "_") != SYSTEM:
        values.wrong("system", f"system is {system!r}", f"{SYSTEM}: other hardware is not predicted here")


def _concurrency(values: Values) -> int:
    found = CONCURRENCY.search(values.text("silicon_data_source"))
    if values.text("concurrency"):
        return values.whole("concurrency", 1, MOST_REQUESTS)
    if found:
        return int(found[1])
    if values.text("batch_size"):
        return values.whole("batch_size", 1, MOST_REQUESTS)
    values.wrong("concurrency", "no concurrency", "the number of requests in flight, in a column of this name")
    return 1


def _count(values: Values, name: str) -> int | None:
    return values.whole(name, 1, 1024) if values.text(name) else None


def _power_of_two(values: Values, name: str) -> int:
    value = values.whole(name, 1, 1024, 1)
    if value & (value - 1):
        values.wrong(name, f"{name} is {value}: no model's weights split so", "a power of two: 1, 2, 4, 8, ...")
    return value


def _split(values: Values, prefix: str) -> Split:
    """The split of a pool. Some sources multiply TP by EP: ``tp 64, moe 8 x 8`` is a TP8·EP8 instance of 8 GPUs."""
    tp, etp = (_power_of_two(values, prefix + name) for name in ("tp_size", "moe_tp_size"))
    dp, ep = (values.whole(prefix + name, 1, 1024, 1) for name in ("attention_dp_size", "moe_ep_size"))
    experts = etp * ep
    if etp == ep > 1 and experts == max(tp, dp):
        return Split(min(tp, ep), min(dp, ep), 1, ep)
    if dp == 1 and tp < experts and experts % tp == 0:  # data-parallel attention that the source leaves out
        dp = experts // tp
    if experts not in (1, tp * dp):
        values.wrong(
            f"{prefix}moe_tp_size",
            f"moe_tp_size x moe_ep_size is {etp} x {ep}, tp_size x attention_dp_size is {tp} x {dp}",
            f"an expert split of the same {tp * dp} GPUs, or leave both empty",
        )
    return Split(tp, dp, etp if tp * dp == experts else 1, ep)
