"""Fit the roofline's four parameters to the packaged tables: ``python -m planner.physics.fit_roofline``.

One fit per engine version and compute precision, over every packaged model of that precision: the mean squared log
error of prefill plus that of decode is least. Left out are points that an instance's KV memory cannot hold,
configurations wider than the NVLink domain (the roofline knows no network) and SGLang's MLA decode (faulty data).
Writes ``roofline_fit.json`` beside the tables, with the error that remains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import exp, log

from planner.physics.roofline import RooflineTiming, roofline_timing
from planner.scenario import Scenario, loads
from planner.scenario.catalog.timing import FOLDER, MeasuredConfig, MeasuredTable, available_tables, load_table
from planner.units import seconds

START = (0.4, 0.6, 0.010, 0.005)  # mfu, mbu, prefill and step overhead in seconds
STEPS = 500  # of the simplex; the four parameters settle within 200
Point = tuple[float, float, float]  # two coordinates of a grid, measured seconds
Parameters = Sequence[float]  # logarithms of mfu, mbu and the overheads in seconds

SCENARIO = """
model: {model}
hardware: {hardware}
workload:
  requests_per_second: 1
  classes: [{{prompt_tokens: 1000, reusable_tokens: 0, output_tokens: 100}}]
  reuse: {{law: power, beta: 0.5, hit_rate: 0.5, at_gb: 1000, ceiling: 0.8}}
slo: {{ttft_ms: 1000, tpot_ms: 100}}
engine: {{timing: roofline, kv_dtype: {kv}, roofline: {{mfu: 1, mbu: 1, prefill_overhead_ms: 0, step_overhead_ms: 0}}}}
"""


@dataclass(frozen=True)
class Target:
    """One configuration's roofline at the full peaks, and what was measured of it."""

    ideal: RooflineTiming
    prefill: tuple[Point, ...]
    decode: tuple[Point, ...]


def main() -> None:
    """Fit, write, and print what was written."""
    fits = [_fitted(engine, dtype, targets) for engine, dtype, targets in targets_by_fit()]
    body = ",\n  ".join(json.dumps(fit) for fit in fits)
    text = '{\n "fits": [\n  ' + body + "\n ]\n}\n"
    (FOLDER / "roofline_fit.json").write_text(text, encoding="utf-8")
    print(text, end="")


def targets_by_fit() -> Iterator[tuple[str, str, list[Target]]]:
    """Engine version, compute precision and what its roofline is fitted to."""
    for engine, tables in groupby(available_tables(), key=lambda key: key[0]):
        by_dtype: dict[str, list[Target]] = {}
        for _, model, hardware in tables:
            table = load_table(engine, model, hardware)
            scenario = loads(SCENARIO.format(model=model, hardware=hardware, kv=table.kv_dtype))
            by_dtype.setdefault(scenario.model.compute_dtype or "bf16", []).extend(_targets(scenario, table))
        for dtype, targets in sorted(by_dtype.items()):
            yield engine, dtype, targets


def errors_of(
    targets: list[Target], mfu: float, mbu: float, prefill_overhead_ms: float, step_overhead_ms: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Median and 90th percentile of the relative error in percent, of prefill and of decode."""
    parameters = [log(value) for value in (mfu, mbu, seconds(prefill_overhead_ms), seconds(step_overhead_ms))]
    prefill, decode = _log_errors(targets, parameters)
    return _phase(prefill), _phase(decode)


def _targets(scenario: Scenario, table: MeasuredTable) -> Iterator[Target]:
    faulty_decode = table.engine.startswith("sglang") and scenario.model.attention.kind == "mla"
    domain = scenario.hardware.nvlink_domain_gpus
    for config in table.configs:
        if domain is None or config.gpus <= domain:
            ideal = roofline_timing(scenario, config.gpus, config.tp, config.ways)
            yield Target(ideal, _prefill_points(config), () if faulty_decode else _decode_points(config))


def _prefill_points(config: MeasuredConfig) -> tuple[Point, ...]:
    grid = config.prefill
    return tuple(
        (new, prefix, seconds(ms))
        for new, row in zip(grid.rows, grid.milliseconds, strict=True)
        for prefix, ms in zip(grid.columns, row, strict=True)
    )


def _decode_points(config: MeasuredConfig) -> tuple[Point, ...]:
    grid = config.decode
    return tuple(
        (batch, context, seconds(ms))
        for batch, row in zip(grid.rows, grid.milliseconds, strict=True)
        for context, ms in zip(grid.columns, row, strict=True)
        if batch * context <= (config.instance_kv_tokens or float("inf"))
    )


def _fitted(engine: str, dtype: str, targets: list[Target]) -> dict[str, object]:
    """The parameters, rounded as they are shipped, and the error of the rounded ones."""

    def cost(parameters: Parameters) -> float:
        return sum(_mean([error**2 for error in phase]) for phase in _log_errors(targets, parameters))

    best = simplex(cost, [log(value) for value in START])
    mfu, mbu = (round(min(1.0, exp(value)), 3) for value in best[:2])
    prefill_ms, step_ms = (round(1e3 * exp(value), 1) for value in best[2:])
    prefill, decode = errors_of(targets, mfu, mbu, prefill_ms, step_ms)
    return {
        "engine": engine, "compute_dtype": dtype, "mfu": mfu, "mbu": mbu, "prefill_overhead_ms": prefill_ms,
        "step_overhead_ms": step_ms, "prefill": prefill, "decode": decode,
    }  # fmt: skip


def _log_errors(targets: list[Target], parameters: Parameters) -> tuple[list[float], list[float]]:
    """``log(roofline / measured)`` of every prefill and every decode point."""
    mfu, mbu, prefill_overhead_s, step_overhead_s = map(exp, parameters)
    prefill, decode = [], []
    for target in targets:
        ideal = target.ideal
        timing = replace(
            ideal,
            flops_per_s=ideal.flops_per_s * min(1.0, mfu),
            bytes_per_s=ideal.bytes_per_s * min(1.0, mbu),
            prefill_overhead_s=prefill_overhead_s,
            step_overhead_s=step_overhead_s,
        )
        prefill += [log(timing.prefill_s(new, prefix) / measured) for new, prefix, measured in target.prefill]
        decode += [log(timing.decode_s(batch, context) / measured) for batch, context, measured in target.decode]
    return prefill, decode


def _phase(log_errors: list[float]) -> dict[str, float]:
    """Median and 90th percentile of the relative error, in percent."""
    errors = sorted(100.0 * abs(exp(error) - 1.0) for error in log_errors)
    middle, high = errors[len(errors) // 2], errors[int(0.9 * len(errors))]
    return {"median_pct": round(middle, 1), "p90_pct": round(high, 1), "points": len(errors)}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def simplex(cost: Callable[[Parameters], float], start: list[float]) -> list[float]:
    """Nelder and Mead's search for the least cost (Computer Journal 7, 1965)."""
    corners = [start, *([*start[:i], start[i] + 0.3, *start[i + 1 :]] for i in range(len(start)))]
    ranked = sorted((cost(corner), corner) for corner in corners)
    for _ in range(STEPS):
        worst_cost, worst = ranked[-1]
        centre = [_mean(list(values)) for values in zip(*(corner for _, corner in ranked[:-1]), strict=True)]

        def along(factor: float, origin: list[float] = centre, end: list[float] = worst) -> tuple[float, list[float]]:
            moved = [c + factor * (e - c) for c, e in zip(origin, end, strict=True)]
            return cost(moved), moved

        reflected = along(-1.0)
        if reflected[0] < ranked[0][0]:
            ranked[-1] = min(reflected, along(-2.0))
        elif reflected[0] < ranked[-2][0]:
            ranked[-1] = reflected
        elif (contracted := along(0.5))[0] < worst_cost:
            ranked[-1] = contracted
        else:
            best = ranked[0][1]
            halved = [[b + (v - b) / 2 for b, v in zip(best, corner, strict=True)] for _, corner in ranked[1:]]
            ranked[1:] = [(cost(corner), corner) for corner in halved]
        ranked.sort()
    return ranked[0][1]


if __name__ == "__main__":
    main()
