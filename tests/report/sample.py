"""Plan sets made by hand: plausible figures, consistent with each other, and no solver behind them."""

from __future__ import annotations

from dataclasses import replace

from planner.plan import (
    Cell,
    Certificate,
    CostLine,
    Decision,
    Evaluation,
    Limit,
    LoadPoint,
    Plan,
    PlanSet,
    Pool,
    Role,
    TierUse,
    TtftPath,
    Verdict,
    Violation,
)

GPU_USD_PER_HOUR = 2.80
DRAM_USD_PER_GB_HOUR = 5.2e-4
NVME_USD_PER_GB_HOUR = 1.15e-5
TTFT_S = 1.5
TOKENS_PER_HOUR = 40 * 10395 * 3600


def cost_line(item: str, amount: float, unit: str, unit_usd: float, key: str) -> CostLine:
    """One line whose product is exact."""
    return CostLine(item, amount, unit, unit_usd, amount * unit_usd, key)


def path(class_name: str, name: str, share: float, fetch_s: float, prefill_s: float, transfer_s: float) -> TtftPath:
    """A path whose parts add up to its total, and whose slack completes the limit."""
    queue_s = 0.1103
    total_s = queue_s + fetch_s + prefill_s + transfer_s
    return TtftPath(class_name, name, share, queue_s, fetch_s, prefill_s, transfer_s, total_s, TTFT_S - total_s)


def disaggregated(prefill: int = 3, decode: int = 2, dram_gb: float = 1536.4, nvme_gb: float = 15360.0) -> Evaluation:
    """Prefill and decode apart, DRAM synchronous, NVMe prefetch-only."""
    dram, nvme = dram_gb * 1e9, nvme_gb * 1e9
    nvme_role: Role = "prefetch" if nvme else "unused"
    decision = Decision(
        "disaggregated", "tp8·ep8", prefill, None, "tp8·ep8", decode, 128, ("sync", nvme_role),
        ((dram,), (nvme,)), (1.8e12,), ((0.04,), (0.35,), (0.53,)),
    )  # fmt: skip
    costs = (
        cost_line("prefill GPUs", 8 * prefill, "GPU", GPU_USD_PER_HOUR, "prices.gpu_usd_per_hour"),
        cost_line("decode GPUs", 8 * decode, "GPU", GPU_USD_PER_HOUR, "prices.gpu_usd_per_hour"),
        cost_line("dram", dram_gb, "GB", DRAM_USD_PER_GB_HOUR, "tiers[0].usd_per_gb_hour"),
        cost_line("nvme", nvme_gb, "GB", NVME_USD_PER_GB_HOUR, "tiers[1].usd_per_gb_hour"),
    )
    total = sum(line.usd_per_hour for line in costs)
    paths = (
        path("short", "miss", 0.47, 0.0, 0.112, 0.0061), path("short", "hbm", 0.04, 0.0, 0.031, 0.0061),
        path("short", "dram", 0.49, 0.0113, 0.031, 0.0061), path("long", "miss", 0.47, 0.0, 0.8892, 0.0264),
        path("long", "hbm", 0.04, 0.0, 0.1881, 0.0264), path("long", "dram", 0.49, 0.0622, 0.1881, 0.0264),
    )  # fmt: skip
    return Evaluation(
        decision=decision,
        usd_per_hour=total,
        usd_per_million_tokens=total / TOKENS_PER_HOUR * 1e6,
        costs=costs,
        prefill=Pool(prefill, 8, "tp8·ep8", prefill, 8 * prefill, 8.0 * prefill, 2.31, float(prefill), 0.77,
                     hbm_cache_bytes=1.8e12),
        decode=Pool(decode, 8, "tp8·ep8", decode, 8 * decode, 8.0 * decode, batch=128, tpot_s=0.0412,
                    concurrency=183.2, slots_needed=206),
        tiers=(
            TierUse("hbm", "sync", 1.8e12, 0.0, 0.04, 0.04, 0.0, 0.0, 1.1752, 1.1752,
                    "always there, synchronous and free: what the prefill instances' weights and working space leave"),
            TierUse("dram", "sync", dram, 2.1e11, 0.31, 0.35, 0.41, 0.0622, 1.113, 1.1752,
                    "synchronous: fetch 62 ms fits in 1,175 ms of slack; each GB saves more prefill than it rents for"),
            TierUse("nvme", nvme_role, nvme, 0.0, 0.18, 0.53, 0.62, 1.333, -0.158, 1.1752,
                    "cannot be synchronous: fetch 1,333 ms against 1,175 ms of slack"),
        ),
        effective_hit_rate=0.458,
        paths=paths,
        tpot_s=0.0412,
        binding=("prefill_queue", "law_nvme"),
        violations=(),
        notes=("decode at batch 128 is continued beyond the measured grid",),
    )  # fmt: skip


def colocated(instances: int = 7, dram_gb: float = 0.0) -> Evaluation:
    """The same instances prefill and decode; DRAM when ``dram_gb`` is above 0."""
    tiered = dram_gb > 0
    decision = Decision(
        "colocated", "tp8·ep8", instances, 64, None, 0, None, ("sync" if tiered else "unused", "unused"),
        ((dram_gb * 1e9,), (0.0,)), (2.6e12,), ((0.05,), (0.33 if tiered else 0.05,), (0.33 if tiered else 0.05,)),
    )  # fmt: skip
    costs = [cost_line("GPUs", 8 * instances, "GPU", GPU_USD_PER_HOUR, "prices.gpu_usd_per_hour")]
    if tiered:
        costs.append(cost_line("dram", dram_gb, "GB", DRAM_USD_PER_GB_HOUR, "tiers[0].usd_per_gb_hour"))
    total = sum(line.usd_per_hour for line in costs)
    dram_hits = 0.28 if tiered else 0.0
    return Evaluation(
        decision=decision,
        usd_per_hour=total,
        usd_per_million_tokens=total / TOKENS_PER_HOUR * 1e6,
        costs=tuple(costs),
        prefill=Pool(instances, 8, "tp8·ep8", instances, 8 * instances, 8.0 * instances, 3.9, float(instances),
                     0.61, 64, 0.0558, 190.0, 240.0, 2.6e12),
        decode=None,
        tiers=(
            TierUse("hbm", "sync", 2.6e12, 0.0, 0.05, 0.05, 0.0, 0.0, 0.61, 0.61, "always there, synchronous and free"),
            TierUse("dram", "sync" if tiered else "unused", dram_gb * 1e9, 0.0, dram_hits, 0.05 + dram_hits, 0.2,
                    0.0622, 0.55, 0.61, "synchronous: fetch 62 ms fits in 610 ms of slack" if tiered
                    else "would not pay: 1 TB rents for $0.52/h and saves $0.31/h of prefill"),
            TierUse("nvme", "unused", 0.0, 0.0, 0.0, 0.05 + dram_hits, 0.0, 1.333, -0.72, 0.61,
                    "would not pay: too slow to be synchronous, and prefetch covers 60 % of its hits"),
        ),
        effective_hit_rate=0.05 + dram_hits,
        paths=(path("short", "miss", 0.95 - dram_hits, 0.0, 0.112, 0.0), path("long", "miss", 0.95, 0.0, 0.8892, 0.0)),
        tpot_s=0.0558,
        binding=("prefill_queue", "ttft_budget"),
        violations=(),
        notes=(),
    )  # fmt: skip


def certificate(usd_per_hour: float, gap: float = 0.0) -> Certificate:
    """A certificate with the given relative gap."""
    return Certificate(usd_per_hour * (1 - gap), usd_per_hour, gap, 1e-4, 2, 0.21, "HiGHS 1.16.0")


def verdict() -> Verdict:
    """Offset, bound by slack."""
    return Verdict(
        word="offset",
        interaction_usd_per_hour=-0.254,
        saving_both=43.82,
        saving_disaggregation=22.4,
        saving_tiers=21.67,
        limited_by=("slack",),
        points=(LoadPoint(0.95, -0.31), LoadPoint(1.0, -0.254), LoadPoint(1.05, -0.22), LoadPoint(1.0, -0.2, True)),
        limits=(
            Limit("slack", "the transfer made free", 110.2, True, "NVMe becomes synchronous"),
            Limit("hits", "the ceiling raised to 1", 112.7, False, "same structure"),
        ),
        explanation="The transfer takes 26 ms of slack, and NVMe needs them: it is prefetch-only when disaggregated.",
    )


def plan_set(**changes: object) -> PlanSet:
    """A complete result: three plans, four cells, a verdict."""
    best, second, third = disaggregated(), disaggregated(3, 2, 2304.0, 0.0), colocated(6, 1400.0)
    base, split = colocated(7), disaggregated(4, 2, 0.0, 0.0)
    result = PlanSet(
        scenario_name="chat",
        scenario_file="scenarios/chat.yaml",
        scenario_sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        headline="Qwen3-235B-A22B FP8 on H200 SXM · 40 req/s, 10,000 in / 395 out · TTFT p95 ≤ 1500 ms",
        planner_version="0.1.0",
        status="optimal",
        certificate=certificate(best.usd_per_hour),
        plans=(
            Plan(1, best),
            Plan(2, second, ("no NVMe", "DRAM 2.3 TB instead of 1.5 TB")),
            Plan(3, third, ("colocated", "6 instances instead of 3 + 2", "no NVMe")),
        ),
        cells=(
            Cell("colocated", False, base, certificate(base.usd_per_hour)),
            Cell("colocated", True, third, certificate(third.usd_per_hour)),
            Cell("disaggregated", False, split, certificate(split.usd_per_hour)),
            Cell("disaggregated", True, best, certificate(best.usd_per_hour)),
        ),
        verdict=verdict(),
        defaults=(("prices.gpu_usd_per_hour", "2.80"), ("engine.chunk_tokens", "8192"), ("slo.percentile", "0.95")),
        sources=(("prices.gpu_usd_per_hour", "on-demand list price, 2026-08, medium confidence"),),
        warnings=("slo.tpot_ms: 60 ms is above the usual range of 10 to 50 ms",),
        seconds=0.42,
        versions=(("python", "3.11.7"), ("pyomo", "6.10.1"), ("highspy", "1.16.0")),
    )
    return replace(result, **changes)  # type: ignore[arg-type]


def hostile() -> PlanSet:
    """A plan set whose every name attacks: escapes, markup, path separators, overlong words."""
    evil = "\x1b[31m../../x|<b>`*_" + "long" * 60 + "\u202e\nnext"
    best = disaggregated()
    tiers = tuple(replace(tier, name=evil, why=evil) for tier in best.tiers)
    paths = tuple(replace(p, class_name=evil, path=evil) for p in best.paths)
    costs = tuple(replace(line, item=evil, unit=evil) for line in best.costs)
    bad = replace(best, tiers=tiers, paths=paths, costs=costs, notes=(evil,), binding=(evil,))
    return plan_set(
        scenario_name=evil, headline=evil, warnings=(evil,), plans=(Plan(1, bad, ()), Plan(2, bad, (evil,))),
        scenario_file=evil, defaults=((evil, evil),),
    )  # fmt: skip


def infeasible() -> PlanSet:
    """Nothing keeps the promises."""
    cells = tuple(replace(c, evaluation=None, certificate=None, why_not="TTFT 612 ms against 350 ms")
                  for c in plan_set().cells)  # fmt: skip
    return plan_set(
        status="infeasible", certificate=None, plans=(), cells=cells, verdict=None,
        reasons=("slo.ttft_ms: no configuration prefills 24,000 tokens in 350 ms; the best takes 612 ms",
                 "slo.ttft_ms: 700 instead of 350 makes it possible, at $121.80/h"),
    )  # fmt: skip


def violated() -> Evaluation:
    """A design that breaks a promise."""
    return replace(colocated(3), violations=(Violation("ttft", 1.71, 1.5, "s"),))
