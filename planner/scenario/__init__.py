"""Scenario files: schema, loader, catalog.

>>> from planner.scenario import loads
>>> scenario = loads('''
... model: qwen3-235b-a22b-fp8
... workload:
...   requests_per_second: 40
...   classes: [{prompt_tokens: 4000, reusable_tokens: 3000, output_tokens: 350}]
... slo: {ttft_ms: 1500, tpot_ms: 60}
... ''')
>>> scenario.prices.gpu_usd_per_hour, dict(scenario.defaults)["prices.gpu_usd_per_hour"]
(2.8, '2.8')
"""

from planner.scenario.loader import load, loads, replace
from planner.scenario.schema import Scenario

__all__ = ["Scenario", "load", "loads", "replace"]
