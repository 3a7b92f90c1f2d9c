"""Fit the packaged corrections: ``python -m planner.fidelity.fit`` (needs numpy; nothing at run time does).

One correction per engine, version, mode (aggregated or disaggregated) and kind (table, MoE, MLA or dense roofline),
validated by leaving whole groups out, and marked for planning where it may be trusted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from planner.fidelity.instance import Instance
from planner.fidelity.regression import Cell, Sample, correction_of, distinct, fit_all, ratios, samples, uncorrected
from planner.fidelity.rows import read_rows
from planner.fidelity.validation import (
    Validated,
    cross_validated,
    harmed,
    of_tabled_builds,
    spreads,
    without_their_model,
)
from planner.physics.timing import config_name
from planner.scenario.catalog.corrections import FILE, MEASURED, Correction, Spread

TRUSTED = 0.20  # mean TPOT error on its own rows up to which plans use a correction
ENOUGH_ROWS = 10  # of a correction that plans use
SAME_BUILD = 0.25  # a table whose TPOT is off by more is not of the build that was measured


def packaged_form(fitted: dict[Cell, np.ndarray], found: Sequence[Sample]) -> list[Correction]:
    """The corrections as shipped: rounded, with their rows, and with those that plans use marked."""
    made, usable = [], {}
    for cell, theta in sorted(fitted.items()):
        own = distinct([s for s in found if s.cell == cell])
        pools = [p for s in own for p in (s.made.prefill, s.made.decode) if p is not None]
        plain = uncorrected(own)
        tpot_ratio, ttft_ratio = np.median(1 / plain, axis=0)
        entry = replace(
            correction_of(cell, theta),
            rows=len(own),
            models=tuple(sorted({s.made.model for s in own})),
            configs=tuple(sorted({_name(p) for p in pools})),
            most_gpus=max(p.split.gpus for p in pools),
            most_tokens=max(s.row.isl + s.row.osl for s in own),
            most_sequences=max(s.row.concurrency // max(s.made.decode_workers, 1) for s in own),
            tpot_ratio=round(float(tpot_ratio), 3),
            ttft_ratio=round(float(ttft_ratio), 3),
            same_build=bool(cell[3] != "table" or np.abs(plain[:, 0] - 1).mean() <= SAME_BUILD),
        )
        made.append(entry)
        usable[entry] = (
            len(own) >= ENOUGH_ROWS and entry.same_build and np.abs(ratios(own, theta)[:, 0] - 1).mean() <= TRUSTED
        )
    best: dict[tuple[object, ...], Correction] = {}
    for c in made:
        key = (c.engine, c.mode, c.kind, c.models)
        if usable[c]:
            best[key] = max(best.get(key, c), c, key=lambda c: c.rows)
    return [replace(c, planning=best.get((c.engine, c.mode, c.kind, c.models)) is c) for c in made]


def _name(pool: Instance) -> str:
    """Of a pool's configuration; a roofline does not tell how experts are split."""
    split = pool.split
    return config_name(split.tp, split.dp, *((split.etp, split.ep) if pool.kind == "table" else ()))


def main() -> None:
    """Fit, cross-validate, write, and print the errors."""
    rows = read_rows(MEASURED)
    found = samples(rows)
    plain = harmed(cross_validated(found))
    fitted = fit_all(found, plain)
    validated = cross_validated(found, plain)
    unseen = cross_validated(samples(rows, whole_models=True), plain)
    entries = packaged_form(fitted, found)
    unmeasured = without_their_model(found, entries)
    lists: dict[str, Sequence[Correction] | Sequence[Spread]] = {
        "corrections": entries,
        "spreads": [
            *spreads(validated, "shape"),
            *spreads(unseen, "configuration"),
            *spreads(of_tabled_builds(unmeasured, entries), "model"),
        ],
    }
    body = [' "source": "python -m planner.fidelity.fit, from measured/h200_sxm.csv"']
    for name, items in lists.items():
        lines = ",\n  ".join(json.dumps(asdict(item)) for item in items)
        body.append(f' "{name}": [\n  {lines}\n ]')
    body.append(f' "unseen": {json.dumps(_summary(unseen))}')
    body.append(f' "unmeasured": {json.dumps(_summary(unmeasured))}')
    by_row = dict(sorted((s.row.id, [round(t, 4), round(f, 4)]) for s, t, f in validated))
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
