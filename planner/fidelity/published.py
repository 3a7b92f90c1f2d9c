"""Published results beside the planner's own figures for the same setup, and ceilings that no prediction may exceed.

The MLPerf figures are ceilings: tuned per system by its vendor. Each is held against every engine, with every split of
the node that fits, by its best. A ceiling that is exceeded is told as a fault, with what is known of its cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from planner.fidelity.closed_loop import Load, Pool, colocated
from planner.fidelity.instance import Instance, instance
from planner.fidelity.predict import RESERVED
from planner.fidelity.rows import FAMILIES, Split
from planner.physics.correction import corrected
from planner.physics.timing import Timing
from planner.scenario import catalog
from planner.scenario.catalog.corrections import FRONT_END, MEASURED, Correction, find

NODE_GPUS = 8
LOADS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)


@dataclass(frozen=True)
class Result:
    """One published figure and ours. ``ceiling`` figures must not be exceeded; others say how far off we are.

    ``ours`` is with the correction that plans use, ``plain`` without any; both None where nothing can be predicted,
    and ``why`` says so.
    """

    id: str
    what: str
    unit: str
    published: float
    ours: float | None
    plain: float | None
    why: str
    basis: str
    source: str
    ceiling: bool = False

    @property
    def deviation(self) -> float:
        """Ours over theirs, less one; 0 where there is none of ours."""
        return 0.0 if self.ours is None else self.ours / self.published - 1

    @property
    def exceeds(self) -> bool:
        """Whether a ceiling is exceeded: a fault of ours, or of the ceiling."""
        return self.ceiling and self.deviation > 0


@dataclass(frozen=True)
class Setup:
    """A published setup in our terms. ``whole_kv``: layers with a window keep the KV of the whole context."""

    engine: str
    model: str
    split: Split
    prompt: int
    output: int
    hardware: str = "h200-sxm"
    whole_kv: bool = False
    correct: bool = True

    @property
    def made(self) -> Instance:
        """Its instance."""
        return instance(self.engine, self.model, self.split, self.hardware)

    @property
    def correction(self) -> Correction | None:
        """The one that plans use."""
        return find(self.engine, None, "agg", self.made.kind, self.model)

    @property
    def timing(self) -> Timing:
        """With that correction; kernel times where nothing was measured."""
        made, found = self.made, self.correction if self.correct else None
        return made.timing if found is None else corrected(made.timing, found)

    @property
    def slots(self) -> float:
        """Sequences whose KV fits."""
        fitting = self.made.kv_tokens / (self.prompt + RESERVED[self.engine] * self.output)
        if not self.whole_kv:
            return fitting
        layers = catalog.model(self.model)
        return fitting * (1 - layers.get("windowed_layers", 0) / layers["layers"])

    @property
    def basis(self) -> str:
        """What its times rest on, in one line."""
        found, kind = self.correction, self.made.kind
        times = "the packaged table" if kind == "table" else "a roofline, no table"
        if found is None or found.kind == FRONT_END:
            return f"{times}; no measurement of the model on {self.engine} is used"
        return (
            f"{times}, corrected by {found.rows} rows of {self.engine} ({', '.join(found.models)}) at up to "
            f"{found.most_sequences:,} in flight and {found.most_tokens:,} tokens"
        )


def prefill_per_node(s: Setup) -> float:
    """Prompt tokens per second and node of an instance that only prefills."""
    passes = s.timing.prefill_s(s.prompt, 0.0) / s.made.ways
    return s.prompt / passes * NODE_GPUS / s.split.gpus


def decode_per_node(s: Setup, batch_per_gpu: int) -> float:
    """Generated tokens per second and node of an instance that only decodes."""
    return NODE_GPUS * batch_per_gpu / s.timing.decode_s(batch_per_gpu * s.split.gpus, s.prompt)


def most_output_per_gpu(s: Setup, most_tpot_ms: float | None = None) -> float:
    """Generated tokens per second and GPU at the concurrency where there are most of them, within a mean TPOT."""
    best = 0.0
    for n in LOADS:
        rate, speed = _rate(s, n)
        if most_tpot_ms is not None and 1e3 / speed > most_tpot_ms:
            break
        best = max(best, rate)
        if n >= s.slots:
            break  # the rest would wait
    return best


def total_at(s: Setup, tokens_per_user: float) -> float:
    """Prompt and generated tokens per second and GPU where a user gets that many tokens a second."""
    points = [_rate(s, n) for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)]
    curve = sorted((speed, out * (s.prompt + s.output) / s.output) for out, speed in points)
    for (slow, much), (fast, less) in pairwise(curve):
        if slow <= tokens_per_user <= fast:
            return much + (less - much) * (tokens_per_user - slow) / (fast - slow)
    return curve[-1][1] if tokens_per_user > curve[-1][0] else curve[0][1]


def usd_per_mtok_at(s: Setup, at: list[float]) -> float:
    """Dollars per million tokens where a user gets that many tokens a second: speed, then $/GPU·h."""
    speed, price = at
    return price / (3600 * total_at(s, speed)) * 1e6


def service_usd_per_day(_: Setup, at: list[float]) -> float:
    """Rent of a service for a day: nodes, then $/GPU·h."""
    nodes, price = at
    return nodes * NODE_GPUS * price * 24


def _rate(s: Setup, concurrency: int) -> tuple[float, float]:
    """Generated tokens per second and GPU, and per user."""
    found = colocated(Pool(s.timing, s.made.ways, 1, s.slots), Load(concurrency, s.prompt, s.output))
    cycle = found.ttft_s + (s.output - 1) * found.tpot_s
    return concurrency * s.output / cycle / s.split.gpus, 1 / found.tpot_s


MEASURES: dict[str, Callable[..., float]] = {
    "prefill_per_node": prefill_per_node,
    "decode_per_node": decode_per_node,
    "most_output_per_gpu": most_output_per_gpu,
    "total_at": total_at,
    "usd_per_mtok_at": usd_per_mtok_at,
    "service_usd_per_day": service_usd_per_day,
}


def results() -> list[Result]:
    """Every figure of the packaged ``published.json``, with ours: a ceiling once per engine."""
    entries: list[dict[str, Any]] = json.loads((MEASURED.parent / "published.json").read_text(encoding="utf-8"))
    return [result for entry in entries for result in _results(entry)]


def _results(entry: dict[str, Any]) -> Iterator[Result]:
    if entry["measure"] is None:
        yield _told(entry, entry["setup"], None, None, entry["why"], "")
        return
    engines = FAMILIES if entry["ceiling"] else (entry["engine"],)
    for engine in engines:
        best: tuple[float, Setup] | None = None
        for setup in _setups(entry, engine):
            ours = _measured(entry, setup)
            if best is None or ours > best[0]:
                best = ours, setup
        if best is None:
            continue
        ours, ran = best
        plain = _measured(entry, replace(ran, correct=False))
        what = f"{entry['setup']}; {engine} {ran.split.name}" if entry["ceiling"] else entry["setup"]
        basis = "" if entry["measure"] == "service_usd_per_day" else ran.basis
        result = _told(entry, what, ours, plain, entry["why"], basis)
        fault = entry.get("faults", {}).get(engine) or _fault(ran)
        yield replace(result, why=f"EXCEEDS: {fault}") if result.exceeds else result


def _fault(ran: Setup) -> str:
    """What is known of a prediction that exceeds a ceiling."""
    found = ran.correction
    if found is None or found.kind == FRONT_END:
        why = "times without any measurement or scheduler, all lengths the mean"
        return f"{ran.model} was not measured on {ran.engine}: {why}"
    if ran.model not in found.models:
        return f"{ran.model} was not measured on {ran.engine}: the correction is that of {', '.join(found.models)}"
    return f"the correction was measured at up to {found.most_sequences:,} in flight and is extrapolated to many more"


def _setups(entry: dict[str, Any], engine: str) -> Iterator[Setup]:
    """The published split, or all that a ceiling is held against and that fit."""
    for split in entry.get("splits") or [entry["split"]]:
        made = Setup(
            engine, entry["model"], Split(*split), entry["prompt"], entry["output"],
            entry.get("hardware", "h200-sxm"), entry.get("whole_kv", False),
        )  # fmt: skip
        try:
            fits = made.slots >= 1
        except ValueError:
            fits = False
        if fits:
            yield made


def _measured(entry: dict[str, Any], setup: Setup) -> float:
    measure, at = MEASURES[entry["measure"]], entry["at"]
    return measure(setup) if at is None else measure(setup, at)


def _told(entry: dict[str, Any], what: str, ours: float | None, plain: float | None, why: str, basis: str) -> Result:
    return Result(
        id=entry["id"], what=what, unit=entry["unit"], published=entry["published"], ours=ours, plain=plain, why=why,
        basis=basis, source=entry["source"], ceiling=entry["ceiling"],
    )  # fmt: skip
