"""What follows from a scenario before anything is solved: bytes, what fits, and the slack of an idle service.

Every figure comes from :mod:`planner.physics`; nothing here loads a solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner.physics.system import Service, System
from planner.physics.timing import EngineConfig
from planner.report.format import ABSENT, joined, number, percent, quantity, safe, size
from planner.report.grid import Column, grid, paragraph
from planner.units import GB, milliseconds, to_gb


@dataclass(frozen=True)
class ClassFacts:
    """One request class: its load, its KV, and its first token from an idle service on the fastest configuration."""

    name: str
    requests_per_second: float
    prompt_tokens: int
    kv_prompt_gb: float
    kv_reusable_gb: float
    miss_ms: float | None
    hit_ms: float | None
    transfer_ms: float | None


@dataclass(frozen=True)
class ConfigFacts:
    """One engine configuration: what it keeps in HBM, and how fast and how wide it is."""

    name: str
    gpus: int
    sequences_per_pass: int
    weights_gb: float
    hbm_left_gb: float
    fits: bool
    why_not: str
    prefill_miss_ms: float
    largest_batch: int | None  # of engine.batches, within memory and TPOT, on an instance that only decodes
    tpot_ms: float | None


@dataclass(frozen=True)
class TierFacts:
    """A read of one class's reusable KV, and what of the TTFT is left after it on an idle service."""

    tier: str
    class_name: str
    fetch_ms: float
    slack_disaggregated_ms: float
    slack_colocated_ms: float


@dataclass(frozen=True)
class Overview:
    """A scenario's derived numbers."""

    name: str
    model: str
    hardware: str
    timing: str
    kv_bytes_per_token: float
    weights_gb: float
    ttft_ms: float
    reuse_gb_per_s: float  # KV that would be read if every reusable token hit
    written_tb_per_day: float  # fresh KV if none did
    fastest: str | None
    classes: tuple[ClassFacts, ...]
    configs: tuple[ConfigFacts, ...]
    tiers: tuple[TierFacts, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for ``--format json``."""
        return asdict(self)


def overview(system: System) -> Overview:
    """Derive every number that needs no solver."""
    configs = tuple(_config(system, config) for config in system.configs)
    fitting = [config for config, facts in zip(system.configs, configs, strict=True) if facts.fits]
    fastest = min(fitting, key=lambda c: max(system.service(c, None).miss), default=None)
    scenario = system.scenario
    return Overview(
        name=scenario.name,
        model=scenario.model.title or scenario.model.name,
        hardware=scenario.hardware.title or scenario.hardware.name,
        timing=system.configs[0].timing.source if system.configs else scenario.engine.timing,
        kv_bytes_per_token=system.kv_per_token,
        weights_gb=to_gb(min((config.weight_bytes for config in system.configs), default=math.nan)),
        ttft_ms=milliseconds(system.ttft_s),
        reuse_gb_per_s=to_gb(sum(system.reuse_bytes_per_s)),
        written_tb_per_day=system.prompt_bytes_per_s * 86400 / 1e12,
        fastest=fastest.name if fastest else None,
        classes=_classes(system, fastest),
        configs=configs,
        tiers=_tiers(system, fastest) if fastest else (),
        notes=fastest.timing.notes if fastest else (),
    )


def _config(system: System, config: EngineConfig) -> ConfigFacts:
    left, needed = system.kv_memory(config), system.prefill_memory(config)
    why_not = ""
    if left <= 0:
        why_not = f"weights and reserve exceed HBM by {size(-left)}"
    elif left < needed:
        why_not = f"one prefill pass needs {size(needed)}, HBM has {size(left)}"
    batch = max((b for b in system.scenario.engine.batches if _decodes(system, config, b)), default=None)
    return ConfigFacts(
        name=config.name,
        gpus=config.gpus,
        sequences_per_pass=config.ways,
        weights_gb=to_gb(config.weight_bytes),
        hbm_left_gb=to_gb(left),
        fits=not why_not,
        why_not=why_not,
        prefill_miss_ms=milliseconds(max(system.service(config, None).miss)),
        largest_batch=batch,
        tpot_ms=None if batch is None else milliseconds(max(system.steps_s(config, batch))),
    )


def _decodes(system: System, config: EngineConfig, batch: int) -> bool:
    fits = system.decode_memory(config, batch) <= system.kv_memory(config)
    return fits and max(system.steps_s(config, batch)) <= system.tpot_s


def _classes(system: System, fastest: EngineConfig | None) -> tuple[ClassFacts, ...]:
    service = system.service(fastest, None) if fastest else None
    return tuple(
        ClassFacts(
            name=k.name,
            requests_per_second=k.rate,
            prompt_tokens=k.prompt,
            kv_prompt_gb=k.prompt * system.kv_per_token / GB,
            kv_reusable_gb=k.reusable * system.kv_per_token / GB,
            miss_ms=milliseconds(service.miss[i]) if service else None,
            hit_ms=milliseconds(service.hit[i]) if service else None,
            transfer_ms=milliseconds(service.transfer[i]) if service else None,
        )
        for i, k in enumerate(system.classes)
    )


def _tiers(system: System, config: EngineConfig) -> tuple[TierFacts, ...]:
    apart = system.service(config, None)
    together = system.service(config, min(system.scenario.engine.batches))

    def slack_ms(service: Service, tier: int, k: int) -> float:
        return milliseconds(system.ttft_s - service.path_s(k, tier, hit=True))

    return tuple(
        TierFacts(tier.name, k.name, milliseconds(apart.fetch[t][i]), slack_ms(apart, t, i), slack_ms(together, t, i))
        for t, tier in enumerate(system.tiers)
        for i, k in enumerate(system.classes)
    )


def to_text(found: Overview) -> str:
    """The derived numbers for a terminal."""
    lines = paragraph(joined([safe(found.name, 60), safe(found.model, 80), safe(found.hardware, 80)]), indent=0)
    lines += paragraph(f"timing: {safe(found.timing, 300)}", hang=2)
    fresh = size(found.written_tb_per_day * 1e12)
    lines += [
        f"  KV {number(found.kv_bytes_per_token)} B/token · weights {size(found.weights_gb * GB)}",
        f"  reusable KV {size(found.reuse_gb_per_s * GB)}/s · fresh KV without a hit {fresh}/day",
        "",
        *_class_lines(found),
        "",
        *_config_lines(found.configs),
    ]
    if found.tiers:
        lines += ["", *_tier_lines(found)]
    lines += [line for note in found.notes for line in paragraph(f"- {safe(note, 300)}", hang=2)]
    return "\n".join(lines) + "\n"


def _class_lines(found: Overview) -> list[str]:
    titles = ["class", "req/s", "prompt", "its KV", "reusable KV", "miss", "HBM hit", "transfer", "miss of TTFT"]
    rows = [
        [
            safe(k.name, 24),
            quantity(k.requests_per_second),
            number(k.prompt_tokens),
            size(k.kv_prompt_gb * GB),
            size(k.kv_reusable_gb * GB),
            *(_ms(value) for value in (k.miss_ms, k.hit_ms, k.transfer_ms)),
            ABSENT if k.miss_ms is None else percent((k.miss_ms + (k.transfer_ms or 0.0)) / found.ttft_ms),
        ]
        for k in found.classes
    ]
    where = f"  on {found.fastest}, the fastest that fits, idle" if found.fastest else "  no configuration fits"
    return [where, *grid(_columns(titles), rows).lines]


def _config_lines(configs: Sequence[ConfigFacts]) -> list[str]:
    titles = ["configuration", "GPUs", "weights", "HBM left", "longest miss", "decode batch", "TPOT", "fits"]
    columns = [*_columns(titles[:-1]), Column("fits", wrap=True)]
    rows = [
        [
            safe(c.name, 24),
            number(c.gpus),
            size(c.weights_gb * GB),
            size(c.hbm_left_gb * GB),
            _ms(c.prefill_miss_ms),
            ABSENT if c.largest_batch is None else number(c.largest_batch),
            _ms(c.tpot_ms),
            "yes" if c.fits else f"no: {c.why_not}",
        ]
        for c in configs
    ]
    return grid(columns, rows).lines


def _tier_lines(found: Overview) -> list[str]:
    titles = ["tier", "class", "fetch", "slack disaggregated", "slack colocated"]
    rows = [
        [
            safe(t.tier, 24),
            safe(t.class_name, 24),
            _ms(t.fetch_ms),
            _ms(t.slack_disaggregated_ms),
            _ms(t.slack_colocated_ms),
            _verdict(t),
        ]
        for t in found.tiers
    ]
    columns = [Column("tier"), Column("class"), *_columns(["", *titles[2:]])[1:], Column("", wrap=True)]
    head = f"  fetch, then what is left of {_ms(found.ttft_ms)} on {found.fastest} without load"
    return [head, *grid(columns, rows).lines]


def _verdict(tier: TierFacts) -> str:
    fits = [tier.slack_disaggregated_ms >= 0, tier.slack_colocated_ms >= 0]
    if all(fits):
        return "may be synchronous"
    if not any(fits):
        return "too slow to be synchronous"
    return f"too slow when {'colocated' if fits[0] else 'disaggregated'}"


def _columns(titles: Sequence[str]) -> list[Column]:
    return [Column(title, "right" if n else "left", wrap=n == 0) for n, title in enumerate(titles)]


def _ms(value: float | None) -> str:
    return ABSENT if value is None else f"{number(value, 0 if abs(value) >= 100 else 1)} ms"
