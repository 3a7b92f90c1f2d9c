"""The judge's parts: the state of a decision, its checks, and its accounts. See :mod:`planner.evaluate`."""
