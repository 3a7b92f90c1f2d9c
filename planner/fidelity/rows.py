"""Measured rows: mean TTFT and TPOT of a closed-loop benchmark, in the columns of the packaged file or a user's own."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.errors import Diagnostic, InputError
from planner.scenario.catalog.corrections import BACKENDS

FAMILIES = {backend: timing for timing, backend in BACKENDS.items()}
REQUIRED = ("backend", "model_path", "mode", "isl", "osl", "silicon_ttft_ms", "silicon_tpot_ms")
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

    @property
    def configuration(self) -> tuple[str, ...]:
        """What stays together in cross-validation: everything but the load, whatever name or file it came under."""
        decode = self.decode.name if self.decode else ""
        return (self.engine, self.model, self.mode, self.prefill.name, decode, str(self.isl), str(self.osl))


def read_rows(path: str | Path) -> tuple[Row, ...]:
    """Rows of a CSV file; lines that start with ``#`` are comments. InputError names the line of a bad value."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    kept = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    table = csv.DictReader(line for _, line in kept)
    missing = [name for name in REQUIRED if name not in (table.fieldnames or ())]
    if missing:
        raise InputError(
            Diagnostic("no-column", f"{path}: no column {', '.join(missing)}", hint="see planner backtest -h")
        )
    rows = []
    for (number, _), fields in zip(kept[1:], table, strict=False):
        try:
            rows.append(row_of(fields))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(Diagnostic("bad-row", f"{path}:{number}: {error}")) from None
    return tuple(rows)


def row_of(fields: Mapping[str, str]) -> Row:
    """One row from its columns."""
    disagg = fields["mode"] == "disagg"
    model = fields["model_path"]
    backend = fields["backend"].strip().lower()
    if backend not in FAMILIES:
        raise ValueError(f"unknown backend {backend!r}: {', '.join(FAMILIES)}")
    return Row(
        id=fields.get("id") or "",
        engine=backend,
        version=fields.get("backend_version") or "",
        model=model,
        precision=fields.get("precision") or "",
        mode=fields["mode"],
        isl=int(fields["isl"]),
        osl=int(fields["osl"]),
        concurrency=_concurrency(fields),
        prefill=_split(fields, "prefill_" if disagg else ""),
        decode=_split(fields, "decode_") if disagg else None,
        prefill_workers=_count(fields, "prefill_num_workers") if disagg else 1,
        decode_workers=_count(fields, "decode_num_workers") if disagg else 0,
        ttft_s=_positive(fields, "silicon_ttft_ms") / 1e3,
        tpot_s=_positive(fields, "silicon_tpot_ms") / 1e3,
        source=fields.get("silicon_data_source") or "",
    )


def _concurrency(fields: Mapping[str, str]) -> int:
    found = CONCURRENCY.search(fields.get("silicon_data_source") or "")
    value = fields.get("concurrency") or (found.group(1) if found else fields.get("batch_size"))
    if not value:
        raise ValueError("no concurrency")
    return int(value)


def _positive(fields: Mapping[str, str], name: str) -> float:
    value = float(fields[name])
    if not 0 < value < 1e9:
        raise ValueError(f"{name} is {value:g}, expected a positive number of milliseconds")
    return value


def _count(fields: Mapping[str, str], name: str) -> int | None:
    value = fields.get(name)
    return int(value) if value else None


def _split(fields: Mapping[str, str], prefix: str) -> Split:
    """The split of a pool. Some sources multiply TP by EP: ``tp 64, moe 8 x 8`` is a TP8·EP8 instance of 8 GPUs."""
    tp, dp, etp, ep = (
        _count(fields, prefix + name) or 1 for name in ("tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
    )
    if etp == ep > 1 and etp * ep == max(tp, dp):
        return Split(min(tp, ep), min(dp, ep), 1, ep)
    if tp * dp < etp * ep:  # data-parallel attention that the source leaves out
        dp = etp * ep // tp
    return Split(tp, dp, etp if tp * dp == etp * ep else 1, ep)
