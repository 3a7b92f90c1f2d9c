"""Pyomo construction: sets and variables here, every constraint from :mod:`planner.milp.rules` by name."""

from __future__ import annotations

from typing import Any

import pyomo.core as pyo

from planner.milp.data import ModelData
from planner.milp.rules import RULES, objective


def build(c: ModelData) -> Any:
    """The model of ``c``."""
    m = pyo.ConcreteModel(name="planner")
    _add_sets(m, c)
    _add_variables(m, c)
    for entry in RULES:
        setattr(m, entry.name, _constraint(m, c, entry))
    m.law_cuts = pyo.ConstraintList()
    for (j, g), segments in c.segments.items():
        for s, segment in enumerate(segments):
            for a, b in segment.cuts:
                add_cut(m, c, j, g, s, a, b)
    m.cost = pyo.Objective(expr=objective(m, c))
    return m


def _add_sets(m: Any, c: ModelData) -> None:
    m.DESIGN = range(len(c.designs))
    m.DECODE = range(len(c.decodes))
    m.TIER, m.PART, m.LEVEL = c.tiers, c.parts, c.levels
    m.ROW = range(len(c.designs[0].rows))
    m.STAGE = c.stage_pairs
    m.LAWLEVEL = c.law_levels
    m.LAWPIECE = [(level, j, g, s) for level in c.law_levels for j in c.parts for g, s in c.pieces(j)]
    m.LAWGROUP = [(level, j, g) for level in c.law_levels for j in c.parts for g in range(len(c.groups))]


def _add_variables(m: Any, c: ModelData) -> None:
    m.use = pyo.Var(m.DESIGN, domain=pyo.Binary)
    m.decode = pyo.Var(m.DECODE, domain=pyo.Binary)
    tier_part = [(t, j) for t in m.TIER for j in m.PART]
    tops = [law.top for law in c.system.laws]
    m.capacity = pyo.Var(tier_part, domain=pyo.NonNegativeReals)
    m.paid = pyo.Var(m.TIER, domain=pyo.NonNegativeReals)
    m.steps = pyo.Var([t for t in m.TIER if c.system.tiers[t].step], domain=pyo.NonNegativeIntegers)
    m.hits = pyo.Var([(level, j) for level in m.LEVEL for j in m.PART], bounds=lambda _, level, j: (0, tops[j]))
    m.sync_hits = pyo.Var(tier_part, domain=pyo.NonNegativeReals)
    m.prefetch_hits = pyo.Var([(t, s, j) for t, s in m.STAGE for j in m.PART], domain=pyo.NonNegativeReals)
    m.effective = pyo.Var(m.PART, bounds=lambda _, j: (0, tops[j]))
    multi = len(c.parts) > 1
    m.effective_by = pyo.Var(
        [(q, j) for q in m.DESIGN for j in m.PART] if multi else [], bounds=lambda _, q, j: (0, tops[j])
    )
    m.hbm = pyo.Var(m.PART if multi else [], domain=pyo.NonNegativeReals)
    if c.inclusive:
        m.adds = pyo.Var(tier_part, domain=pyo.Binary)
    else:
        m.adds = pyo.Expression(tier_part, rule=lambda _, t, j: sum(m.use[q] for q in m.DESIGN if t in c.roles[q].used))
    m.law_capacity = pyo.Var(m.LAWPIECE, domain=pyo.NonNegativeReals)
    m.law_hits = pyo.Var(m.LAWPIECE, bounds=lambda _, level, j, g, s: (0, tops[j]))
    m.piece = pyo.Var(
        [(level, j, g, s) for level, j, g, s in m.LAWPIECE if len(c.segments[j, g]) > 1], domain=pyo.Binary
    )


def _constraint(m: Any, c: ModelData, entry: Any) -> Any:
    sets = [getattr(m, name) for name in entry.index]

    def body(_: Any, *index: Any) -> Any:
        made = entry.body(m, c, *(index if sets else ()))
        if made is None or made is True:
            return pyo.Constraint.Skip
        return made

    return pyo.Constraint(*sets, rule=body) if sets else pyo.Constraint(rule=body)


def add_cut(m: Any, c: ModelData, j: int, g: int, s: int, a: float, b: float) -> list[Any]:
    """One tangent or chord, valid at every level: ``law_hits <= a * on + b * K``."""
    made = []
    scale = min(max(1.0, 1e-3 / b), 1e5) if b else 1.0  # flat cuts: no coefficient that the solver would drop
    for level in c.law_levels:
        on = c.piece_on(m, level, j, g, s)
        supply = scale * a * on + (scale * b * m.law_capacity[level, j, g, s] if b else 0.0)
        made.append(m.law_cuts.add(scale * m.law_hits[level, j, g, s] <= supply))
    return made


def write_lp(m: Any, path: str, c: ModelData | None = None) -> None:
    """Write the model as an LP file with readable names; with ``c``, a legend of units and designs comes first."""
    from pyomo.repn.plugins.lp_writer import LPWriter

    with open(path, "w", encoding="utf-8") as out:
        if c is not None:
            out.writelines(f"\\* {line} *\\\n" for line in _legend(c))
        LPWriter().write(m, out, symbolic_solver_labels=True)


def _legend(c: ModelData) -> list[str]:
    """What the indices stand for, one line each."""
    lines = [f"capacities in {c.unit:g} bytes, cost in {c.usd_unit:g} USD per hour; rules: planner rules"]
    lines += [f"use({q}): {c.design_label(q)}" for q in range(len(c.designs))]
    lines += [f"decode({d}): {o.instances}x {o.config.name} b{o.batch}" for d, o in enumerate(c.decodes)]
    lines += [f"tier {t}, level {t + 1}: {c.system.tiers[t].name}" for t in c.tiers]
    return lines
