"""The part of a scenario that a trace decides, as YAML, and the scenario that it makes with a model and hardware."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import yaml

from planner.errors import Diagnostic, InputError, Span
from planner.trace.study import TraceStudy

DEFAULT_SLO = {"ttft_ms": 1500, "tpot_ms": 60, "percentile": 0.95}
MARK = "# A workload measured from a trace"
PRECISION = 0.8  # useful part of what is prefetched; no trace tells it


def fragment_text(study: TraceStudy) -> str:
    """``workload:`` as measured, with its source; a mapping to merge into a scenario."""
    lines = [
        f"{MARK} by `planner fit`: {', '.join(Path(f).name for f in study.files)}",
        f"# {study.requests:,} requests over {study.arrivals.span_s:,.0f} s, {study.input_tokens:,} prompt tokens in "
        f"{_distinct(study)} distinct blocks of {study.block_tokens}.",
        *_reuse_notes(study),
        "workload:",
        f"  requests_per_second: {study.arrivals.requests_per_second:.6g}",
        f"  arrival_cv: {study.arrivals.arrival_cv:.4g}   # from {study.arrivals.arrival_cv_source}",
        "  classes:",
        *_classes(study),
        "  reuse:",
        "    law: measured",
        f"    at_requests_per_second: {study.arrivals.requests_per_second:.6g}   # the curve belongs to this load",
        "    points_tokens:",
        *[f"      - [{capacity:.10g}, {rate:.6f}]" for capacity, rate in scenario_points(study)],
        *_prefetch(study),
    ]
    return "\n".join(lines) + "\n"


def _prefetch(study: TraceStudy) -> list[str]:
    """What can be foreseen; a sample drops the short gaps between requests that share a prefix, so it cannot tell."""
    if study.sample_rate < 1.0:
        return ["  # prefetch: not measured; a sample does not keep the gaps between uses. Fit the whole trace for it."]
    return [
        f"  # {study.gaps.coverage_at(study.lead_s):.0%} of the reuse comes at least {study.lead_s:g} s after the last "
        "use: an upper bound of what can be foreseen.",
        f"  # precision: {PRECISION:g} is assumed; a trace does not tell how often a prefetch is in vain.",
        f"  prefetch: {{coverage: {study.gaps.coverage_at(study.lead_s):.4g}, precision: {PRECISION:g}, "
        f"lead_s: {study.lead_s:g}}}",
    ]


def _distinct(study: TraceStudy) -> str:
    if study.sample_rate >= 1.0:
        return f"{study.unique_blocks:,}"
    return f"about {study.unique_blocks / study.sample_rate:,.0f}"


def scenario_points(study: TraceStudy) -> list[tuple[float, float]]:
    """The measured table in a scenario's terms: the probability that a reusable prefix is resident.

    Token hit rates count all prompt tokens, a scenario's only the reusable ones; the ratio of the ceilings converts.
    """
    kinds = study.classes
    factor = kinds.hit_probability / kinds.token_ceiling if kinds.token_ceiling > 0 else 0.0
    table = next(fit for fit in study.laws if fit.law == "measured")
    return [(capacity, min(1.0, rate * factor)) for capacity, rate in table.points_tokens]


def _reuse_notes(study: TraceStudy) -> list[str]:
    table = study.laws[0]
    kinds = study.classes
    return [
        f"# Unlimited cache: {study.curve.ceiling:.4%} of the prompt tokens hit. In a scenario's terms: the",
        f"# reusable tokens are resident with probability {kinds.hit_probability:.4f}; both give the same hit tokens.",
        *_accuracy(study, table.largest_residual_points),
        *[line for note in study.stationarity.warnings for line in _wrapped(note)],
    ]


def _accuracy(study: TraceStudy, residual_points: float) -> list[str]:
    """How near the table is to the truth: to the exact curve, or to a sample's and that sample's own error."""
    if study.sample_rate >= 1.0:
        return [f"# The table is within {residual_points:.2f} points of the exact curve."]
    worst = 100 * max(study.error_bar, default=0.0)
    return _wrapped(
        f"estimated from a sample of {study.sample_rate:.3g} of the prefixes: the table is within "
        f"{residual_points:.2f} points of the sample's curve, whose own standard error is up to {worst:.2f} points."
    )


def _wrapped(note: str) -> list[str]:
    return textwrap.wrap(f"Note: {note}", 112, initial_indent="# ", subsequent_indent="#   ")


def _classes(study: TraceStudy) -> list[str]:
    kinds = study.classes.classes
    shares = [round(kind.share, 9) for kind in kinds]
    shares[-1] = round(1.0 - sum(shares[:-1]), 9)
    return [
        f"    - {{name: {kind.name}, share: {share:.9g}, prompt_tokens: {max(1, round(kind.prompt_tokens))}, "
        f"reusable_tokens: {min(round(kind.reusable_tokens), round(kind.prompt_tokens))}, "
        f"output_tokens: {max(1, round(kind.output_tokens))}, prompt_cv: {kind.prompt_cv:.4g}}}"
        for kind, share in zip(kinds, shares, strict=True)
    ]


def scenario_text(
    fragment: Path, name: str, model: str, hardware: str, slo: dict[str, float], load: float | None = None
) -> str:
    """A full scenario: a head with names, the fragment as it is, and promises; tiers and prices are the catalog's.

    Args:
        fragment: the file that ``planner fit`` wrote.
        name: the scenario's.
        model: a catalog name.
        hardware: a catalog name.
        slo: promises; what is missing gets the default.
        load: requests per second to plan for; the trace's own by default. The curve stays at the load it was seen at.

    Raises:
        InputError: the fragment is not a mapping with a ``workload``, or holds keys that the head sets.
    """
    text = _fragment(fragment, {"name", "model", "hardware"})
    promises = {**DEFAULT_SLO, **slo}
    head = [
        "# yaml-language-server: $schema=schema.json",
        "#",
        f"# {name}: built by `planner init` from {fragment.name}.",
        f"name: {yaml_scalar(name)}",
        "",
        f"model: {yaml_scalar(model)}",
        f"hardware: {yaml_scalar(hardware)}",
        "",
    ]
    if load is not None:
        text = re.sub(r"(?m)^(  requests_per_second: )\S+", rf"\g<1>{load:.10g}", text, count=1)
    given = yaml.safe_load(text)
    tail = []
    if "slo" not in given:
        tail += ["", "slo: {" + ", ".join(f"{key}: {value:g}" for key, value in promises.items()) + "}"]
    return "\n".join([*head, text.rstrip(), *tail]) + "\n"


def _fragment(path: Path, taken: set[str]) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(Diagnostic("unreadable-file", f"cannot read {path}: {reason}")) from error
    try:
        data: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        span = Span(str(path), mark.line + 1, mark.column + 1) if mark else Span(str(path), 1, 1)
        raise InputError(Diagnostic("yaml", f"not YAML: {getattr(error, 'problem', error)}", span)) from error
    if not isinstance(data, dict) or "workload" not in data:
        hint = "planner fit TRACE -o FRAGMENT.yaml writes one"
        raise InputError(Diagnostic("no-workload", "the fragment has no workload", Span(str(path), 1, 1), hint=hint))
    if clash := sorted(taken & data.keys()):
        message = f"the fragment sets {', '.join(clash)}, which the command sets too"
        raise InputError(Diagnostic("fragment-clash", message, Span(str(path), 1, 1)))
    return text


def yaml_scalar(value: str) -> str:
    """A string as a YAML scalar, quoted where it needs to be.

    >>> yaml_scalar("mine"), yaml_scalar("no")
    ('mine', "'no'")
    """
    return yaml.safe_dump(value, width=10_000, allow_unicode=True).removesuffix("\n...\n").strip()
