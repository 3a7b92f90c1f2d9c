"""Where the values come from that a scenario takes from the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from planner.scenario import catalog
from planner.scenario.fill import ASSUMED_REUSE_SOURCE
from planner.scenario.meta import Meta

REUSE = "workload.reuse."
ROOFLINE = "engine.roofline."


def sources(meta: Meta) -> Iterator[tuple[str, str]]:
    """Key path and "source, date, confidence" of every value of a named entry and of every default that has one."""
    for kind, name in meta.entries:
        if kind == "price":
            yield from _rows("prices.gpu_usd_per_hour", catalog.provenance("price", name), whole=True)
        else:
            yield from _rows(kind, catalog.provenance(kind, name))
    known = {row.path: row for row in catalog.provenance("defaults", "defaults")}
    for path, value in meta.defaults:
        if path.startswith(REUSE) and path != f"{REUSE}at_requests_per_second":
            yield path, ASSUMED_REUSE_SOURCE
        elif path.startswith(ROOFLINE):
            yield path, "fitted to the packaged timing tables"
        elif path.startswith("tiers["):
            yield from _tier(path, meta)
        elif path in known and str(known[path].value) != value and path == "engine.timing":
            yield path, "there is no timing table for this model on this hardware"
        elif path in known:
            yield path, _spoken(known[path])


def _tier(path: str, meta: Meta) -> Iterator[tuple[str, str]]:
    """Source of a tier's default: its name is a default too, or stands in the file."""
    prefix, key = path.split("].", 1)
    names = dict(meta.defaults)
    node = meta.document.node(("tiers", int(prefix.removeprefix("tiers[")), "name")) if meta.document else None
    name = node.value if node else names.get(f"{prefix}].name", "")
    if name in catalog.names("tier"):
        yield from ((path, _spoken(row)) for row in catalog.provenance("tier", name) if row.path == key)


def _rows(path: str, rows: tuple[catalog.Sourced, ...], *, whole: bool = False) -> Iterator[tuple[str, str]]:
    for row in rows:
        yield path if whole else f"{path}.{row.path}", _spoken(row)


def _spoken(row: catalog.Sourced) -> str:
    return f"{row.source}, {row.date}, confidence {row.confidence}"
