"""Valid scenarios from which the fuzz run starts: between them they use every section, law, role and option."""

from __future__ import annotations

from typing import Any

import yaml

_TEXTS = (
    """
name: chat
model: qwen3-235b-a22b-fp8
workload:
  requests_per_second: 40
  arrival_cv: 1.0
  classes:
    - {name: short, share: 0.7, prompt_tokens: 4000, reusable_tokens: 3000, output_tokens: 350, prompt_cv: 0.5}
    - {name: long, share: 0.3, prompt_tokens: 24000, reusable_tokens: 20000, output_tokens: 500}
  reuse: {law: power, beta: 0.40, hit_rate: 0.35, at_gb: 2000, ceiling: 0.80}
  prefetch: {coverage: 0.6, precision: 0.8, lead_s: 5}
slo: {ttft_ms: 1500, tpot_ms: 60, percentile: 0.95}
engine: {timing: vllm-0.31, hbm_utilization: 0.9, batches: [1, 4, 16, 64, 256], max_utilization: 0.95}
deployment:
  architectures: [colocated, disaggregated]
  transfer: {gb_per_s_per_gpu: 45, latency_ms: 2, overlap: 0.1, gb_per_s_per_node: 300}
  max_gpus: 512
  billing: gpu
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
    step_gb: 3840
    write_gb_per_s_per_node: 12
    dwpd: 1
read_utilization: 0.8
prices: {gpu_usd_per_hour: 2.80}
solve: {plans: 3, gap: 1.0e-4, time_limit_s: 60}
""",
    """
name: own-model
model:
  name: mine
  layers: 32
  attention: {kind: gqa, q_heads: 32, kv_heads: 8, head_dim: 128}
  params_b: {total: 8, active: 8, routed_experts: 0}
  weight_bytes_per_param: 2
  kv_bytes_per_element: 2
  hidden: 4096
hardware: {name: card, hbm_gb: 80, hbm_gb_per_s: 3300, peak_tflops: 990, runtime_reserve_gb: 3, nvlink_gb_per_s: 450}
workload:
  requests_per_second: 12
  classes: [{prompt_tokens: 8000, reusable_tokens: 6000, output_tokens: 300}]
  reuse: {law: hill, floor: 0.08, ceiling: 0.8, half_tokens: 5.1e+6, slope: 1.84, at_requests_per_second: 3.2}
slo: {ttft_ms: 900, tpot_ms: 40}
engine: {timing: roofline, configs: [{gpus: 1}, {gpus: 2, tp: 1, dp: 2}], kv_dtype: fp8, chunk_tokens: 4096}
deployment: {colocated_routing: random, hierarchy: exclusive, billing: node, gpus_per_node: 4, max_gpus: 64}
prices: {gpu_usd_per_hour: owned, tokens_counted: generated}
""",
    """
name: two-laws
model: deepseek-v3
workload:
  requests_per_second: 5
  classes:
    - {name: chat, share: 0.5, prompt_tokens: 9000, reusable_tokens: 7000, output_tokens: 200}
    - name: agent
      share: 0.5
      prompt_tokens: 40000
      reusable_tokens: 38000
      output_tokens: 400
      reuse: {law: measured, points_gb: [[500, 0.1], [1000, 0.5], [4000, 0.7], [20000, 0.9]]}
  reuse: {law: hill, floor: 0.02, ceiling: 0.6, half_gb: 900, slope: 2.5}
slo: {ttft_ms: 4000, tpot_ms: 80}
""",
)
SEEDS: tuple[dict[str, Any], ...] = tuple(yaml.safe_load(text) for text in _TEXTS)
