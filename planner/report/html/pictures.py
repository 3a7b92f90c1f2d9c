"""Pictures of other commands in the page: those that were named, and those that lie beside a plan file."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from planner.errors import Diagnostic, InputError
from planner.report.html.parts import Picture

MOST_BYTES = 2_000_000
MOST_BESIDE = 4  # pictures that are shown without being named


def read_picture(path: Path) -> Picture:
    """One SVG.

    Raises:
        InputError: It cannot be read, is larger than 2 MB, or is no SVG.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(Diagnostic("unreadable-file", f"cannot read {path}: {error.strerror}")) from None
    why = "larger than 2 MB" if len(data) > MOST_BYTES else "" if _is_svg(data) else "not an SVG that can be shown"
    if why:
        raise InputError(Diagnostic("not-a-picture", f"{path}: {why}"))
    return Picture(path.name, data)


def _is_svg(data: bytes) -> bool:
    """Whether it is XML to its end whose outermost element is ``svg``; a browser shows nothing else."""
    outermost: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def start(name: str, _attributes: dict[str, str]) -> None:
        if not outermost:
            outermost.append(name)

    parser.StartElementHandler = start
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return outermost[:1] == ["http://www.w3.org/2000/svg svg"]


def pictures_beside(plans: Path) -> tuple[list[Picture], list[str]]:
    """The first pictures in a plan file's own folder, and why others there are not shown."""
    shown: list[Picture] = []
    left_out = []
    for path in sorted(plans.parent.glob("*.svg")) if plans.parent.is_dir() else []:
        if len(shown) == MOST_BESIDE:
            left_out.append(f"{path} is not shown: a page takes the first {MOST_BESIDE} beside {plans.name}")
            continue
        try:
            shown.append(read_picture(path))
        except InputError as error:
            left_out.append(f"{error.diagnostics[0].message}; it is not shown")
    return shown, left_out
