"""Sentences about a scenario and its plans: the headline, what two plans differ by, why nothing fits."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from planner.physics.corrected import corrected_backend
from planner.physics.system import System
from planner.plan import Conflict, Evaluation, Fix, Pool

if TYPE_CHECKING:
    from planner.diagnose import Diagnosis
    from planner.scenario import Scenario


def headline(system: System) -> str:
    """Model, hardware, load and promises in one line."""
    scenario = system.scenario
    prompt = sum(k.share * k.prompt for k in system.classes)
    output = sum(k.share * k.output for k in system.classes)
    model = scenario.model.title or scenario.model.name
    return (
        f"{model} on {scenario.hardware.name} · {system.rate:,.4g} req/s, {prompt:,.0f} in / {output:,.0f} out tokens"
        f" · TTFT p{100 * system.percentile:.3g} ≤ {scenario.slo.ttft_ms:,.0f} ms"
        f" · TPOT ≤ {scenario.slo.tpot_ms:,.6g} ms"
    )


def differences(first: Evaluation, other: Evaluation) -> tuple[str, ...]:
    """What ``other`` has that ``first`` has not, most structural first."""
    out: list[str] = []
    if first.decision.architecture != other.decision.architecture:
        out.append(other.decision.architecture)
    out += _pool_difference("prefill" if other.decode else "pool", first.prefill, other.prefill)
    if first.decode is not None and other.decode is not None:
        out += _pool_difference("decode", first.decode, other.decode)
    for a, b in zip(first.tiers[1:], other.tiers[1:], strict=True):
        if a.role != b.role:
            out.append(f"{b.name} {b.role}" if b.role != "unused" else f"no {b.name}")
        elif b.role != "unused" and abs(a.capacity_bytes - b.capacity_bytes) > 0.02 * max(a.capacity_bytes, 1.0):
            out.append(f"{b.name} {b.capacity_bytes / 1e12:,.3g} TB")
    return tuple(out)


def _pool_difference(name: str, a: Pool, b: Pool) -> list[str]:
    if (a.instances, a.parallelism) == (b.instances, b.parallelism) and a.batch == b.batch:
        return []
    batch = f" b{b.batch}" if a.batch != b.batch and b.batch and a.parallelism == b.parallelism else ""
    return [f"{name} {b.instances}×{b.gpus_per_instance} {b.parallelism}{batch}"]


def reasons(scenario: Scenario, found: Diagnosis) -> tuple[str, ...]:
    """Why no design keeps every promise and what would make it possible, in the scenario's keys."""
    slo, rate = scenario.slo, scenario.workload.requests_per_second
    out = [_conflict(scenario, c) for c in found.conflicts]
    if not out:
        out.append(
            f"no configurations, counts and roles carry {rate:,.6g} req/s within slo.ttft_ms {slo.ttft_ms:,.6g} and "
            f"slo.tpot_ms {slo.tpot_ms:,.6g}"
        )
    if any(c.code in ("ttft", "tpot") for c in found.conflicts):
        out += _times_told(scenario)
    out += [_fix(scenario, fix) for fix in found.fixes]
    if found.halted:
        out.append(f"stopped early ({found.halted}): other changes that make it possible were not looked for")
    elif not found.fixes:
        out.append("no change of promises, settings or tiers makes it possible: take other hardware or another model")
    return tuple(out)


def _times_told(scenario: Scenario) -> list[str]:
    """What lengthens the times that do not meet a promise, beyond the engine's kernels."""
    told = []
    if scenario.slo.confidence is not None:
        told.append(
            f"the times are the upper end at slo.confidence {scenario.slo.confidence:g}: a lower one, or none, plans "
            "with shorter times and is less sure"
        )
    if corrected_backend(scenario) is not None:
        told.append(
            "the times are corrected by measurements of running engines; engine.correction: none takes kernel times as "
            "packaged, without what the engine adds"
        )
    return told


def _conflict(scenario: Scenario, c: Conflict) -> str:
    place = f"{c.key}, {_place(scenario, c.line)}"
    if c.code == "memory":
        return f"{c.promise}: {c.limit:,.4g} {c.unit} needed, {c.best:,.4g} {c.unit} at most ({place})"
    others = {"ttft": "load and TPOT", "tpot": "load and TTFT", "load": "TTFT and TPOT"}[c.code]
    held = f"out of reach at any {others}" if c.alone else f"with {others} as promised"
    return f"{c.promise}: {c.best:,.10g} {c.unit} at best against {c.limit:,.10g} {c.unit} ({place}), {held}"


def _fix(scenario: Scenario, fix: Fix) -> str:
    parts = [f"{c.key}: {value_text(c.after)} instead of {value_text(c.before)}" for c in fix.changes]
    places = dict.fromkeys(_place(scenario, c.line) for c in fix.changes)
    verb = "makes it possible" if len(parts) == 1 else "together make it possible"
    return f"{' and '.join(parts)} {verb}, at ${fix.usd_per_hour:,.2f}/h ({', '.join(places)})"


def _place(scenario: Scenario, line: int | None) -> str:
    return "a default, not in the file" if line is None else f"{scenario.file}:{line}"


def value_text(value: object) -> str:
    """A setting's value as it is written into a scenario file.

    >>> value_text(1500.0), value_text(0.00052), value_text(("sync", "prefetch")), value_text(None)
    ('1500', '0.00052', '[sync, prefetch]', 'leaving it out')
    """
    if value is None:
        return "leaving it out"
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(v) for v in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k}: {value_text(v)}' for k, v in value.items())}}}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return format(Decimal(repr(value)).normalize(), "f")
    return str(value)
