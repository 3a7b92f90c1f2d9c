"""Rules between values: what must hold for a scenario to make sense.

A rule reads attributes and skips what is None, so it works on a valid scenario and on the valid parts of a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from planner.errors import Diagnostic
from planner.scenario.findings import Finding, absent, given, indexed, repeated
from planner.scenario.laws import laws
from planner.scenario.yamltree import Document, Path, dotted

Rule = Callable[[Any], Iterator[Finding]]
RESERVED = {"tiers": ("hbm", "miss")}  # names of paths that every plan has
ATTENTION_KEYS = {"gqa": ("kv_heads", "head_dim"), "mla": ("kv_lora_rank", "rope_dim")}
CAPACITY_GB = 1.0  # the read by which tiers are ordered


def conflicts(scenario: Any, document: Document) -> Iterator[Diagnostic]:
    """Every rule that a scenario breaks."""
    for rule in RULES:
        for finding in rule(scenario):
            yield finding.diagnostic(document)


def shares_sum_to_one(s: Any) -> Iterator[Finding]:
    """The classes' shares are the whole load."""
    classes = s.workload and s.workload.classes
    if not classes or not given(*classes):
        return
    shares = [c.share for c in classes]
    total = sum(shares) if given(*shares) else 1.0
    if abs(total - 1.0) > 1e-6:
        fixed = ", ".join(f"{x / total:.4g}" for x in shares)
        hint = f"in the same proportions: {fixed}" if total > 0 else ""
        yield Finding("shares-sum", ("workload", "classes"), f"the shares sum to {total:.6g}, not 1", hint)


def reusable_within_prompt(s: Any) -> Iterator[Finding]:
    """A prompt cannot repeat more tokens than it has."""
    for i, c in indexed(s.workload and s.workload.classes):
        if given(c.reusable_tokens, c.prompt_tokens) and c.reusable_tokens > c.prompt_tokens:
            path = ("workload", "classes", i, "reusable_tokens")
            yield Finding(
                "reusable-tokens", path, f"{c.reusable_tokens} is more than the {c.prompt_tokens} of the prompt"
            )


def unique_names(s: Any) -> Iterator[Finding]:
    """Names tell classes and tiers apart."""
    groups: tuple[tuple[Path, Any], ...] = (
        (("workload", "classes"), s.workload and s.workload.classes),
        (("tiers",), s.tiers),
    )
    for path, items in groups:
        first: dict[str, int] = {}
        for i, item in indexed(items):
            if item.name in RESERVED.get(str(path[-1]), ()):
                yield Finding("reserved-name", (*path, i, "name"), f"{item.name!r} is reserved", "choose another name")
            elif item.name in first:
                other = dotted((*path, first[item.name]))
                yield Finding("duplicate-name", (*path, i, "name"), f"{item.name!r} is the name of {other} too")
            elif item.name is not None:
                first[item.name] = i


def unique_choices(s: Any) -> Iterator[Finding]:
    """A choice is listed once; batches rise."""
    lists: list[tuple[Path, Any]] = [(("tiers", i, "roles"), t.roles) for i, t in indexed(s.tiers)]
    if s.deployment is not None:
        lists.append((("deployment", "architectures"), s.deployment.architectures))
    for path, values in lists:
        for i, value in repeated(values or ()):
            yield Finding("duplicate-value", (*path, i), f"{value} is listed twice")
    batches = (s.engine and s.engine.batches) or ()
    for i, (before, batch) in enumerate(pairwise(batches), start=1):
        if given(before, batch) and batch <= before:
            hint = "list the batches in rising order"
            yield Finding("batches-order", ("engine", "batches", i), f"{batch} is not above {before} before it", hint)
            return


def tiers_fast_to_slow(s: Any) -> Iterator[Finding]:
    """Each tier reads 1 GB to one GPU no faster than the one before it."""
    before = None
    for i, tier in indexed(s.tiers):
        if not given(tier.gb_per_s_per_gpu, tier.gb_per_s_per_node, tier.latency_ms):
            continue
        read_ms = tier.latency_ms + 1e3 * CAPACITY_GB / min(tier.gb_per_s_per_gpu, tier.gb_per_s_per_node)
        if before is not None and read_ms < before[1] * (1 - 1e-9):
            message = f"faster than {before[0]!r} before it: 1 GB takes {read_ms:.4g} ms against {before[1]:.4g} ms"
            yield Finding("tier-order", ("tiers", i), message, "list the tiers fast to slow")
        before = (tier.name, read_ms)


def engine_splits(s: Any) -> Iterator[Finding]:
    """A configuration does not split over more GPUs than it has."""
    for i, config in indexed(s.engine and s.engine.configs):
        for parts in (("tp", "dp"), ("etp", "ep")):
            a, b = (getattr(config, part) or 1 for part in parts)
            if config.gpus is not None and a * b > config.gpus:
                message = f"{parts[0]} {a} x {parts[1]} {b} is more than the {config.gpus} GPUs"
                yield Finding("engine-split", ("engine", "configs", i), message)


def model_attention(s: Any) -> Iterator[Finding]:
    """The attention entry has the keys of its kind, and its heads divide."""
    a = s.model and s.model.attention
    if a is None or a.kind is None:
        return
    missing = [name for name in ATTENTION_KEYS[a.kind] if absent(a, name)]
    if missing:
        yield Finding("missing-key", ("model", "attention"), f"{a.kind} attention needs {', '.join(missing)}")
    if a.kind == "gqa" and given(a.kv_heads, a.q_heads) and a.q_heads % a.kv_heads:
        message = f"{a.q_heads} query heads do not divide by {a.kv_heads} KV heads"
        yield Finding("model-shape", ("model", "attention", "kv_heads"), message)


def model_shape(s: Any) -> Iterator[Finding]:
    """The parts of a model are no more than the whole."""
    m = s.model
    if m is None:
        return
    p, e = m.params_b, m.experts
    for name in ("active", "routed_experts") if p is not None else ():
        part = getattr(p, name)
        if given(p.total, part) and part > p.total:
            yield Finding("model-shape", ("model", "params_b", name), f"{part:g} billion is more than all, {p.total:g}")
    if e is not None and given(e.count, e.top_k) and not (e.count == e.top_k == 0 or 1 <= e.top_k <= e.count):
        message = f"expected a number from 1 to the count {e.count}, got {e.top_k}"
        yield Finding("model-shape", ("model", "experts", "top_k"), message)
    growing = (m.full_attention_layers or 0) + (m.windowed_layers or 0)
    if m.layers is not None and growing > m.layers:
        message = f"full_attention_layers and windowed_layers are {growing}, more than the {m.layers} layers"
        yield Finding("model-shape", ("model", "layers"), message)
    if given(m.weights_gb, m.routed_expert_weights_gb) and m.routed_expert_weights_gb > m.weights_gb:
        message = f"{m.routed_expert_weights_gb:g} GB is more than all weights, {m.weights_gb:g} GB"
        yield Finding("model-shape", ("model", "routed_expert_weights_gb"), message)


def hbm_left(s: Any) -> Iterator[Finding]:
    """Something of a GPU's HBM is left beside the runtime."""
    h, e = s.hardware, s.engine
    if h is None or e is None or not given(h.hbm_gb, h.runtime_reserve_gb, e.hbm_utilization):
        return
    usable = h.hbm_gb * e.hbm_utilization
    if h.runtime_reserve_gb >= usable:
        message = f"{h.runtime_reserve_gb:g} GB leave nothing of the {usable:g} GB that the engine may use"
        yield Finding("no-hbm", ("hardware", "runtime_reserve_gb"), message)


def model_fits(s: Any) -> Iterator[Finding]:
    """With a roofline and listed configurations, at least one holds the weights."""
    e, h, m = s.engine, s.hardware, s.model
    if e is None or h is None or m is None or e.timing != "roofline" or not e.configs or not given(*e.configs):
        return
    gpus = [c.gpus for c in e.configs]
    weights = m.weights_gb
    if weights is None and m.params_b is not None and given(m.params_b.total, m.weight_bytes_per_param):
        weights = m.params_b.total * m.weight_bytes_per_param
    if not given(weights, h.hbm_gb, h.runtime_reserve_gb, e.hbm_utilization, *gpus):
        return
    per_gpu = h.hbm_gb * e.hbm_utilization - h.runtime_reserve_gb
    if 0 < per_gpu and max(gpus) * per_gpu <= weights:
        message = f"the weights, {weights:g} GB, fit in none: {max(gpus)} GPUs have {max(gpus) * per_gpu:g} GB for them"
        hint = f"{int(weights // per_gpu) + 1} GPUs and more hold them"
        yield Finding("model-does-not-fit", ("engine", "configs"), message, hint)


RULES: tuple[Rule, ...] = (
    shares_sum_to_one,
    reusable_within_prompt,
    unique_names,
    unique_choices,
    laws,
    tiers_fast_to_slow,
    engine_splits,
    model_attention,
    model_shape,
    hbm_left,
    model_fits,
)
