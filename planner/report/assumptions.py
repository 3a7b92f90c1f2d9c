"""Every value that the answer rests on, with unit, source, date and confidence; what was proven, and with what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from planner.plan import PlanSet
from planner.report.format import percent, safe, usd
from planner.report.provenance import shown
from planner.report.tabular import Table
from planner.scenario import Scenario
from planner.scenario.catalog import provenance
from planner.scenario.introspect import field_at, unit_of
from planner.scenario.yamltree import Path, dotted

_CITED = re.compile(r"^(?P<source>.*), (?P<date>\d{4}(?:-\d\d){0,2}), confidence (?P<confidence>[a-z]+)$", re.DOTALL)
VALUE_CHARACTERS = 160
LABELS = ("title", "name", "description")
FITTED = "engine.roofline."


def values(scenario: Scenario, found: PlanSet, text: str = "") -> Table:
    """Every value of the scenario: its meaning, its unit, and whether the file gave it, a catalog or a default."""
    defaults, cited = dict(found.defaults), _citations(scenario, found, text)
    rows, cited_so_far = [], references(scenario, found, text)
    for path, value in leaves(scenario, ()):
        key, field = dotted(path), field_at(path)
        source, date, confidence = cited.get(key, ("", "", ""))
        from_catalog = source or (text and not _written(key, text))
        kind = "defaulted" if key in defaults else "catalog" if from_catalog else "given"
        meaning = re.sub(r" \[[^]]*\]$", "", field.description or "") if field else ""
        number = f"[{cited_so_far.index(source) + 1}]" if source else ""
        origin = number or _uncited(path, value, kind, field)
        rows.append((key, value_text(value), unit_of(field), meaning, kind, origin, date, confidence))
    titles = ("key", "value", "unit", "meaning", "how", "source", "date", "confidence")
    return Table("Every value used", titles, tuple(rows), code=frozenset({0}), whole=frozenset({6}))


def _uncited(path: Path, value: Any, kind: str, field: FieldInfo | None) -> str:
    """Where a value is from that nobody is cited for; a label is no assumption."""
    if kind == "given":
        return "the file"
    if path[-1] in LABELS:
        return ""
    return "schema default" if field is not None and field.default == value else "derived from other values"


def _citations(scenario: Scenario, found: PlanSet, text: str) -> dict[str, tuple[str, str, str]]:
    """Source, date and confidence by key: as the plan file has them, else as the catalog has them of the same key.

    A value that was picked from several (a peak per precision) has their source; a fit to the packaged tables the
    date and confidence of the fit.
    """
    stored = {key: _cited(said) for key, said in found.sources}
    catalogued = {row.path: (row.source, row.date, row.confidence) for row in provenance("defaults", "defaults")}
    out = {}
    for path, _ in leaves(scenario, ()):
        key = dotted(path)
        parts = {cited for other, cited in stored.items() if other.startswith(f"{key}.")}
        if len(parts) == 1:
            out[key] = parts.pop()
        elif key in stored and stored[key][1]:
            out[key] = stored[key]
        elif key.startswith(FITTED) and (key in stored or (text and not _written(key, text))):
            out[key] = catalogued.get(key, stored.get(key, ("", "", "")))
        elif key in stored:
            out[key] = stored[key]
    return out


def _written(key: str, text: str) -> bool:
    """True where the scenario file has a key of that name: what it has not comes with a catalog entry.

    >>> _written("slo.ttft_ms", "slo: {ttft_ms: 700}"), _written("model.layers", "model: mine")
    (True, False)
    """
    name = key.rpartition(".")[2].partition("[")[0]
    return re.search(rf"(?<![\w-]){re.escape(name)}[\"']?\s*:", text) is not None


def references(scenario: Scenario, found: PlanSet, text: str = "") -> list[str]:
    """The sources, each once, in the order of the values."""
    return list(dict.fromkeys(source for source, _, _ in _citations(scenario, found, text).values() if source))


def _cited(said: str) -> tuple[str, str, str]:
    """Source, date and confidence of a citation.

    >>> _cited("model card, 2026-08-21, confidence high"), _cited("planner's choice")
    (('model card', '2026-08-21', 'high'), ("planner's choice", '', ''))
    """
    match = _CITED.match(said)
    return (match["source"], match["date"], match["confidence"]) if match else (said, "", "")


def leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Key path and value of everything that is set."""
    if isinstance(value, BaseModel):
        for key, inner in value:
            yield from leaves(inner, (*path, key))
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    elif value is not None and value != "":
        yield path, value


def value_text(value: Any) -> str:
    """A value as a scenario file would have it, long lists cut."""
    said = safe(value, 400) if isinstance(value, str) else shown(value)
    if isinstance(value, str) or len(said) <= VALUE_CHARACTERS:
        return said
    return f"{said[: VALUE_CHARACTERS - 1]}… ({len(value)} entries)"


def facts(found: PlanSet) -> Table:
    """What was proven, with what, from which file."""
    rows: list[tuple[str, str]] = [("status", found.status)]
    proof = found.certificate
    if proof is not None:
        rows += [
            ("cost of the first plan", f"{usd(proof.usd_per_hour, 4)}/h"),
            ("lower bound of any design", f"{usd(proof.usd_per_hour_lower_bound, 4)}/h"),
            ("gap, and its target", f"{percent(proof.relative_gap, 4)}, {percent(proof.target_gap, 4)}"),
            (
                "solver",
                f"{safe(proof.solver)}, {proof.rounds} round{'' if proof.rounds == 1 else 's'}, {proof.seconds:.1f} s",
            ),
            ("verified by", safe("; ".join(proof.verified_by)) or "not asked for"),
        ]
    rows += [("scenario file", safe(found.scenario_file)), ("its SHA-256", safe(found.scenario_sha256))]
    rows += [(safe(name), safe(version)) for name, version in found.versions]
    return Table("Proof, versions and hashes", ("", "value"), tuple(rows))
