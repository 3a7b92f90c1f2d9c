"""What-if questions: frontier, sweep, sensitivity, compare, break-even, budget.

Each solves the same cells as ``planner solve``, and no more often than its question needs. Nothing is imported here,
so that a command loads only what it uses.
"""
