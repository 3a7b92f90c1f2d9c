"""Chooses GPUs, memory tiers and capacities for large language model serving with reused KV caches."""

__version__ = "0.1.0"
