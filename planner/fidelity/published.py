"""Published results beside the planner's own figures for the same setup, and ceilings that none may exceed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from planner.fidelity.closed_loop import Load, Pool, colocated
from planner.fidelity.instance import Instance, instance
from planner.fidelity.predict import RESERVED
from planner.fidelity.rows import Split
from planner.physics.correction import corrected
from planner.physics.timing import Timing
from planner.report.format import ABSENT, MINUS
from planner.report.grid import Column, grid, paragraph
from planner.scenario.catalog.corrections import MEASURED, find

NODE_GPUS = 8
LOADS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


@dataclass(frozen=True)
class Result:
    """One published figure and ours. ``ceiling`` figures must not be exceeded; others say how far off we are."""

    id: str
    what: str
    unit: str
    published: float
    ours: float
    why: str
    source: str
    ceiling: bool = False

    @property
    def deviation(self) -> float:
        """Ours over theirs, less one."""
        return self.ours / self.published - 1


@dataclass(frozen=True)
class Setup:
    """A published setup in our terms."""

    engine: str
    model: str
    split: Split
    prompt: int
    output: int

    @property
    def made(self) -> Instance:
        """Its instance."""
        return instance(self.engine, self.model, self.split)

    @property
    def timing(self) -> Timing:
        """With the correction that plans use; kernel times where nothing was measured."""
        made = self.made
        found = find(self.engine, None, "agg", made.kind, self.model)
        return made.timing if found is None else corrected(made.timing, found)


def prefill_per_node(s: Setup) -> float:
    """Prompt tokens per second and node of an instance that only prefills."""
    passes = s.timing.prefill_s(s.prompt, 0.0) / s.made.ways
    return s.prompt / passes * NODE_GPUS / s.split.gpus


def decode_per_node(s: Setup, batch_per_gpu: int) -> float:
    """Generated tokens per second and node of an instance that only decodes."""
    return NODE_GPUS * batch_per_gpu / s.timing.decode_s(batch_per_gpu * s.split.gpus, s.prompt)


def most_output_per_gpu(s: Setup) -> float:
    """Generated tokens per second and GPU at the concurrency where there are most of them."""
    return max(_rate(s, n)[0] for n in LOADS)


def total_at(s: Setup, tokens_per_user: float) -> float:
    """Prompt and generated tokens per second and GPU where a user gets that many tokens a second."""
    points = [_rate(s, n) for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)]
    curve = sorted((speed, out * (s.prompt + s.output) / s.output) for out, speed in points)
    for (slow, much), (fast, less) in pairwise(curve):
        if slow <= tokens_per_user <= fast:
            return much + (less - much) * (tokens_per_user - slow) / (fast - slow)
    return curve[-1][1] if tokens_per_user > curve[-1][0] else curve[0][1]


def _rate(s: Setup, concurrency: int) -> tuple[float, float]:
    """Generated tokens per second and GPU, and per user."""
    slots = s.made.kv_tokens / (s.prompt + RESERVED[s.engine] * s.output)
    found = colocated(Pool(s.timing, s.made.ways, 1, slots), Load(concurrency, s.prompt, s.output))
    cycle = found.ttft_s + (s.output - 1) * found.tpot_s
    return concurrency * s.output / cycle / s.split.gpus, 1 / found.tpot_s


MEASURES: dict[str, Callable[..., float]] = {
    "prefill_per_node": prefill_per_node,
    "decode_per_node": decode_per_node,
    "most_output_per_gpu": most_output_per_gpu,
    "total_at": total_at,
}


def results() -> list[Result]:
    """Every figure of the packaged ``published.json``, with ours."""
    entries: list[dict[str, Any]] = json.loads((MEASURED.parent / "published.json").read_text(encoding="utf-8"))
    return [_result(entry) for entry in entries]


def _result(entry: dict[str, Any]) -> Result:
    ran = Setup(entry["engine"], entry["model"], Split(*entry["split"]), entry["prompt"], entry["output"])
    measure, at = MEASURES[entry["measure"]], entry["at"]
    ours = measure(ran) if at is None else measure(ran, at)
    return Result(
        id=entry["id"],
        what=entry["setup"],
        unit=entry["unit"],
        published=entry["published"],
        ours=ours,
        why=entry["why"],
        source=entry["source"],
        ceiling=entry["ceiling"],
    )


def to_text(found: list[Result]) -> str:
    """One table, then what stands behind each line."""
    columns = [Column("#"), Column("setup", wrap=True), Column("unit")]
    columns += [Column(t, "right") for t in ("published", "ours", "off")]
    rows = [[r.id, r.what, r.unit, f"{r.published:,.0f}", f"{r.ours:,.0f}", _off(r)] for r in found]
    lines = ["Published results and ours for the same setup (corrected times; rooflines where there is no table)", ""]
    lines += grid(columns, rows).lines
    lines.append("")
    for tag, why, source in dict.fromkeys((r.id, r.why, r.source) for r in found):
        lines += paragraph(f"- {tag}: {why} ({source})", hang=2)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _off(result: Result) -> str:
    if result.ceiling:
        return "below" if result.ours <= result.published else "ABOVE"
    return f"{100 * result.deviation:+.0f} %".replace("-", MINUS) if result.published else ABSENT


def to_data(found: list[Result]) -> dict[str, Any]:
    """Plain data."""
    return {
        "published": [
            {
                "id": r.id, "setup": r.what, "unit": r.unit, "published": r.published, "ours": r.ours,
                "ceiling": r.ceiling, "why": r.why, "source": r.source,
            }
            for r in found
        ]
    }  # fmt: skip
