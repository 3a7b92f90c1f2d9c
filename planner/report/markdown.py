"""The answer as GitHub Markdown, for an issue or a design document; and what every Markdown document is made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from planner.plan import PlanSet
from planner.report.format import joined, percent, safe, usd_per_mtok
from planner.report.table import certificate_line, design

if TYPE_CHECKING:
    from planner.report.reread import StoredSet
    from planner.report.tabular import Table

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~&!"})


def to_markdown(plan_set: PlanSet, stored: StoredSet | None = None) -> str:
    """Title, answer, what could change it, one table each for purchase, TTFT, tiers, ranking and cells, assumptions.

    With ``stored``, the same set and its scenario, also what is bought as what, and how sure the times are.
    """
    from planner.report.reread import StoredSet as Stored

    whole = stored or Stored(plan_set, None, "")
    blocks = [f"# {escaped(joined([safe(plan_set.scenario_name, 60), safe(plan_set.headline, 300)]))}"]
    blocks += _plan(whole) if plan_set.plans else _nothing(plan_set)
    blocks += [_cells(plan_set), _notes(plan_set)]
    if plan_set.defaults:
        blocks.append("Catalog defaults:\n\n" + _bullets([f"{safe(k)} {safe(v)}" for k, v in plan_set.defaults]))
    return "\n\n".join(block for block in blocks if block) + "\n"


def several(files: Sequence[StoredSet]) -> str:
    """Several plan files side by side."""
    from planner.report.services import headings
    from planner.report.side_by_side import inputs, overview, proofs, simplest_note

    head, lead = headings(files)
    blocks = [f"# {escaped(head)}", escaped(lead), _table(overview(files)), escaped(simplest_note(files))]
    for found in inputs(files) or ():
        blocks += [_table(found)] if found.rows else []
    blocks.append(_table(proofs(files)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _plan(stored: StoredSet) -> list[str]:
    from planner.report.change import changes
    from planner.report.purchase import NOTE, order
    from planner.report.tabular import per_month, per_year, ranked, tiers, ttft
    from planner.report.whole import bought_whole

    found = stored.plan_set
    best = found.plans[0].evaluation
    price = (
        f"{per_month(best.usd_per_hour)} a month, {per_year(best.usd_per_hour)} a year; "
        f"{usd_per_mtok(best.usd_per_million_tokens)} per million tokens"
    )
    could = [f"{subject} {said}" for subject, said in changes(stored)]
    return [
        f"**{escaped(price)}**: {escaped(design(found.plans[0]))}",
        escaped(_saved(found)),
        escaped(certificate_line(found.certificate, found.seconds)) + ".",
        _table(order(best, stored.scenario)),
        escaped(bought_whole(best, stored.scenario)),
        escaped(NOTE),
        f"## What could change the answer\n\n{_bullets(could)}" if could else "",
        *map(_table, (ttft(best), tiers(best), ranked(found.plans))),
    ]


def _saved(found: PlanSet) -> str:
    from planner.report.headline import simplest, unreached
    from planner.report.tabular import per_month

    base, best = simplest(found), found.plans[0].evaluation
    if base is None:
        return unreached(found)
    share = 1 - best.usd_per_hour / (base.usd_per_hour or 1.0)
    if share < 5e-4:
        return f"{base.name} is the cheapest"
    most = "" if base.proven else ", whose own cost is not proven"
    return f"{percent(share)} below {base.name} ({per_month(base.usd_per_hour)} a month){most}"


def _nothing(found: PlanSet) -> list[str]:
    said = "No design keeps every promise" if found.status == "infeasible" else "No plan was found"
    return [f"**{said}.**", _bullets([safe(reason, 500) for reason in found.reasons])]


def _notes(found: PlanSet) -> str:
    notes = list(dict.fromkeys(found.plans[0].evaluation.notes)) if found.plans else []
    texts = [safe(text, 500) for text in (*found.warnings, *notes)]
    return f"## What it rests on\n\n{_bullets(texts)}" if texts else ""


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)


def _table(found: Table) -> str:
    return table(found.caption, found.titles, found.rows, found.right)


def plain(text: str) -> str:
    """A document that ends in one line break."""
    return text.rstrip("\n") + "\n"


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is.

    >>> escaped("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return text.translate(_SPECIAL)


def table(heading: str, titles: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """A heading and a table; cells are shown as they are, whatever they contain."""
    marks = ["--:" if n in right else "---" for n in range(len(titles))]
    lines = [
        _row([escaped(title) for title in titles]),
        _row(marks),
        *(_row([escaped(cell) for cell in row]) for row in rows),
    ]
    return "\n".join([f"## {escaped(heading)}", "", *lines])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(plan_set: PlanSet) -> str:
    from planner.report.together import cells, sentences

    priced = cells(plan_set)
    if priced is None:
        return ""
    found = table(f"Do tiers and disaggregation add up? {priced.caption}", priced.titles, priced.rows, priced.right)
    return "\n\n".join([found, *map(escaped, sentences(plan_set))])
