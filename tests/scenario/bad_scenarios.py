"""Wrong scenarios: each is the base scenario with some text replaced, or a text of its own.

The exact messages stand in ``golden/<name>.txt``; ``UPDATE_GOLDEN=1 pytest tests/scenario`` writes them anew.
"""

BASE = """\
name: base
description: Chat on Qwen3
model: qwen3-235b-a22b-fp8
hardware: h200-sxm
workload:
  requests_per_second: 40
  arrival_cv: 1.0
  classes:
    - {name: short, share: 0.7, prompt_tokens: 4000, reusable_tokens: 3000, output_tokens: 350}
    - {name: long, share: 0.3, prompt_tokens: 24000, reusable_tokens: 20000, output_tokens: 500}
  reuse:
    law: power
    beta: 0.40
    hit_rate: 0.35
    at_gb: 2000
    ceiling: 0.80
  prefetch: {coverage: 0.6, precision: 0.8, lead_s: 5}
slo: {ttft_ms: 1500, tpot_ms: 60, percentile: 0.95}
engine:
  timing: vllm-0.31
  hbm_utilization: 0.90
  batches: [1, 2, 4, 8]
deployment:
  architectures: [colocated, disaggregated]
  transfer: {gb_per_s_per_gpu: 45, latency_ms: 2}
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
    gb_per_s_per_gpu: 24
    gb_per_s_per_node: 25
    latency_ms: 10
    max_gb_per_node: 30720
    usd_per_gb_hour: 1.15e-5
read_utilization: 0.8
prices: {gpu_usd_per_hour: 2.80}
solve: {plans: 5, gap: 1.0e-4, time_limit_s: 60}
"""

INLINE_MODEL = """\
model:
  name: mine
  layers: 32
  attention: {kind: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}
  experts: {count: 128, top_k: 8}
  params_b: {total: 235, active: 22, routed_experts: 211.5}
  weight_bytes_per_param: 1
"""
ROOFLINE = ("timing: vllm-0.31", "timing: roofline")
MODEL = ("model: qwen3-235b-a22b-fp8\n", INLINE_MODEL)
POWER = "    law: power\n    beta: 0.40\n    hit_rate: 0.35\n    at_gb: 2000\n    ceiling: 0.80\n"
HILL = "    law: hill\n    floor: 0.04\n    ceiling: 0.40\n    half_tokens: 5.1e+6\n    slope: 1.84\n"
MEASURED = "    law: measured\n    points_gb: [[500, 0.1], [1000, 0.2], [4000, 0.4]]\n"

Edits = tuple[tuple[str, str], ...]

EDITED: dict[str, Edits] = {
    # keys
    "unknown-key-top": (("read_utilization: 0.8", "read_utilisation: 0.8"),),
    "unknown-key-nested": (("ttft_ms: 1500", "ttf_ms: 1500"),),
    "unknown-key-in-list": (("share: 0.7, prompt_tokens", "shar: 0.7, prompt_tokens"),),
    "unknown-key-elsewhere": (("name: base\n", "name: base\nttft_ms: 1500\n"),),
    "unknown-key-without-likeness": (("solve: {plans: 5", "solve: {zzz: 1, plans: 5"),),
    "missing-model": (("model: qwen3-235b-a22b-fp8\n", ""),),
    "missing-slo-key": (("tpot_ms: 60, ", ""),),
    "missing-reusable-tokens": ((", reusable_tokens: 3000", ""),),
    "missing-tier-key": (("name: nvme", "name: optane"), ("    max_gb_per_node: 30720\n", "")),
    "duplicate-key": (("  arrival_cv: 1.0\n", "  arrival_cv: 1.0\n  arrival_cv: 2.0\n"),),
    "duplicate-section": (("read_utilization: 0.8\n", "read_utilization: 0.8\nslo: {ttft_ms: 9, tpot_ms: 9}\n"),),
    "empty-value": (("ttft_ms: 1500", "ttft_ms: "),),
    "empty-section": (("slo: {ttft_ms: 1500, tpot_ms: 60, percentile: 0.95}", "slo:"),),
    # names
    "unknown-model": (("qwen3-235b-a22b-fp8", "qwen3-235b-a22b-fp9"),),
    "unknown-hardware": (("h200-sxm", "h200_sxm"),),
    "unknown-price": (("gpu_usd_per_hour: 2.80", "gpu_usd_per_hour: on-demand"),),
    "unknown-timing": (("vllm-0.31", "tgi-3"),),
    "timing-of-another-model": (("qwen3-235b-a22b-fp8", "llama-3.1-70b"),),
    "timing-of-another-hardware": (("h200-sxm", "h200-nvl"),),
    "no-timing-file": (("vllm-0.31", "times/mine.csv"),),
    "unknown-enum": (("architectures: [colocated, disaggregated]", "architectures: [colocated, disagregated]"),),
    "unknown-role": (("roles: [sync, prefetch]", "roles: [sync, prefetched]"),),
    "unknown-law": (("law: power", "law: powr"),),
    "unknown-billing": (("max_gpus: 512", "max_gpus: 512\n  billing: nodes"),),
    "duplicate-class-name": (("name: long", "name: short"),),
    "duplicate-tier-name": (("name: nvme", "name: dram"),),
    "reserved-tier-name": (("name: dram", "name: hbm"),),
    "name-with-path": (("name: base", "name: ../../etc/passwd"),),
    "name-with-escape": (("name: base", 'name: "a\\e[31mred"'),),
    "name-hidden": (("name: base", "name: .hidden"),),
    "name-too-long": (("name: base", f"name: {'x' * 61}"),),
    "name-a-number": (("name: base", "name: 2026"),),
    "tier-name-with-slash": (("name: dram", "name: dev/shm"),),
    "class-name-with-markup": (("name: short", "name: <b>short</b>"),),
    # YAML traps
    "boolean-for-number": (("arrival_cv: 1.0", "arrival_cv: no"),),
    "boolean-for-choice": (("law: power", "law: off"),),
    "boolean-for-name": (("name: short", "name: yes"),),
    "exponent-without-dot": (("ttft_ms: 1500", "ttft_ms: 1e3"),),
    "exponent-without-sign": (("usd_per_gb_hour: 5.2e-4", "usd_per_gb_hour: 5e-4"),),
    "exponent-of-tokens": (("prompt_tokens: 4000", "prompt_tokens: 4e3"),),
    "sexagesimal": (("lead_s: 5", "lead_s: 1:30"),),
    "octal": (("max_gpus: 512", "max_gpus: 0512"),),
    "hexadecimal": (("max_gpus: 512", "max_gpus: 0x200"),),
    "quoted-number": (("ttft_ms: 1500", 'ttft_ms: "1500"'),),
    "thousands-separator": (("max_gb_per_node: 30720", "max_gb_per_node: 30,720"),),
    "python-tag": (("name: base", "name: !!python/object/apply:os.system [ls]"),),
    "string-tag": (("name: base", "name: !!str 5"),),
    "merge-key": (("slo: {", "slo: {<<: {percentile: 0.9}, "),),
    "alias-of-nothing": (("arrival_cv: 1.0", "arrival_cv: *one"),),
    "alias-of-itself": (("solve: {plans: 5", "solve: &s {plans: *s"),),
    "tab-indent": (("  arrival_cv", "\tarrival_cv"),),
    "unclosed-brace": (("percentile: 0.95}", "percentile: 0.95"),),
    "key-is-a-list": (("read_utilization: 0.8", "[read_utilization]: 0.8"),),
    "second-document": (("prices:", "---\nprices:"),),
    "control-character": (("Chat on", "Chat\x1b[31m on"),),
    "bidirectional-override": (("Chat on", "Chat \u202eon"),),
    # numbers with units
    "unit-tb": (("max_gb_per_node: 30720", "max_gb_per_node: 12 TB"),),
    "unit-seconds": (("ttft_ms: 1500", "ttft_ms: 1.5s"),),
    "unit-percent": (("percentile: 0.95", "percentile: 95%"),),
    "unit-gbit": (("gb_per_s_per_gpu: 45", "gb_per_s_per_gpu: 400 Gbps"),),
    "unit-tokens": (("prompt_tokens: 4000", "prompt_tokens: 4k"),),
    "unit-dollars": (("gpu_usd_per_hour: 2.80", "gpu_usd_per_hour: $2.80"),),
    "unit-rps": (("requests_per_second: 40", "requests_per_second: 40 rps"),),
    "unit-unknown": (("latency_ms: 10", "latency_ms: 10 parsec"),),
    # ranges
    "percent-for-fraction": (("percentile: 0.95", "percentile: 95"),),
    "percent-hit-rate": (("hit_rate: 0.35", "hit_rate: 35"), ("ceiling: 0.80", "ceiling: 80")),
    "percent-shares": (("share: 0.7", "share: 70"), ("share: 0.3", "share: 30")),
    "percentile-too-low": (("percentile: 0.95", "percentile: 0.05"),),
    "zero-load": (("requests_per_second: 40", "requests_per_second: 0"),),
    "negative-price": (("gpu_usd_per_hour: 2.80", "gpu_usd_per_hour: -2.80"),),
    "huge-number": (("requests_per_second: 40", "requests_per_second: 1.0e+300"),),
    "endless-integer": (("max_gpus: 512", f"max_gpus: {'9' * 5000}"),),
    "infinite": (("ttft_ms: 1500", "ttft_ms: .inf"),),
    "not-a-number": (("ttft_ms: 1500", "ttft_ms: .nan"),),
    "fractional-gpus": (("max_gpus: 512", "max_gpus: 7.5"),),
    "beta-one": (("beta: 0.40", "beta: 1.0"),),
    "beta-negative": (("beta: 0.40", "beta: -0.4"),),
    "load-imbalance-below-one": (("max_gpus: 512", "max_gpus: 512\n  load_imbalance: 0.9"),),
    # types
    "list-for-mapping": (("slo: {ttft_ms: 1500, tpot_ms: 60, percentile: 0.95}", "slo: [1500, 60]"),),
    "mapping-for-number": (("ttft_ms: 1500", "ttft_ms: {value: 1500}"),),
    "scalar-for-list": (("roles: [sync, prefetch]", "roles: sync"),),
    "scalar-for-class": (("    - {name: long, share: 0.3", "    - long\n    - {name: long, share: 0.3"),),
    "text-for-boolean": (("latency_ms: 2}", "latency_ms: 2, prefill_tp_at_most_decode_tp: maybe}"),),
    "no-classes": (("classes:\n", "classes: []\n  unused:\n"),),
    "batch-not-a-number": (("batches: [1, 2, 4, 8]", "batches: [1, two, 4]"),),
    # between values
    "shares-too-much": (("share: 0.3", "share: 0.4"),),
    "reusable-beyond-prompt": (("reusable_tokens: 3000", "reusable_tokens: 5000"),),
    "ceiling-below-hit-rate": (("ceiling: 0.80", "ceiling: 0.30"),),
    "two-capacities": (("at_gb: 2000", "at_gb: 2000\n    at_tokens: 1.0e+7"),),
    "no-capacity": (("    at_gb: 2000\n", ""),),
    "key-of-another-law": (("ceiling: 0.80", "ceiling: 0.80\n    slope: 2"),),
    "power-incomplete": (("    beta: 0.40\n    hit_rate: 0.35\n", ""),),
    "hill-ceiling-below-floor": ((POWER, HILL.replace("0.40", "0.02")),),
    "hill-incomplete": ((POWER, HILL.replace("    slope: 1.84\n", "")),),
    "points-unsorted": ((POWER, MEASURED.replace("500", "5000")),),
    "points-falling": ((POWER, MEASURED.replace("0.4]", "0.15]")),),
    "points-percent": ((POWER, MEASURED.replace("0.4]", "40]")),),
    "points-empty": ((POWER, "    law: measured\n    points_gb: []\n"),),
    "points-not-pairs": ((POWER, "    law: measured\n    points_gb: [[500], [1000, 0.2, 0.3], 7]\n"),),
    "tier-order": (("gb_per_s_per_gpu: 24", "gb_per_s_per_gpu: 200"), ("per_node: 25", "per_node: 200")),
    "role-twice": (("roles: [sync, prefetch]", "roles: [sync, sync]"),),
    "batches-unsorted": (("batches: [1, 2, 4, 8]", "batches: [8, 4, 2, 1]"),),
    "batches-zero": (("batches: [1, 2, 4, 8]", "batches: [0, 2, 4, 8]"),),
    "class-law-wrong": (("output_tokens: 350}", "output_tokens: 350, reuse: {law: power, beta: 2}}"),),
    "model-heads": (MODEL, ROOFLINE, ("kv_heads: 8", "kv_heads: 5")),
    "model-without-head-dim": (MODEL, ROOFLINE, (", head_dim: 128", "")),
    "model-mla-incomplete": (MODEL, ROOFLINE, ("kind: gqa", "kind: mla")),
    "model-active-beyond-total": (MODEL, ROOFLINE, ("active: 22", "active: 500")),
    "model-top-k": (MODEL, ROOFLINE, ("top_k: 8", "top_k: 256")),
    "model-does-not-fit": (MODEL, (ROOFLINE[0], "timing: roofline\n  configs: [{gpus: 1}, {gpus: 2}]"), ("235", "600")),
    "model-inline-with-table": (MODEL,),
    "engine-split": (MODEL, (ROOFLINE[0], "timing: roofline\n  configs: [{gpus: 8, tp: 8, dp: 4}]")),
    "hbm-all-reserved": (
        (
            "hardware: h200-sxm",
            "hardware: {name: x, hbm_gb: 80, hbm_gb_per_s: 3350, peak_tflops: 989, runtime_reserve_gb: 75}",
        ),
        ROOFLINE,
    ),
    # several at once, sorted by line
    "many": (
        ("model: qwen3-235b-a22b-fp8", "model: qwen3-235b"),
        ("share: 0.7", "share: 0.9"),
        ("beta: 0.40", "beta: 4.0"),
        ("ttft_ms: 1500", "ttft_ms: 1.5s"),
        ("percentile: 0.95", "percentile: 95"),
        ("name: nvme", "nmae: nvme"),
        ("plans: 5", "plans: five"),
    ),
}

WHOLE: dict[str, str] = {
    "empty": "",
    "only-a-comment": "# nothing\n",
    "a-list": "- model\n- workload\n",
    "a-word": "chat\n",
    "only-a-model": "model: qwen3-235b-a22b-fp8\n",
    "too-deep": "a: " + "[" * 40 + "]" * 40 + "\n",
    "alias-bomb": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{c}: &{c} [{', '.join([f'*{p}'] * 10)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "too-many-values": "a: [" + "1, " * 20_001 + "]\n",
}

WARNED: dict[str, Edits] = {
    "cheap-gpu": (("gpu_usd_per_hour: 2.80", "gpu_usd_per_hour: 0.03"),),
    "slow-tokens": (("tpot_ms: 60", "tpot_ms: 3000"),),
    "fast-nvme": (("gb_per_s_per_gpu: 24", "gb_per_s_per_gpu: 24.5"), ("per_node: 25", "per_node: 200")),
    "dear-dram": (("usd_per_gb_hour: 5.2e-4", "usd_per_gb_hour: 0.5"),),
    "another-engine-version": (("vllm-0.31", "vllm-0.24"),),
    "beyond-context": (("prompt_tokens: 24000", "prompt_tokens: 240000"),),
    "assumed-reuse": (("  reuse:\n" + POWER, ""),),
}


def edited(edits: Edits) -> str:
    """The base scenario with some text replaced; each text must be there, once."""
    text = BASE
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text
