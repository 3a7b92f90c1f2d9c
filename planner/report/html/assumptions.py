"""The last part of the page: notes, every value, the model, the scenario file, the proof; each to open."""

from __future__ import annotations

from planner.milp.rules import RULES
from planner.plan import PlanSet
from planner.report.assumptions import facts, references, values
from planner.report.formulation import rule_rows
from planner.report.html.parts import bullets, details, table_html, text
from planner.report.reread import StoredSet
from planner.report.tabular import Table


def assumptions(stored: StoredSet) -> str:
    """The last part of the page, each block to open."""
    found = stored.plan_set
    parts = [_notes(found)]
    if stored.scenario is not None:
        table = values(stored.scenario, found, stored.text)
        kinds = [row[4] for row in table.rows]
        said = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        rows = tuple((f"[{n}]", source) for n, source in enumerate(references(stored.scenario, found, stored.text), 1))
        sources = table_html(Table("Sources", ("", "source"), rows)) if rows else ""
        parts.append(details(f"Every value used ({said})", table_html(table) + sources, "values"))
    parts.append(details(f"The optimisation model ({len(RULES)} rules)", table_html(formulation()), "model"))
    if stored.text:
        parts.append(details("The scenario file", f"<pre tabindex=0>{_lines(stored.text)}</pre>", "file"))
    parts.append(details("Proof, versions and hashes", table_html(facts(found)), "proof"))
    return "".join(parts)


def formulation() -> Table:
    """The rules that the solver was given."""
    rows = [
        (row.name, row.kind, row.title, row.formula, row.unit, row.scenario_key or "", ", ".join(row.index).lower())
        for row in rule_rows(RULES)
    ]
    titles = ("rule", "kind", "meaning", "formula", "unit", "scenario key", "over")
    return Table("The optimisation model, rule by rule", titles, tuple(rows), code=frozenset({0, 3, 5}))


def _notes(found: PlanSet) -> str:
    notes = list(dict.fromkeys(found.plans[0].evaluation.notes)) if found.plans else []
    items = [*(("Warning:", warning) for warning in found.warnings), *(("Estimate:", note) for note in notes)]
    return f"<h3>What the first plan rests on</h3>{bullets(items)}" if items else ""


def _lines(scenario_text: str) -> str:
    return "\n".join(text(line) for line in scenario_text.split("\n"))
