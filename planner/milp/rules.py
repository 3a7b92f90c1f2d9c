"""The rules of the optimisation model: one small function each, registered once.

A registration gives the rule's name in Pyomo and in a plan's "binding" list, its row in ``planner rules``, and the
scenario key to relax (none for physics). Bodies read ``m`` (what is chosen) and ``c`` (what is known, see
:class:`planner.milp.data.ModelData`); need stands left, supply right. ``None`` means that the row does not apply.

Levels: 0 is HBM, ``t + 1`` is listed tier ``t``. Capacities are in ``c.unit`` bytes, hits in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Body = Callable[..., Any]


@dataclass(frozen=True)
class Rule:
    """One named constraint family."""

    name: str
    title: str
    formula: str
    unit: str
    scenario_key: str | None
    kind: str  # "choice", "promise", "supply" or "physics"
    index: tuple[str, ...]
    body: Body


RULES: list[Rule] = []


def rule(title: str, formula: str, unit: str, *, key: str | None, kind: str, index: str = "") -> Callable[[Body], Body]:
    """Register a rule; its function's name is the constraint's name."""

    def register(body: Body) -> Body:
        RULES.append(Rule(body.__name__, title, formula, unit, key, kind, tuple(index.split()), body))
        return body

    return register


@rule("Exactly one prefill design", "sum_q use[q] = 1", "-", key=None, kind="choice")
def one_design(m: Any, c: Any) -> Any:
    """One configuration, count and role assignment."""
    return sum(m.use[q] for q in m.DESIGN) == 1


@rule("Exactly one decode pool", "sum_d decode[d] = 1", "-", key=None, kind="choice")
def one_decode(m: Any, c: Any) -> Any:
    """Only where prefill and decode are disaggregated."""
    return sum(m.decode[d] for d in m.DECODE) == 1 if c.decodes else None


@rule("GPUs within the limit", "prefill GPUs + decode GPUs <= max_gpus", "GPU",
      key="deployment.max_gpus", kind="supply")  # fmt: skip
def max_gpus(m: Any, c: Any) -> Any:
    """Counted, not billed, GPUs; in units of the limit."""
    limit = c.system.scenario.deployment.max_gpus
    most = max(d.prefill.gpus for d in c.designs) + max((d.gpus for d in c.decodes), default=0)
    if most <= limit:
        return None
    prefill = sum(c.designs[q].prefill.gpus / limit * m.use[q] for q in m.DESIGN)
    return prefill + sum(c.decodes[d].gpus / limit * m.decode[d] for d in m.DECODE) <= 1


@rule("Prefill TP at most decode TP", "tp(prefill) <= tp(decode)", "ranks",
      key="deployment.transfer.prefill_tp_at_most_decode_tp", kind="supply")  # fmt: skip
def tp_coupling(m: Any, c: Any) -> Any:
    """Where the engine cannot send KV from a wider prefill TP to a narrower decode TP."""
    if not c.decodes or not c.system.scenario.deployment.transfer.prefill_tp_at_most_decode_tp:
        return None
    narrow = sum(c.designs[q].prefill.config.tp * m.use[q] for q in m.DESIGN)
    return narrow <= sum(c.decodes[d].config.tp * m.decode[d] for d in m.DECODE)


@rule("Prefill keeps TTFT, utilisation and decode's TPOT",
      "load(e) <= admissible load of the design, as sum_j w_j e_j >= (idle load - admissible) / saved load",
      "hit rate", key="slo.ttft_ms", kind="promise", index="ROW")  # fmt: skip
def prefill_queue(m: Any, c: Any, row: int) -> Any:
    """Hits that the queue needs. One partition: weights are 1, so one row serves all designs."""
    need = sum(c.need(q, row) * m.use[q] for q in m.DESIGN)
    if len(c.parts) == 1:
        return need <= m.effective[0]
    weighted = sum(c.designs[q].rows[row].weights[j] * m.effective_by[q, j] for q in m.DESIGN for j in m.PART)
    return need <= weighted


@rule("Hits per design", "sum_q e[q, j] = e[j]; e[q, j] <= use[q]", "hit rate", key=None, kind="physics", index="PART")
def effective_split(m: Any, c: Any, j: int) -> Any:
    """Hull variables of the product of hits and design, where partitions weigh differently in each configuration."""
    if len(c.parts) == 1:
        return None
    return sum(m.effective_by[q, j] for q in m.DESIGN) == m.effective[j]


@rule("Hits of the chosen design only", "e[q, j] <= use[q]", "hit rate", key=None, kind="physics", index="DESIGN PART")
def effective_on(m: Any, c: Any, q: int, j: int) -> Any:
    """See ``effective_split``."""
    return None if len(c.parts) == 1 else m.effective_by[q, j] <= m.use[q]


@rule("Effective hits", "e = H_hbm + sum x_sync + coverage * sum x_prefetch", "hit rate",
      key="workload.prefetch.coverage", kind="physics", index="PART")  # fmt: skip
def effective_hits(m: Any, c: Any, j: int) -> Any:
    """Prefetch foresees a share ``coverage`` of its hits."""
    sync = sum(m.sync_hits[t, j] for t in m.TIER)
    ahead = sum(m.prefetch_hits[t, s, j] for t, s in m.STAGE)
    return m.effective[j] <= m.hits[0, j] + sync + c.system.coverage * ahead


@rule("Marginal hits by role", "H_t - H_(t-1) = x_sync + x_prefetch", "hit rate", key=None, kind="physics",
      index="TIER PART")  # fmt: skip
def marginal_hits(m: Any, c: Any, t: int, j: int) -> Any:
    """Hits that no faster tier has; they never fall from tier to tier."""
    ahead = sum(m.prefetch_hits[a, s, j] for a, s in m.STAGE if a == t)
    return m.hits[t + 1, j] - m.hits[c.below(t), j] == m.sync_hits[t, j] + ahead


@rule("Synchronous hits need the role", "x_sync <= ceiling * sync", "hit rate", key="tiers[].roles", kind="choice",
      index="TIER PART")  # fmt: skip
def sync_role(m: Any, c: Any, t: int, j: int) -> Any:
    """A design carries its roles."""
    return m.sync_hits[t, j] <= c.system.laws[j].top * sum(m.use[q] for q in m.DESIGN if t in c.roles[q].sync)


@rule("Prefetched hits need the role", "x_prefetch <= ceiling * prefetch", "hit rate", key="tiers[].roles",
      kind="choice", index="STAGE PART")  # fmt: skip
def prefetch_role(m: Any, c: Any, t: int, s: int, j: int) -> Any:
    """Tier ``t`` is pulled up to ``s``, the next faster synchronous tier of the design."""
    on = sum(m.use[q] for q in m.DESIGN if c.roles[q].staged_in(t) == s)
    return m.prefetch_hits[t, s, j] <= c.system.laws[j].top * on


@rule("HBM's hits", "H_hbm <= h(free HBM)", "hit rate", key=None, kind="physics", index="PART")
def hbm_hits(m: Any, c: Any, j: int) -> Any:
    """With one partition a number per design; else each partition gets its part of HBM (``hbm_split``)."""
    if len(c.parts) == 1:
        return m.hits[0, j] <= sum(c.hbm_hits(q) * m.use[q] for q in m.DESIGN)
    return m.hits[0, j] <= sum(m.law_hits[0, j, g, s] for g, s in c.pieces(j))


@rule("HBM shared by partitions", "sum_j HBM_j <= free HBM", "bytes", key=None, kind="physics")
def hbm_split(m: Any, c: Any) -> Any:
    """Only where a class has its own reuse law."""
    if len(c.parts) == 1:
        return None
    return sum(m.hbm[j] for j in m.PART) <= sum(c.hbm(q) * m.use[q] for q in m.DESIGN)


@rule("Hits obey the reuse law", "H_t <= h(K_t) where the tier adds hits", "hit rate", key="workload.reuse",
      kind="physics", index="TIER PART")  # fmt: skip
def hit_law(m: Any, c: Any, t: int, j: int) -> Any:
    """``h`` from above: tangents where it is concave, chords where it is not."""
    allowed = sum(m.law_hits[t + 1, j, g, s] for g, s in c.pieces(j))
    return m.hits[t + 1, j] <= allowed + c.system.laws[j].top * (1 - m.adds[t, j])


@rule("A tier adds hits or only stages", "x_t <= ceiling * adds", "hit rate", key=None, kind="physics",
      index="TIER PART")  # fmt: skip
def adds_hits(m: Any, c: Any, t: int, j: int) -> Any:
    """A tier no larger than a faster one adds none."""
    return m.hits[t + 1, j] - m.hits[c.below(t), j] <= c.system.laws[j].top * m.adds[t, j]


@rule("Inclusive hierarchy", "K_t >= K_s for every faster s, where t adds hits", "bytes", key="deployment.hierarchy",
      kind="physics", index="TIER LEVEL PART")  # fmt: skip
def inclusion(m: Any, c: Any, t: int, level: int, j: int) -> Any:
    """A slower tier holds what the faster ones hold, so it adds only what exceeds them."""
    if not c.inclusive or level > t:
        return None
    most = max(c.largest(level, g) for g in range(len(c.groups)))
    return c.held(m, level, j) <= c.held(m, t + 1, j) + most * (1 - m.adds[t, j])


@rule("Pieces of the law add up", "sum K[g, s] = K_t", "bytes", key=None, kind="physics", index="LAWLEVEL PART")
def pieces_sum(m: Any, c: Any, level: int, j: int) -> Any:
    """Disaggregated capacity over law groups and segments."""
    return sum(m.law_capacity[level, j, g, s] for g, s in c.pieces(j)) == c.held(m, level, j)


@rule("A piece from below", "lo * on <= K[g, s]", "bytes", key=None, kind="physics", index="LAWPIECE")
def piece_low(m: Any, c: Any, level: int, j: int, g: int, s: int) -> Any:
    """Segment ``s`` of the law of group ``g`` starts at ``lo``."""
    low = c.segments[j, g][s].lo
    return None if low <= 0 else low * c.piece_on(m, level, j, g, s) <= m.law_capacity[level, j, g, s]


@rule("A piece from above", "K[g, s] <= hi * on", "bytes", key=None, kind="physics", index="LAWPIECE")
def piece_high(m: Any, c: Any, level: int, j: int, g: int, s: int) -> Any:
    """… and ends at ``hi``."""
    if len(c.groups) == 1 and len(c.segments[j, g]) == 1:
        return None
    return m.law_capacity[level, j, g, s] <= c.segments[j, g][s].hi * c.piece_on(m, level, j, g, s)


@rule("One piece of the chosen law", "sum_s on[g, s] = group[g]", "-", key=None, kind="choice", index="LAWGROUP")
def piece_choice(m: Any, c: Any, level: int, j: int, g: int) -> Any:
    """Only laws with more than one piece need it."""
    pieces = range(len(c.segments[j, g]))
    return None if len(pieces) == 1 else sum(m.piece[level, j, g, s] for s in pieces) == c.group_on(m, g)


@rule("Staging fits in its tier", "staging_t <= C_t", "bytes", key="workload.prefetch.lead_s", kind="physics",
      index="TIER PART")  # fmt: skip
def staging_fits(m: Any, c: Any, t: int, j: int) -> Any:
    """Prefetched KV waits in a faster tier."""
    if not any(s == t for _, s in m.STAGE):
        return None
    return c.staging(m, t, j) <= m.capacity[t, j]


@rule("Capacity fits the nodes", "C_t <= max_gb_per_node * nodes", "bytes", key="tiers[].max_gb_per_node",
      kind="supply", index="TIER")  # fmt: skip
def fits_nodes(m: Any, c: Any, t: int) -> Any:
    """All tiers live on the nodes that prefill; an unused tier has none."""
    have = sum(c.supply(t, q) * m.use[q] for q in m.DESIGN if t in c.roles[q].used)
    return sum(m.capacity[t, j] for j in m.PART) <= have


@rule("Whole purchase steps", "C_t = step_gb * whole number", "bytes", key="tiers[].step_gb", kind="supply",
      index="TIER")  # fmt: skip
def whole_steps(m: Any, c: Any, t: int) -> Any:
    """Only where the tier is bought in steps (drives)."""
    step = c.system.tiers[t].step
    return None if step is None else sum(m.capacity[t, j] for j in m.PART) == step / c.unit * m.steps[t]


@rule("Read bandwidth", "sum lambda P kappa (x_sync + coverage/precision x_prefetch + re-reads) <= bandwidth * nodes",
      "bytes/s", key="tiers[].gb_per_s_per_node", kind="supply", index="TIER")  # fmt: skip
def read_bandwidth(m: Any, c: Any, t: int) -> Any:
    """Divided by ``lambda P kappa``. A prefetched hit is read again from its staging tier."""
    system, share = c.system, c.flow_share
    if min(c.read_supply(t, q) for q in m.DESIGN) >= c.read_demand:
        return None
    own = sum(share[j] * m.sync_hits[t, j] for j in m.PART)
    pulled = sum(share[j] * m.prefetch_hits[a, s, j] for a, s in m.STAGE if a == t for j in m.PART)
    again = sum(share[j] * m.prefetch_hits[a, s, j] for a, s in m.STAGE if s == t for j in m.PART)
    have = sum(c.read_supply(t, q) * m.use[q] for q in m.DESIGN)
    return own + system.coverage / system.precision * pulled + system.coverage * again <= have


@rule("Write bandwidth", "sum lambda (L - e P) kappa <= write bandwidth * nodes", "bytes/s",
      key="tiers[].write_gb_per_s_per_node", kind="supply", index="TIER")  # fmt: skip
def write_bandwidth(m: Any, c: Any, t: int) -> Any:
    """Fresh KV is written once to every tier in use; divided by the KV of all prompts."""
    per_node = c.system.tiers[t].write_per_node
    if per_node is None:
        return None
    have = sum(
        (min(1.0, per_node * c.designs[q].prefill.nodes / c.system.prompt_bytes_per_s) if t in c.roles[q].used else 1.0)
        * m.use[q]
        for q in m.DESIGN
    )
    return c.fresh_written(m) <= have


@rule("Endurance", "sum lambda (L - e P) kappa per day <= dwpd * C_t", "bytes/day", key="tiers[].dwpd", kind="supply",
      index="TIER")  # fmt: skip
def endurance(m: Any, c: Any, t: int) -> Any:
    """Drive writes per day; divided by the KV of all prompts."""
    dwpd = c.system.tiers[t].dwpd
    if dwpd is None:
        return None
    unused = sum(m.use[q] for q in m.DESIGN if t not in c.roles[q].used)
    per_unit = dwpd * c.unit / (86400.0 * c.system.prompt_bytes_per_s)
    scale = max(1.0, 1e-3 / per_unit)
    capacity = sum(m.capacity[t, j] for j in m.PART)
    return scale * c.fresh_written(m) <= scale * per_unit * capacity + scale * unused


@rule("Paid capacity", "paid_t >= C_t - included_gb_per_node * nodes", "bytes", key="tiers[].included_gb_per_node",
      kind="physics", index="TIER")  # fmt: skip
def paid_capacity(m: Any, c: Any, t: int) -> Any:
    """Only what exceeds the capacity that comes with the nodes is rented."""
    included = c.system.tiers[t].included_per_node / c.unit
    free = sum(included * c.designs[q].prefill.nodes * m.use[q] for q in m.DESIGN) if included else 0.0
    return sum(m.capacity[t, j] for j in m.PART) - free <= m.paid[t]


def objective(m: Any, c: Any) -> Any:
    """GPUs and rent in units of ``c.usd_unit`` dollars per hour."""
    gpus = sum(c.gpu_cost(c.designs[q].prefill.billed_gpus) * m.use[q] for q in m.DESIGN)
    gpus += sum(c.gpu_cost(c.decodes[d].billed_gpus) * m.decode[d] for d in m.DECODE)
    return gpus + sum(c.rent(t) * m.paid[t] for t in m.TIER)
