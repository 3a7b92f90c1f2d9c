"""Published results beside ours: one table for the terminal with what stands behind each line, and plain data."""

from __future__ import annotations

from typing import Any

from planner.fidelity.published import Result
from planner.report.format import ABSENT, MINUS
from planner.report.grid import Column, grid, paragraph

HEAD = (
    "Published results and ours for the same setup: ours with the correction that plans use, and without any; "
    "rooflines where there is no table. A ceiling is a vendor's tuned result that no engine's prediction may exceed"
)


def to_text(found: list[Result]) -> str:
    """One table, then what stands behind each line."""
    columns = [Column("#"), Column("setup", wrap=True), Column("unit")]
    columns += [Column(t, "right") for t in ("published", "ours", "uncorrected", "off")]
    rows = [[r.id, r.what, r.unit, *(_number(v) for v in (r.published, r.ours, r.plain)), _off(r)] for r in found]
    lines = [*paragraph(HEAD, indent=0), "", *grid(columns, rows).lines, ""]
    lines += _reasons(found)
    lines += ["", *_bases(found)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _reasons(found: list[Result]) -> list[str]:
    """Why ours differ, each reason once, under the setups it is of."""
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for r in found:
        reasons.setdefault((r.id, r.why, r.source), []).append(r.what)
    lines: list[str] = []
    for (tag, why, source), whats in reasons.items():
        alone = sum(1 for key in reasons if key[0] == tag) == 1
        more = f" and {len(whats) - 1} more" if len(whats) > 1 else ""
        lines += paragraph(f"- {tag if alone else f'{tag}, {whats[0]}{more}'}: {why} ({source})", hang=2)
    return lines


def _bases(found: list[Result]) -> list[str]:
    """What our times rest on, and where."""
    bases: dict[str, list[str]] = {}
    for r in found:
        if r.basis and r.id not in bases.setdefault(r.basis, []):
            bases[r.basis].append(r.id)
    lines = paragraph("What ours rest on:")
    for basis, tags in bases.items():
        lines += paragraph(f"- {', '.join(tags)}: {basis}", hang=2)
    return lines


def _number(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def _off(result: Result) -> str:
    if result.ours is None:
        return ABSENT
    off = f"{100 * result.deviation:+.0f} %".replace("-", MINUS)
    if not result.ceiling:
        return off
    return f"EXCEEDS {off}" if result.exceeds else f"below {off}"


def to_data(found: list[Result]) -> dict[str, Any]:
    """Plain data."""
    return {
        "published": [
            {
                "id": r.id, "setup": r.what, "unit": r.unit, "published": r.published, "ours": r.ours,
                "uncorrected": r.plain, "ceiling": r.ceiling, "exceeds": r.exceeds, "why": r.why, "basis": r.basis,
                "source": r.source,
            }
            for r in found
        ]
    }  # fmt: skip
