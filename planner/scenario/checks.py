"""Rules between values: what must hold for a scenario to make sense, and what is legal but improbable.

A rule reads attributes and skips what is None, so it works on a valid scenario and on the valid parts of a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planner.errors import Diagnostic
from planner.scenario.yamltree import Document, Path, dotted

Finding = tuple[str, Path, str, str]  # code, path, message, hint
Rule = Callable[[Any], Iterator[Finding]]


class Usable:
    """The valid parts of a wrong scenario: attribute access that gives None for what is missing or wrong."""

    def __init__(self, values: Any, path: Path, wrong: set[Path]) -> None:
        """Wrap a mapping at a path; ``wrong`` are the paths of invalid values."""
        self._values, self._path, self._wrong = values, path, wrong

    def __getattr__(self, name: str) -> Any:
        """The value of a key, None where it is missing or wrong."""
        return self._get(self._values.get(name), (*self._path, name))

    def _get(self, value: Any, path: Path) -> Any:
        if path in self._wrong:
            return None
        if isinstance(value, dict):
            return Usable(value, path, self._wrong)
        if isinstance(value, tuple):
            return tuple(self._get(v, (*path, i)) for i, v in enumerate(value))
        return value


def conflicts(scenario: Any, document: Document) -> Iterator[Diagnostic]:
    """Every rule that a scenario breaks."""
    for rule in RULES:
        for code, path, message, hint in rule(scenario):
            yield Diagnostic(code, message, _span(document, path), dotted(path), hint)


def _span(document: Document, path: Path) -> Any:
    for end in range(len(path), 0, -1):
        span = document.span(path[:end])
        if span:
            return span
    return None


def _all(*values: Any) -> bool:
    return all(v is not None for v in values)


def _indexed(items: Any) -> Iterator[tuple[int, Any]]:
    for index, item in enumerate(items or ()):
        if item is not None:
            yield index, item


def shares_sum_to_one(s: Any) -> Iterator[Finding]:
    """The classes' shares are the whole load."""
    classes = s.workload and s.workload.classes
    if not classes or not _all(*classes):
        return
    shares = [c.share for c in classes]
    if not _all(*shares) or abs(sum(shares) - 1.0) <= 1e-6:
        return
    total = sum(shares)
    hint = f"fractions, not percent: {', '.join(f'{x / 100:g}' for x in shares)}" if abs(total - 100) < 1e-3 else ""
    yield "shares-sum", ("workload", "classes"), f"the shares of workload.classes sum to {total:.6g}, not 1", hint


def reusable_within_prompt(s: Any) -> Iterator[Finding]:
    """A prompt cannot repeat more tokens than it has; it needs some new ones."""
    for i, c in _indexed(s.workload and s.workload.classes):
        if _all(c.reusable_tokens, c.prompt_tokens) and c.reusable_tokens > c.prompt_tokens:
            path: Path = ("workload", "classes", i, "reusable_tokens")
            message = (
                f"{dotted(path)}: {c.reusable_tokens} reusable tokens are more than the {c.prompt_tokens} of the prompt"
            )
            yield "reusable-tokens", path, message, ""


def unique_names(s: Any) -> Iterator[Finding]:
    """Names tell classes and tiers apart."""
    groups = (("workload", "classes"), s.workload and s.workload.classes), (("tiers",), s.tiers)
    for path, items in groups:
        seen: dict[str, int] = {"hbm": -1, "miss": -1} if path == ("tiers",) else {}
        for i, item in _indexed(items):
            if item.name is None:
                continue
            if item.name in seen:
                first = seen[item.name]
                message = f"{dotted((*path, i, 'name'))}: {item.name!r} is "
                message += f"the name of {dotted((*path, first))} too" if first >= 0 else "reserved"
                yield "duplicate-name", (*path, i, "name"), message, ""
            else:
                seen[item.name] = i


def laws(s: Any) -> Iterator[Finding]:
    """Every reuse law is complete and consistent."""
    workload = s.workload
    if workload is None:
        return
    if workload.reuse is not None:
        yield from _law(workload.reuse, ("workload", "reuse"))
    for i, c in _indexed(workload.classes):
        if c.reuse is not None:
            yield from _law(c.reuse, ("workload", "classes", i, "reuse"))


LAW_KEYS = {
    "power": ("beta", "hit_rate", "at_gb", "at_tokens", "ceiling"),
    "hill": ("floor", "ceiling", "half_gb", "half_tokens", "slope"),
    "measured": ("points_gb", "points_tokens"),
}
CAPACITY_KEYS = {
    "power": ("at_gb", "at_tokens"),
    "hill": ("half_gb", "half_tokens"),
    "measured": ("points_gb", "points_tokens"),
}


def _law(law: Any, path: Path) -> Iterator[Finding]:
    if law.law is None:
        return
    own = LAW_KEYS[law.law]
    for name in {k for keys in LAW_KEYS.values() for k in keys} - set(own):
        if getattr(law, name) is not None:
            yield (
                "law-key",
                (*path, name),
                f"{dotted((*path, name))}: not a key of the {law.law} law",
                f"it has {', '.join(own)}",
            )
    capacities = CAPACITY_KEYS[law.law]
    given = [k for k in capacities if getattr(law, k) is not None]
    if len(given) != 1:
        message = f"{dotted(path)}: give exactly one of {capacities[0]} and {capacities[1]}"
        yield "law-capacity", (*path, given[1]) if given else path, message, ""
    yield from {"power": _power, "hill": _hill, "measured": _measured}[law.law](law, path)


def _required(law: Any, path: Path, names: tuple[str, ...]) -> Iterator[Finding]:
    for name in names:
        if getattr(law, name) is None:
            yield "missing-key", path, f"{dotted(path)}: the {law.law} law needs {name}", ""


def _between(law: Any, path: Path, name: str, *, zero: bool = False) -> Iterator[Finding]:
    """A fraction above 0 (or from 0) and at most 1."""
    value = getattr(law, name)
    if value is None or (0 <= value <= 1 and (zero or value > 0)):
        return
    hint = f"a fraction, not percent: write {value / 100:g}" if 1 < value <= 100 else ""
    kind = "from 0 to 1" if zero else "above 0 and at most 1"
    yield "out-of-range", (*path, name), f"{dotted((*path, name))}: expected a fraction {kind}, got {value:g}", hint


def _power(law: Any, path: Path) -> Iterator[Finding]:
    yield from _required(law, path, ("beta", "hit_rate", "ceiling"))
    yield from _between(law, path, "hit_rate")
    yield from _between(law, path, "ceiling")
    if law.beta is not None and not 0 < law.beta < 1:
        message = f"{dotted((*path, 'beta'))}: expected a number between 0 and 1, both excluded, got {law.beta:g}"
        yield "out-of-range", (*path, "beta"), message, "use a measured curve where reuse does not follow a power law"
    if _all(law.ceiling, law.hit_rate) and law.ceiling < law.hit_rate <= 1:
        message = f"{dotted((*path, 'ceiling'))}: {law.ceiling:g} is below the hit_rate {law.hit_rate:g}"
        yield "ceiling", (*path, "ceiling"), message, "the ceiling is the highest hit rate that the curve reaches"


def _hill(law: Any, path: Path) -> Iterator[Finding]:
    yield from _required(law, path, ("floor", "ceiling", "slope"))
    yield from _between(law, path, "floor", zero=True)
    yield from _between(law, path, "ceiling")
    if _all(law.ceiling, law.floor) and law.ceiling <= law.floor <= 1:
        message = f"{dotted((*path, 'ceiling'))}: {law.ceiling:g} is not above the floor {law.floor:g}"
        yield "ceiling", (*path, "ceiling"), message, ""


def _measured(law: Any, path: Path) -> Iterator[Finding]:
    for name in ("points_gb", "points_tokens"):
        points = getattr(law, name)
        if points is None or not all(p is not None and _all(*p) and len(p) == 2 for p in points):
            continue
        if not points:
            yield "wrong-length", (*path, name), f"{dotted((*path, name))}: needs at least one point", ""
        last = (0.0, 0.0)
        for i, (capacity, hit_rate) in enumerate(points):
            here = (*path, name, i)
            if not 0 <= hit_rate <= 1:
                hint = f"a fraction, not percent: write {hit_rate / 100:g}" if 1 < hit_rate <= 100 else ""
                yield (
                    "out-of-range",
                    (*here, 1),
                    f"{dotted(here)}: expected a hit rate from 0 to 1, got {hit_rate:g}",
                    hint,
                )
            elif capacity <= last[0] and not (i == 0 and capacity == 0 == hit_rate):
                yield (
                    "points-order",
                    here,
                    f"{dotted(here)}: capacity {capacity:g} is not above the one before, {last[0]:g}",
                    "",
                )
            elif hit_rate < last[1]:
                yield (
                    "points-order",
                    here,
                    f"{dotted(here)}: hit rate {hit_rate:g} is below the one before, {last[1]:g}",
                    "",
                )
            last = (max(capacity, last[0]), hit_rate)


def percentile(s: Any) -> Iterator[Finding]:
    """A percentile is a fraction of at least one half."""
    value = s.slo and s.slo.percentile
    if value is not None and not 0.5 <= value < 1:
        hint = f"a fraction, not percent: write {value / 100:g}" if 50 <= value < 100 else ""
        message = f"slo.percentile: expected a fraction of at least 0.5 and below 1, got {value:g}"
        yield "out-of-range", ("slo", "percentile"), message, hint


def tiers_fast_to_slow(s: Any) -> Iterator[Finding]:
    """Each tier is slower than the one before it: less bandwidth per GPU or more latency."""
    before = None
    for i, tier in _indexed(s.tiers):
        if before is not None and _all(
            tier.gb_per_s_per_gpu, tier.latency_ms, before.gb_per_s_per_gpu, before.latency_ms
        ):
            faster = tier.gb_per_s_per_gpu > before.gb_per_s_per_gpu and tier.latency_ms <= before.latency_ms
            faster |= tier.gb_per_s_per_gpu >= before.gb_per_s_per_gpu and tier.latency_ms < before.latency_ms
            if faster:
                message = f"tiers[{i}] {tier.name!r} is faster than {before.name!r} before it"
                yield "tier-order", ("tiers", i), message, "list tiers fast to slow"
        before = tier


def model_shape(s: Any) -> Iterator[Finding]:
    """The model's numbers fit each other."""
    m = s.model
    if m is None:
        return
    a, p, e = m.attention, m.params_b, m.experts
    if a is not None and a.kind is not None:
        needed = ("kv_heads", "head_dim") if a.kind == "gqa" else ("kv_lora_rank", "rope_dim")
        for name in needed:
            if getattr(a, name) is None:
                yield "missing-key", ("model", "attention"), f"model.attention: {a.kind} needs {name}", ""
        if a.kind == "gqa" and _all(a.kv_heads, a.q_heads) and a.q_heads % a.kv_heads:
            message = f"model.attention.kv_heads: {a.q_heads} query heads do not divide by {a.kv_heads} KV heads"
            yield "model-shape", ("model", "attention", "kv_heads"), message, ""
    if p is not None:
        for name in ("active", "routed_experts"):
            if _all(p.total, getattr(p, name)) and getattr(p, name) > p.total:
                message = f"model.params_b.{name}: {getattr(p, name):g} billion is more than the total {p.total:g}"
                yield "model-shape", ("model", "params_b", name), message, ""
    if e is not None and _all(e.count, e.top_k) and (e.top_k > e.count or (e.count > 0 and e.top_k == 0)):
        message = f"model.experts.top_k: expected from 1 to the count {e.count}, got {e.top_k}"
        yield "model-shape", ("model", "experts", "top_k"), message, ""
    if _all(m.layers, m.full_attention_layers) and m.full_attention_layers > m.layers:
        message = f"model.full_attention_layers: {m.full_attention_layers} is more than the {m.layers} layers"
        yield "model-shape", ("model", "full_attention_layers"), message, ""


RULES: tuple[Rule, ...] = (
    shares_sum_to_one,
    reusable_within_prompt,
    unique_names,
    laws,
    percentile,
    tiers_fast_to_slow,
    model_shape,
)


def improbable(scenario: Any, document: Document) -> Iterator[Diagnostic]:
    """Values that are legal and outside what is usual."""
    return iter(())
