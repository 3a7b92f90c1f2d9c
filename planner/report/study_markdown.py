"""What the Markdown of the studies is made of: a title, paragraphs, lists and tables, whatever the texts contain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from planner.report.markdown import escaped


def document(title: str, *blocks: str) -> str:
    """A title and its blocks, an empty line between them; empty blocks are left out."""
    return "\n\n".join([f"# {text(title)}", *(block for block in blocks if block)]) + "\n"


def section(heading: str, *blocks: str) -> str:
    """Blocks under a heading of their own; nothing where all of them are empty."""
    kept = [block for block in blocks if block]
    return "\n\n".join([f"## {text(heading)}", *kept]) if kept else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    r"""A table; the columns numbered in ``right`` are aligned right.

    >>> print(table(["name", "$/h"], [["a|b <i>\nc", "1.50"]], right={1}))
    | name | $/h |
    | --- | --: |
    | a\|b \<i\> c | 1.50 |
    """
    marks = ["--:" if n in right else "---" for n in range(len(columns))]
    return "\n".join([_line(map(text, columns)), _line(marks), *(_line(map(text, row)) for row in rows)])


def bullets(lines: Iterable[str]) -> str:
    """One point per line of text."""
    return "\n".join(f"- {text(line)}" for line in lines)


def text(words: str) -> str:
    """Words on one line that Markdown shows as they are."""
    return escaped(" ".join(words.split()))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
