"""Requests that cannot be met, each for another reason: the base scenario with some text replaced."""

from __future__ import annotations

BASE = """\
name: asked
model: qwen3-235b-a22b-fp8
workload:
  requests_per_second: 40
  classes:
    - {name: short, share: 0.7, prompt_tokens: 4000, reusable_tokens: 3000, output_tokens: 350}
    - {name: long, share: 0.3, prompt_tokens: 24000, reusable_tokens: 20000, output_tokens: 500}
  reuse:
    law: power
    beta: 0.40
    hit_rate: 0.35
    at_gb: 2000
    ceiling: 0.80
slo: {ttft_ms: 1500, tpot_ms: 60, percentile: 0.95}
engine: {timing: vllm-0.31, correction: none, batches: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]}
deployment:
  architectures: [colocated, disaggregated]
  max_gpus: 512
tiers:
  - name: dram
    roles: [sync, prefetch]
    gb_per_s_per_gpu: 38
    gb_per_s_per_node: 300
    latency_ms: 3
    max_gb_per_node: 2000
    usd_per_gb_hour: 5.2e-4
  - name: nvme
    roles: [sync, prefetch]
    gb_per_s_per_gpu: 24
    gb_per_s_per_node: 25
    latency_ms: 10
    max_gb_per_node: 30720
    usd_per_gb_hour: 1.15e-5
    step_gb: 3840
    dwpd: 1
prices: {gpu_usd_per_hour: 1.74}
"""
HOT = ("  reuse:\n    law: power\n    beta: 0.40\n    hit_rate: 0.35\n    at_gb: 2000\n    ceiling: 0.80\n",
       "  reuse: {law: hill, floor: 0.05, ceiling: 0.95, half_gb: 2000, slope: 3}\n")  # fmt: skip
SMALL_DRAM = ("max_gb_per_node: 2000", "max_gb_per_node: 100")
LONG = ("prompt_tokens: 24000, reusable_tokens: 20000", "prompt_tokens: 99000, reusable_tokens: 90000")
PATIENT = ("ttft_ms: 1500", "ttft_ms: 60000")
SESSIONS = (
    (BASE[BASE.index("    - {name: short"):BASE.index("  reuse:")],
     "    - {prompt_tokens: 24000, reusable_tokens: 23500, output_tokens: 200}\n"),
    (HOT[0], HOT[1].replace("0.95", "0.97")), ("requests_per_second: 40", "requests_per_second: 10"),
)  # fmt: skip
NO_NVME = ("max_gb_per_node: 30720", "max_gb_per_node: 0")

# name: (replacements, promises in conflict, keys that some suggestion must change)
CASES: dict[str, tuple[tuple[tuple[str, str], ...], set[str], set[str]]] = {
    "ttft-below-any-prefill": ((("ttft_ms: 1500", "ttft_ms: 350"),), {"ttft"}, {"slo.ttft_ms"}),
    "tpot-below-any-step": ((("tpot_ms: 60", "tpot_ms: 5"),), {"tpot"}, {"slo.tpot_ms"}),
    "both-promises": (
        (("ttft_ms: 1500", "ttft_ms: 350"), ("tpot_ms: 60", "tpot_ms: 5")),
        {"ttft", "tpot"},
        {"slo.ttft_ms", "slo.tpot_ms"},
    ),
    "too-few-gpus": ((("max_gpus: 512", "max_gpus: 30"),), {"load"}, {"deployment.max_gpus"}),
    "too-much-load": (
        (("requests_per_second: 40", "requests_per_second: 4000"),),
        {"load"},
        {"workload.requests_per_second", "deployment.max_gpus"},
    ),
    "batches-too-large": (
        (("batches: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]", "batches: [512]"),),
        {"memory"},
        {"engine.batches"},
    ),
    "batches-too-small": (
        (
            ("batches: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]", "batches: [1]"),
            ("[colocated, disaggregated]", "[disaggregated]"),
            ("max_gpus: 512", "max_gpus: 100"),
        ),
        {"load"},
        {"engine.batches", "deployment.max_gpus"},
    ),
    "configuration-too-small": (
        (("engine: {timing: vllm-0.31,", "engine: {timing: roofline, configs: [{gpus: 2}],"), LONG, PATIENT),
        {"load"},
        {"engine.configs", "engine.hbm_utilization", "engine.kv_dtype", "slo.percentile"},
    ),
    "prompt-beyond-memory": (
        (
            ("engine: {timing: vllm-0.31,", "engine: {timing: roofline, configs: [{gpus: 2}],"),
            PATIENT,
            ("prompt_tokens: 24000, reusable_tokens: 20000", "prompt_tokens: 190000, reusable_tokens: 180000"),
        ),
        {"memory"},
        {"engine.configs"},
    ),
    "nothing-helps": (
        (
            ("engine: {timing: vllm-0.31,", "engine: {timing: roofline,"),
            ("prompt_tokens: 24000, reusable_tokens: 20000", "prompt_tokens: 9000000, reusable_tokens: 20000"),
        ),
        {"memory"},
        set(),
    ),
    "utilization": (
        (("engine: {timing", "engine: {max_utilization: 0.05, timing"),),
        {"ttft", "load"},
        {"engine.max_utilization", "deployment.max_gpus"},
    ),
    "wrong-architecture": (
        (("[colocated, disaggregated]", "[colocated]"), ("ttft_ms: 1500", "ttft_ms: 900")),
        {"ttft", "load"},
        {"deployment.architectures"},
    ),
    "transfer-between-nodes": (
        (
            (
                "architectures: [colocated, disaggregated]",
                "architectures: [disaggregated]\n  transfer: {gb_per_s_per_node: 0.05}",
            ),
            ("max_gpus: 512", "max_gpus: 128"),
        ),
        {"load"},
        {"deployment.transfer.gb_per_s_per_node"},
    ),
    "transfer-too-slow": (
        (
            (
                "architectures: [colocated, disaggregated]",
                "architectures: [disaggregated]\n  transfer: {gb_per_s_per_gpu: 0.6, latency_ms: 20}",
            ),
        ),
        {"ttft"},
        {"deployment.transfer.gb_per_s_per_gpu", "slo.ttft_ms"},
    ),
    "cache-too-small": (
        (HOT, ("max_gpus: 512", "max_gpus: 56"), SMALL_DRAM, NO_NVME),
        {"load"},
        {"tiers[0].max_gb_per_node", "deployment.max_gpus"},
    ),
    "drives-wear-out": (
        (*SESSIONS, ("max_gpus: 512", "max_gpus: 24"), SMALL_DRAM),
        {"load"},
        {"tiers[1].dwpd"},
    ),
    "writes-too-slow": (
        (HOT, ("max_gpus: 512", "max_gpus: 56"), SMALL_DRAM, ("dwpd: 1", "write_gb_per_s_per_node: 0.5")),
        {"load"},
        {"tiers[1].write_gb_per_s_per_node", "deployment.max_gpus"},
    ),
    "no-tiers": (
        (HOT, ("max_gpus: 512", "max_gpus: 56"), (BASE[BASE.index("tiers:") : BASE.index("prices:")], "tiers: []\n")),
        {"load"},
        {"tiers", "deployment.max_gpus"},
    ),
    "role-not-allowed": (
        (
            HOT,
            ("max_gpus: 512", "max_gpus: 56"),
            NO_NVME,
            ("  - name: dram\n    roles: [sync, prefetch]", "  - name: dram\n    roles: [prefetch]"),
            ("max_gb_per_node: 2000", "max_gb_per_node: 4000"),
        ),
        {"load"},
        {"tiers[0].roles", "deployment.max_gpus"},
    ),
}


def text_of(name: str) -> str:
    """The scenario file of a case."""
    text = BASE
    for old, new in CASES[name][0]:
        assert old in text, f"{name}: {old!r} is not in the base"
        text = text.replace(old, new)
    return text
