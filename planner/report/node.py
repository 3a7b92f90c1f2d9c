"""A place in a plan file's JSON, read by type: what does not fit is said with its path, never with a Python error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 1e18  # of any quantity in a plan file
_CUT = 40


class Misfit(ValueError):
    """What a place holds and what belongs there."""

    def __init__(self, path: str, text: str) -> None:
        """Keep both as one sentence."""
        super().__init__(f"{path} {text}" if path else f"it {text}")


@dataclass(frozen=True)
class Node:
    """A value and the way to it.

    >>> Node({"plans": [{"rank": "x"}]})["plans"].each(lambda plan: plan["rank"].number())
    Traceback (most recent call last):
    planner.report.node.Misfit: plans[0].rank is "x" where a number belongs
    """

    value: Any
    path: str = ""

    def __getitem__(self, key: str) -> Node:
        """The value of a key that must be there."""
        if key not in self.mapping():
            has = "" if self.path else f"; its keys are {', '.join(map(str, [*self.value][:6])) or 'none'}"
            raise Misfit(self.path, f"has no key {key!r}{has[:120]}")
        return Node(self.value[key], f"{self.path}.{key}" if self.path else key)

    def get(self, key: str) -> Node:
        """The value of a key; null where it is left out."""
        return self[key] if key in self.mapping() else Node(None, f"{self.path}.{key}")

    @property
    def absent(self) -> bool:
        """True for null, and for a key that is left out."""
        return self.value is None

    def misfit(self, wanted: str) -> Misfit:
        """The error for another type than wanted."""
        return Misfit(self.path, f"is {described(self.value)} where {wanted} belongs")

    def mapping(self) -> Mapping[str, Any]:
        """An object."""
        if not isinstance(self.value, Mapping):
            raise self.misfit("an object")
        return self.value

    def nodes(self) -> list[Node]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            raise self.misfit("a list")
        return [Node(value, f"{self.path}[{n}]") for n, value in enumerate(self.value)]

    def each(self, read: Callable[[Node], T]) -> tuple[T, ...]:
        """Every entry of a list, read."""
        return tuple(read(node) for node in self.nodes())

    def optional(self, read: Callable[[Node], T]) -> T | None:
        """Read, or None where there is null."""
        return None if self.absent else read(self)

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.misfit("a number")
        if not abs(self.value) <= MOST:
            raise Misfit(self.path, f"is {self.value:g}: beyond anything that is built")
        return self.value

    def count(self) -> int:
        """A whole number."""
        if int(self.number()) != self.value:
            raise self.misfit("a whole number")
        return int(self.value)

    def perhaps(self) -> float:
        """A number; NaN for null, as which infinite ones are written."""
        return math.nan if self.absent else self.number()

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self.misfit("text")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.misfit("true or false")
        return self.value

    def one_of(self, allowed: tuple[T, ...]) -> T:
        """One of a few words."""
        for choice in allowed:
            if self.value == choice:
                return choice
        raise self.misfit(f"one of {', '.join(map(str, allowed))}")


def described(value: Any) -> str:
    """A JSON value in a few words.

    >>> described({}), described([1, 2]), described(None), described("x" * 99)[:12]
    ('an empty object', 'a list of 2 entries', 'null', '"xxxxxxxxxxx')
    """
    if isinstance(value, Mapping):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)} entr{'y' if len(value) == 1 else 'ies'}" if value else "an empty list"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f'"{value[:_CUT]}…"' if len(value) > _CUT else f'"{value}"'
    return f"{value!r}"[:_CUT]
