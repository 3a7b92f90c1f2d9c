"""YAML as a tree of values that know their line and column, read from parse events, never through constructors.

Only what a scenario needs is understood: mappings with plain keys, sequences, strings, decimal numbers, true and
false, null. No tag builds an object, nothing recurses in the parser, and depth, size and the number of values that
aliases expand to are bounded, so a hostile file costs bounded time and memory.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from planner.errors import Diagnostic, InputError, Span, joins_emoji

REMOVE = "remove it: a scenario is plain text"
MAX_MIB = 1
MAX_DEPTH = 24
MAX_NODES = 20_000

LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
NULL = re.compile(r"~|null|Null|NULL|")
TRUE = re.compile(r"yes|Yes|YES|true|True|TRUE|on|On|ON")
FALSE = re.compile(r"no|No|NO|false|False|FALSE|off|Off|OFF")
INT = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
FLOAT = re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?")
NOT_FINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
LAYOUT = {ord(c): None for c in "\t\n\r\u3000"}  # not "printable", and harmless
Path = tuple[str | int, ...]


@dataclass(slots=True)
class Node:
    """A value, where it starts, the text it was written as, and where its key stands."""

    value: Any  # scalar | dict[str, Node] | list[Node]
    line: int
    column: int
    length: int
    raw: str = ""
    block: bool = False  # a collection that starts below its key
    key: tuple[int, int, int] | None = None  # line, column, length


@dataclass
class Document:
    """A parsed file: its lines, its root and what was wrong with its YAML."""

    file: str
    lines: list[str]
    root: Node | None = None
    problems: list[Diagnostic] = field(default_factory=list)

    def plain(self) -> Any:
        """The values without their places: dicts, tuples and scalars."""
        return _plain(self.root) if self.root else {}

    def node(self, path: Path) -> Node | None:
        """The node at a path, None where the file does not have it."""
        node = self.root
        for part in path:
            if node is None:
                return None
            if isinstance(part, int):
                items = node.value if isinstance(node.value, list) else []
                node = items[part] if part < len(items) else None
            else:
                node = node.value.get(part) if isinstance(node.value, dict) else None
        return node

    def span(self, path: Path, *, of_key: bool = False) -> Span | None:
        """Where a value stands, or its key where the value is a block below it."""
        node = self.node(path)
        if node is None:
            return None
        if node.key and (of_key or node.block):
            return self.at(*node.key)
        return self.at(node.line, node.column, node.length)

    def nearest(self, path: Path) -> Span | None:
        """The span of a path, else of what contains it."""
        spans = (self.span(path[:end]) for end in range(len(path), 0, -1))
        return next((span for span in spans if span), None)

    def at(self, line: int, column: int, length: int = 1) -> Span:
        """The span at a place of this file."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return Span(self.file, line, column, text, max(1, min(length, len(text) - column + 1)))


def dotted(path: Path) -> str:
    """The key path as people write it.

    >>> dotted(("workload", "classes", 0, "share"))
    'workload.classes[0].share'
    """
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def parse(text: str, file: str) -> Document:
    """Parse a text; mistakes of YAML that leave a usable tree are collected, others raise InputError."""
    document = Document(file, LINE_BREAK.split(text))
    _refuse_control_characters(document, text)
    try:
        _Builder(document).build(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = document.at(mark.line + 1, mark.column + 1) if mark else None
        context = f" {error.context}" if error.context else ""
        raise InputError(Diagnostic("yaml-syntax", f"not valid YAML{context}: {error.problem}", span)) from None
    except yaml.YAMLError as error:
        raise InputError(Diagnostic("yaml-syntax", f"not valid YAML: {str(error).splitlines()[0]}")) from None
    return document


def _refuse_control_characters(document: Document, text: str) -> None:
    place = _forbidden(text)
    if place is not None:
        breaks = [m.end() for m in LINE_BREAK.finditer(text, 0, place)]
        span = document.at(len(breaks) + 1, place - (breaks[-1] if breaks else 0) + 1)
        raise InputError(Diagnostic("control-character", _not_allowed(text[place]), span, hint=REMOVE))


def _forbidden(text: str) -> int | None:
    """Where the first control, invisible or direction-changing character is, None where there is none."""
    if text.translate(LAYOUT).isprintable():
        return None
    unseen = (i for i, c in enumerate(text) if not c.isprintable() and ord(c) not in LAYOUT)
    return next((i for i in unseen if not joins_emoji(text, i)), None)


def _not_allowed(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"the character U+{ord(character):04X}{name and f' ({name})'} is not allowed in a scenario"


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return tuple(_plain(child) for child in node.value)
    return node.value


class _Builder:
    """Builds the tree from events; recursion is at most MAX_DEPTH deep because depth is checked first."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.open: set[str] = set()
        self.count = 0

    def build(self, text: str) -> None:
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if self.document.root is not None:
                    self.fail("yaml-documents", "a second YAML document starts here; a scenario is one document", event)
                self.document.root = self.value(next(events), events, 0)

    def value(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail("too-deep", f"nested more than {MAX_DEPTH} levels deep", event)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        self.grow(1, event)
        before = self.count
        if event.anchor:
            self.open.add(event.anchor)
        node = self.fresh(event, events, depth)
        if event.anchor:
            self.open.discard(event.anchor)
            self.anchors[event.anchor] = (node, self.count - before + 1)
        return node

    def fresh(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        mark, end = event.start_mark, event.end_mark
        length = end.column - mark.column if end.line == mark.line else 1 << 20
        node = Node(None, mark.line + 1, mark.column + 1, length)
        if event.tag and event.tag != "!":
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.problem("yaml-tag", f"the tag {tag} is not accepted: a scenario holds plain values", event)
        if isinstance(event, yaml.ScalarEvent):
            node.raw = event.value
            node.value = self.scalar(event) if event.implicit[0] else self.text(event)
        elif isinstance(event, yaml.MappingStartEvent):
            node.block = not event.flow_style
            node.value = self.mapping(events, depth)
        else:
            node.block = not event.flow_style
            node.value = self.sequence(events, depth)
        return node

    def alias(self, event: Any) -> Node:
        if event.anchor in self.open:
            self.fail("yaml-alias", f"*{event.anchor} contains itself", event)
        if event.anchor not in self.anchors:
            self.fail("yaml-alias", f"*{event.anchor} has no anchor &{event.anchor} above it", event)
        node, size = self.anchors[event.anchor]
        self.grow(size, event)
        mark = event.start_mark
        return Node(node.value, mark.line + 1, mark.column + 1, len(event.anchor) + 1, node.raw)

    def grow(self, size: int, event: Any) -> None:
        self.count += size
        if self.count > MAX_NODES:
            self.fail("too-large", f"more than {MAX_NODES:,} values, aliases expanded", event)

    def mapping(self, events: Iterator[Any], depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                self.fail("yaml-key", "a key must be a plain word", event)
            key, mark = event.value, event.start_mark
            node = self.value(next(events), events, depth + 1)
            if node.key is not None:  # an alias to a scalar of another key keeps its own place
                node = Node(node.value, node.line, node.column, node.length, node.raw, node.block)
            node.key = (mark.line + 1, mark.column + 1, max(1, event.end_mark.column - mark.column))
            if key == "<<" and event.implicit[0]:
                self.problem("yaml-merge", "merge keys (<<) are not accepted: write the values out", event)
            elif key in entries and entries[key].key:
                first = entries[key].key
                line = first[0] if first else 0
                self.problem("duplicate-key", f"the key {key!r} is given twice", event, f"first given in line {line}")
            else:
                entries[key] = node
        return entries

    def sequence(self, events: Iterator[Any], depth: int) -> list[Node]:
        items: list[Node] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self.value(event, events, depth + 1))
        return items

    def text(self, event: Any) -> str:
        value = str(event.value)
        place = _forbidden(value)
        if place is not None:
            self.problem("control-character", _not_allowed(value[place]), event, REMOVE)
        return value if place is None else "".join(c if c.isprintable() else "?" for c in value)

    def scalar(self, event: Any) -> Any:
        return resolve(self.text(event))

    def problem(self, code: str, message: str, event: Any, hint: str = "") -> None:
        mark, end = event.start_mark, event.end_mark
        length = end.column - mark.column if end.line == mark.line else 1
        span = self.document.at(mark.line + 1, mark.column + 1, length)
        self.document.problems.append(Diagnostic(code, message, span, hint=hint))

    def fail(self, code: str, message: str, event: Any) -> None:
        self.problem(code, message, event)
        raise InputError(*self.document.problems)


def resolve(text: str) -> Any:
    """The value of a plain scalar as YAML 1.1 has it, except that only decimal numbers are numbers.

    Octal, hexadecimal and sexagesimal forms and dates stay text: nobody means them in a scenario, and where a
    number is expected the text leads to a message that says so.

    >>> [resolve(t) for t in ("40", "1.0e+3", "1e3", "no", "~", "1:30", "h200-sxm")]
    [40, 1000.0, '1e3', False, None, '1:30', 'h200-sxm']
    """
    if NULL.fullmatch(text):
        return None
    if TRUE.fullmatch(text):
        return True
    if FALSE.fullmatch(text):
        return False
    if INT.fullmatch(text):
        digits = text.replace("_", "")
        return int(digits) if len(digits) <= 40 else float(digits)
    if FLOAT.fullmatch(text) and any(c.isdigit() for c in text):
        return float(text.replace("_", ""))
    special = NOT_FINITE.fullmatch(text)
    if special:
        return float("nan") if special.group(3) else float(f"{special.group(1)}inf")
    return text
