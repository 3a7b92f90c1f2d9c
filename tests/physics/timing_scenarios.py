"""A scenario text whose model, hardware and engine can be chosen."""

from planner.scenario import Scenario, loads

TEXT = """
model: {model}
hardware: {hardware}
workload:
  requests_per_second: 1
  classes: [{{prompt_tokens: 1000, reusable_tokens: 500, output_tokens: 100}}]
  reuse: {{law: power, beta: 0.5, hit_rate: 0.5, at_gb: 1000, ceiling: 0.8}}
slo: {{ttft_ms: 1000, tpot_ms: 100}}
engine: {engine}
"""


def scenario(
    engine: str, model: str = "qwen3-235b-a22b-fp8", hardware: str = "h200-sxm", file: str = "s.yaml"
) -> Scenario:
    return loads(TEXT.format(model=model, hardware=hardware, engine=engine), file)
