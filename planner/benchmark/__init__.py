"""Speed and trust, measured on this machine: ``planner benchmarks``."""
