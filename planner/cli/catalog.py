"""``planner catalog``: what is known without a scenario saying it, with its source and date."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.report.provenance import Entry


class CatalogFormat(StrEnum):
    """How the answer is printed."""

    text = "text"
    json = "json"


def catalog(
    name: Annotated[
        str | None, typer.Argument(help="A model, GPU, tier, price, node or link, or defaults.", show_default=False)
    ] = None,
    format_: Annotated[CatalogFormat, typer.Option("--format", "-f", help="How to print.")] = CatalogFormat.text,
) -> int:
    """List what is known, with sources and dates.

    With a name: each value of that entry with its unit, source, date and confidence.
    """
    from planner.report import provenance
    from planner.report.data import SCHEMA_VERSION, dumps
    from planner.report.write import to_stdout

    as_json = format_ is CatalogFormat.json
    if name is None:
        groups = _names()
        listing = {"schema_version": SCHEMA_VERSION, "names": {kind: list(names) for kind, names in groups}}
        to_stdout(dumps(listing) if as_json else provenance.names_text(groups))
        return 0
    entries = _entries(name)
    if as_json:
        found = [{"kind": e.kind, "name": e.name, "values": [v.as_dict() for v in e.values]} for e in entries]
        to_stdout(dumps({"schema_version": SCHEMA_VERSION, "entries": found}))
    else:
        to_stdout("\n".join(provenance.entry_text(entry) for entry in entries))
    return 0


def _names() -> list[tuple[str, list[str]]]:
    from planner.scenario import catalog as known
    from planner.scenario.catalog.timing import available_tables

    tables = [" / ".join(key) for key in available_tables()]
    return [*((kind, known.names(kind)) for kind in known.KINDS), ("timing table", tables), ("defaults", ["defaults"])]


def _entries(name: str) -> list[Entry]:
    """Every entry with this name, whatever its kind."""
    from planner.errors import Diagnostic, InputError
    from planner.report.provenance import Entry, Value
    from planner.scenario import catalog as known
    from planner.scenario.filled import did_you_mean

    kinds = [kind for kind in known.KINDS if name in known.names(kind)] + ["defaults"] * (name == "defaults")
    if not kinds:
        everything = [candidate for kind in known.KINDS for candidate in known.names(kind)]
        hint = did_you_mean(name, [*everything, "defaults"]) or "see: planner catalog"
        raise InputError(Diagnostic("unknown-name", f"the catalog has no {name[:80]!r}", hint=hint))
    return [
        Entry(
            kind,
            name,
            tuple(
                Value(v.path, v.value, v.unit, v.low, v.high, v.source, str(v.date), v.confidence, v.note)
                for v in known.provenance(kind, name)
            ),
        )
        for kind in kinds
    ]
