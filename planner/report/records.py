"""The flat parts of the plan file, each written once: its JSON keys, its fields, and the units between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from planner.plan import (
    Certificate,
    CostLine,
    Limit,
    LoadPoint,
    Pool,
    Role,
    TierUse,
    TtftPath,
    Violation,
)
from planner.report.node import Node
from planner.units import GB, milliseconds, seconds, to_gb

T = TypeVar("T")
ROLES: tuple[Role, ...] = ("unused", "sync", "prefetch")
LIMITS: tuple[Literal["slack", "hits"], ...] = ("slack", "hits")


@dataclass(frozen=True)
class Kind:
    """How a value looks in the file, and how it is read back."""

    write: Callable[[Any], Any]
    read: Callable[[Node], Any]


def _same(value: Any) -> Any:
    return value


def _optional(kind: Kind) -> Kind:
    return Kind(lambda value: None if value is None else kind.write(value), lambda node: node.optional(kind.read))


TEXT = Kind(_same, Node.text)
TEXTS = Kind(list, lambda node: node.each(Node.text))
NUMBER = Kind(_same, Node.number)
PERHAPS = Kind(_same, Node.perhaps)  # may be infinite, which is written as null
COUNT = Kind(_same, Node.count)
FLAG = Kind(_same, Node.flag)
ROLE = Kind(_same, lambda node: node.one_of(ROLES))
LIMIT = Kind(_same, lambda node: node.one_of(LIMITS))
MS = Kind(milliseconds, lambda node: seconds(node.perhaps()))
GIGABYTES = Kind(to_gb, lambda node: node.number() * GB)
NUMBER_OR_NONE, COUNT_OR_NONE, MS_OR_NONE, GB_OR_NONE = map(_optional, (NUMBER, COUNT, MS, GIGABYTES))


@dataclass(frozen=True)
class Field:
    """A JSON key, the attribute that it is, and the kind of its value; ``spare`` ones are left out when None."""

    key: str
    attribute: str
    kind: Kind
    spare: bool = False


@dataclass(frozen=True)
class Record(Generic[T]):
    """One dataclass in the plan file."""

    made: Callable[..., T]
    fields: tuple[Field, ...]

    def write(self, found: T) -> dict[str, Any]:
        """The JSON object."""
        pairs = [(f, getattr(found, f.attribute)) for f in self.fields]
        return {f.key: f.kind.write(value) for f, value in pairs if not (f.spare and value is None)}

    def read(self, node: Node) -> T:
        """The dataclass again.

        Raises:
            Misfit: A key is missing or its value is of another type.
        """
        return self.made(**{f.attribute: f.kind.read(node.get(f.key) if f.spare else node[f.key]) for f in self.fields})


def _record(made: Callable[..., T], kinds: Mapping[str, Kind], spare: Mapping[str, Kind] | None = None) -> Record[T]:
    """A record whose keys are its attributes, but for the unit that a key names in other words."""
    needed = [Field(_key(name), name, kind) for name, kind in kinds.items()]
    return Record(made, (*needed, *(Field(_key(name), name, kind, True) for name, kind in (spare or {}).items())))


def _key(attribute: str) -> str:
    """The JSON key of an attribute: SI inside, the units that people read in the file.

    >>> _key("queue_s"), _key("capacity_bytes"), _key("class_name"), _key("usd_per_hour")
    ('queue_ms', 'capacity_gb', 'class', 'usd_per_hour')
    """
    for inside, outside in (("_s", "_ms"), ("_bytes", "_gb"), ("class_name", "class")):
        if attribute.endswith(inside):
            return attribute.removesuffix(inside) + outside
    return attribute


COST: Record[CostLine] = _record(CostLine, {
    "item": TEXT, "quantity": NUMBER, "unit": TEXT, "unit_usd_per_hour": NUMBER, "usd_per_hour": NUMBER,
    "source_key": TEXT,
})  # fmt: skip
POOL: Record[Pool] = _record(Pool, {
    "instances": COUNT, "gpus_per_instance": COUNT, "parallelism": TEXT, "nodes": NUMBER, "gpus": COUNT,
    "billed_gpus": NUMBER,
}, spare={
    "offered_load": NUMBER_OR_NONE, "servers": NUMBER_OR_NONE, "utilization": NUMBER_OR_NONE, "batch": COUNT_OR_NONE,
    "tpot_s": MS_OR_NONE, "concurrency": NUMBER_OR_NONE, "slots_needed": NUMBER_OR_NONE,
    "hbm_cache_bytes": GB_OR_NONE,
})  # fmt: skip
TIER: Record[TierUse] = _record(TierUse, {
    "name": TEXT, "role": ROLE, "capacity_bytes": GIGABYTES, "staging_bytes": GIGABYTES, "hit_rate": NUMBER,
    "cumulative_hit_rate": NUMBER, "read_utilization": NUMBER, "fetch_s": MS, "slack_s": MS,
    "slack_before_fetch_s": MS, "why": TEXT,
})  # fmt: skip
PATH: Record[TtftPath] = _record(TtftPath, {
    "class_name": TEXT, "path": TEXT, "probability": NUMBER, "queue_s": MS, "fetch_s": MS, "prefill_s": MS,
    "transfer_s": MS, "total_s": MS, "slack_s": MS, "in_use": FLAG,
})  # fmt: skip
VIOLATION: Record[Violation] = _record(Violation, {"rule": TEXT, "need": NUMBER, "have": NUMBER, "unit": TEXT})
POINT: Record[LoadPoint] = _record(LoadPoint, {
    "load_factor": NUMBER, "interaction_usd_per_hour": NUMBER_OR_NONE, "fractional": FLAG,
})  # fmt: skip
LIMITING: Record[Limit] = _record(Limit, {
    "kind": LIMIT, "relaxation": TEXT, "usd_per_hour": NUMBER_OR_NONE, "structure_changed": FLAG, "becomes": TEXT,
})  # fmt: skip
CERTIFICATE: Record[Certificate] = _record(Certificate, {
    "usd_per_hour_lower_bound": PERHAPS, "usd_per_hour": PERHAPS, "relative_gap": PERHAPS, "target_gap": PERHAPS,
    "rounds": COUNT, "seconds": NUMBER, "solver": TEXT, "verified_by": TEXTS,
})  # fmt: skip
