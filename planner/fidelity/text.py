"""The backtest as a table for the terminal, and as plain data."""

from __future__ import annotations

from collections import Counter
from typing import Any

from planner.fidelity.backtest import Backtest, Errors, Group
from planner.report.format import ABSENT, MINUS, safe
from planner.report.grid import Column, grid, paragraph
from planner.scenario.catalog.corrections import summary

WHY = {
    ("trtllm", "deepseek-v3", "disagg"): "rows with and without speculative decoding (TPOT apart by up to 2 times) are "
    "not told apart in the source, and most do not say how many workers they had",
    ("trtllm", "deepseek-v3", "agg"): "rows with and without speculative decoding are not told apart in the source",
    ("sglang", "deepseek-v3", "disagg"): "rows with and without speculative decoding are not told apart; near the "
    "saturation of the one prefill worker, the wait multiplies any error of its rate",
    (
        "sglang",
        "qwen3.5-397b-a17b-fp8",
        "agg",
    ): "one configuration and shape only: cross-validated, nothing of the model is in the fit",
    ("vllm", "llama-3.1-8b-fp8", "agg"): "the measured prefill rate comes close to the GPU's peak: prompts were "
    "partly cached",
    ("vllm", "qwen3-235b-a22b-fp8", "agg"): "a step of 35 to 58 ms whatever the batch: launched kernel by kernel, "
    "which no factor on kernel times describes",
    ("sglang", "llama-3.1-8b-fp8", "agg"): "100 output tokens at saturation: TTFT is the wait in a full queue",
    (
        "sglang",
        "glm-5",
        "agg",
    ): "at 64 sequences of 9,216 tokens the KV memory is full: 17 s of waiting for it",
}
TARGETS = (("TPOT", 0.15), ("TTFT", 0.25))


def to_text(found: Backtest) -> str:
    """The whole backtest within the page."""
    lines = ["Backtest: predicted against measured, mean TTFT and TPOT of a closed loop", ""]
    lines += _head(found)
    lines += ["", *_table(found)]
    lines += ["", *_verdict(found)]
    if found.skipped:
        lines.append("")
        for reason, count in left_out(found).items():
            lines += paragraph(f"{count} row{'s' if count > 1 else ''} left out: {reason}", hang=2)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def left_out(found: Backtest) -> dict[str, int]:
    """Why rows could not be predicted, and how many."""
    return dict(Counter(safe(s.reason, 200) for s in found.skipped).most_common())


def _head(found: Backtest) -> list[str]:
    total = found.total
    if total is None:
        return ["  no row could be predicted"]
    columns = [Column("", wrap=True)]
    columns += [Column(t, "right") for t in ("rows", "TPOT MAPE", "bias", "TTFT MAPE", "bias", "rank")]
    rows = [
        ["without correction", str(total.rows), *_pair(total.plain_tpot, total.plain_ttft), ""],
        [_how(found), str(total.rows), *_pair(total.tpot, total.ttft), f"{_rank(total.tpot)} / {_rank(total.ttft)}"],
    ]
    wider = (("unseen", "configuration never seen at any shape"), ("unmeasured", "model never seen on the engine"))
    for name, what in wider if found.packaged else ():
        hidden = summary(name)
        if not hidden:
            continue
        cells = (f"{hidden['tpot_mape_pct']:.1f} %", _signed(hidden["tpot_bias_pct"] / 100))
        more = (f"{hidden['ttft_mape_pct']:.1f} %", _signed(hidden["ttft_bias_pct"] / 100))
        rows.append([what, f"{hidden['rows']:.0f}", *cells, *more, ""])
    planned = "as plans apply it" + (" (rows of the fit included)" if found.cross_validated else "")
    rows.append([planned, str(total.rows), *_pair(total.planned_tpot, total.planned_ttft), ""])
    return grid(columns, rows).lines


def _how(found: Backtest) -> str:
    """Which predictions the errors are of."""
    if not found.cross_validated:
        return "with the measured version's correction"
    whole = all(o.validated is not None for o in found.outcomes)
    return "cross-validated by whole configurations and shapes" + ("" if whole else ", own rows corrected")


def _pair(tpot: Errors, ttft: Errors) -> tuple[str, str, str, str]:
    return f"{100 * tpot.mape:.1f} %", _signed(tpot.bias), f"{100 * ttft.mape:.1f} %", _signed(ttft.bias)


def _table(found: Backtest) -> list[str]:
    """One table per phase."""
    lines: list[str] = []
    for phase, pick in (("TPOT", lambda g: (g.tpot, g.plain_tpot)), ("TTFT", lambda g: (g.ttft, g.plain_ttft))):
        columns = [Column(phase), Column("model"), Column("mode")]
        columns += [Column(t, "right") for t in ("rows", "MAPE", "median", "bias", "rank", "without correction")]
        rows = [[g.engine, g.model, g.mode, str(g.rows), *_cells(*pick(g))] for g in found.groups]
        lines += [*grid(columns, rows).lines, ""]
    return lines[:-1]


def _cells(with_it: Errors, without: Errors) -> list[str]:
    shares = (f"{100 * with_it.mape:.1f} %", f"{100 * with_it.median:.1f} %", _signed(with_it.bias))
    return [*shares, _rank(with_it), f"{100 * without.mape:.1f} %"]


def _verdict(found: Backtest) -> list[str]:
    """Which groups miss the targets, and why."""
    lines = paragraph(
        "Errors relative to the measurement; without correction: its MAPE; rank: Spearman's correlation between "
        "predicted and measured as concurrency rises, median over the series."
    )
    lines.append("")
    for g in found.groups:
        parts = [*_missed(g, found.packaged), *(() if found.packaged else g.bases)]
        if g.worse:
            parts.append(f"{' and '.join(g.worse)} worse than without correction")
        for part in parts:
            lines += paragraph(f"- {g.engine} {g.model} {g.mode}: {part}", hang=2)
    return lines


def _missed(g: Group, packaged: bool) -> list[str]:
    """The targets that a group misses; why is known of the packaged rows only."""
    missed = [(n, most, e) for (n, most), e in zip(TARGETS, (g.tpot, g.ttft), strict=True) if e.mape > most]
    if not missed:
        return []
    beyond = " and ".join(f"{n} beyond {100 * most:.0f} %" for n, most, _ in missed)
    why = WHY.get((g.engine, g.model, g.mode)) if packaged else None
    return [f"{beyond}: {why or ', '.join(f'{n} {_signed(e.bias)} on average' for n, _, e in missed)}"]


def _rank(errors: Errors) -> str:
    return ABSENT if errors.rank is None else f"{errors.rank:.2f}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", MINUS)


def to_data(found: Backtest) -> dict[str, Any]:
    """Plain data: totals, groups, every row."""
    rows = [
        {
            "id": o.row.id, "engine": o.row.engine, "version": o.row.version, "model": o.model, "mode": o.row.mode,
            "configuration": o.row.prefill.name, "isl": o.row.isl, "osl": o.row.osl, "concurrency": o.row.concurrency,
            "measured_ttft_ms": 1e3 * o.row.ttft_s, "measured_tpot_ms": 1e3 * o.row.tpot_s,
            "predicted_ttft_ms": 1e3 * o.row.ttft_s * o.best.ttft,
            "predicted_tpot_ms": 1e3 * o.row.tpot_s * o.best.tpot,
            "planned_ttft_ms": 1e3 * o.row.ttft_s * o.planned.ttft,
            "planned_tpot_ms": 1e3 * o.row.tpot_s * o.planned.tpot,
            "uncorrected_ttft_ms": 1e3 * o.row.ttft_s * o.plain.ttft,
            "uncorrected_tpot_ms": 1e3 * o.row.tpot_s * o.plain.tpot,
        }
        for o in found.outcomes
    ]  # fmt: skip
    groups = [_group_data(g) for g in found.groups]
    return {
        "cross_validated": found.cross_validated,
        "packaged": found.packaged,
        "total": _group_data(found.total) if found.total else None,
        "groups": groups,
        "rows": rows,
        "skipped": [{"id": s.row.id, "reason": s.reason} for s in found.skipped],
    }


def _group_data(g: Group) -> dict[str, Any]:
    def errors(e: Errors) -> dict[str, float | None]:
        return {"mape": e.mape, "median": e.median, "bias": e.bias, "rank_correlation": e.rank}

    return {
        "engine": g.engine, "model": g.model, "mode": g.mode, "versions": list(g.versions), "rows": g.rows,
        "tpot": errors(g.tpot), "ttft": errors(g.ttft), "uncorrected_tpot": errors(g.plain_tpot),
        "uncorrected_ttft": errors(g.plain_ttft), "planned_tpot": errors(g.planned_tpot),
        "planned_ttft": errors(g.planned_ttft), "basis": list(g.bases), "worse_than_uncorrected": list(g.worse),
    }  # fmt: skip
