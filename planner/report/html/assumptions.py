"""Every value that the answer rests on, with unit, source, date and confidence; the model, the file, the versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from planner.milp.rules import RULES
from planner.plan import PlanSet
from planner.report.format import percent, safe, usd
from planner.report.formulation import rule_rows
from planner.report.html.parts import Table, details, table_html, text
from planner.report.provenance import shown
from planner.report.reread import StoredSet
from planner.scenario import Scenario
from planner.scenario.introspect import field_at, unit_of
from planner.scenario.yamltree import Path, dotted

_CITED = re.compile(r"^(?P<source>.*), (?P<date>\d{4}(?:-\d\d){0,2}), confidence (?P<confidence>[a-z]+)$", re.DOTALL)
VALUE_CHARACTERS = 160


def assumptions(stored: StoredSet) -> str:
    """The last part of the page, each block to open."""
    found = stored.plan_set
    parts = [_notes(found)]
    if stored.scenario is not None:
        table = values(stored.scenario, found)
        kinds = [row[4] for row in table.rows]
        said = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        parts.append(details(f"Every value used ({said})", table_html(table), "values"))
    parts.append(details(f"The optimisation model ({len(RULES)} rules)", table_html(formulation()), "model"))
    if stored.text:
        parts.append(details("The scenario file", f"<pre tabindex=0>{_lines(stored.text)}</pre>", "file"))
    parts.append(details("Proof, versions and hashes", table_html(facts(found)), "proof"))
    return "".join(parts)


def values(scenario: Scenario, found: PlanSet) -> Table:
    """Every value of the scenario: its meaning, its unit, and whether the file gave it, a catalog or a default."""
    defaults, sources = dict(found.defaults), dict(found.sources)
    rows = []
    for path, value in _leaves(scenario, ()):
        key, field = dotted(path), field_at(path)
        cited = sources.get(key, "")
        match = _CITED.match(cited)
        source, date, confidence = match.groups() if match else (cited, "", "")
        kind = "defaulted" if key in defaults else "from the catalog" if cited else "given"
        meaning = re.sub(r" \[[^]]*\]$", "", field.description or "") if field else ""
        origin = source or (safe(found.scenario_file, 80) if kind == "given" else "")
        rows.append((key, _value(value), unit_of(field), meaning, kind, origin, date, confidence))
    titles = ("key", "value", "unit", "meaning", "how", "source", "date", "confidence")
    return Table("Every value used", titles, tuple(rows), code=frozenset({0}))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, BaseModel):
        for key, inner in value:
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    elif value is not None and value != "":
        yield path, value


def _value(value: Any) -> str:
    said = shown(value)
    return said if len(said) <= VALUE_CHARACTERS else f"{said[: VALUE_CHARACTERS - 1]}… ({len(value)} entries)"


def formulation() -> Table:
    """The rules that the solver was given."""
    rows = [
        (row.name, row.kind, row.title, row.formula, row.unit, row.scenario_key or "", ", ".join(row.index).lower())
        for row in rule_rows(RULES)
    ]
    titles = ("rule", "kind", "meaning", "formula", "unit", "scenario key", "over")
    return Table("The optimisation model, rule by rule", titles, tuple(rows), code=frozenset({0, 3, 5}))


def facts(found: PlanSet) -> Table:
    """What was proven, with what, from which file."""
    rows: list[tuple[str, str]] = [("status", found.status)]
    proof = found.certificate
    if proof is not None:
        rows += [
            ("cost of the first plan", f"{usd(proof.usd_per_hour, 4)}/h"),
            ("lower bound of any design", f"{usd(proof.usd_per_hour_lower_bound, 4)}/h"),
            ("gap, and its target", f"{percent(proof.relative_gap, 4)}, {percent(proof.target_gap, 4)}"),
            ("solver", f"{safe(proof.solver)}, {proof.rounds} rounds, {proof.seconds:.1f} s"),
            ("verified by", safe("; ".join(proof.verified_by)) or "not asked for"),
        ]
    rows += [("scenario file", safe(found.scenario_file)), ("its SHA-256", safe(found.scenario_sha256))]
    rows += [(safe(name), safe(version)) for name, version in found.versions]
    return Table("Proof, versions and hashes", ("", "value"), tuple(rows))


def _notes(found: PlanSet) -> str:
    notes = list(dict.fromkeys(found.plans[0].evaluation.notes)) if found.plans else []
    items = [*(("warning", warning) for warning in found.warnings), *(("estimate", note) for note in notes)]
    if not items:
        return ""
    rows = tuple((kind, safe(said, 600)) for kind, said in items)
    return table_html(Table("What the first plan rests on", ("", "statement"), rows))


def _lines(scenario_text: str) -> str:
    return "\n".join(text(line) for line in scenario_text.split("\n"))
