"""Traces: the reuse curve, the arrivals and the request classes of real prompts.

A trace is a sequence of requests, each with the chained ids of its prompt's blocks: equal ids mean an equal whole
prefix. :func:`planner.trace.load.load_trace` reads files into a :class:`planner.trace.trace.Trace`,
:func:`planner.trace.curve.hit_curve` gives the exact LRU hit tokens at every capacity in one pass, and
:func:`planner.trace.study.study_trace` everything that a scenario needs. Nothing is imported here, so that a command
pays only for what it uses.
"""
