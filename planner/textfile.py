"""A user's text file, read within bounds; what is wrong with it is said, never raised as a system error."""

from __future__ import annotations

import re
from pathlib import Path

from planner.errors import Diagnostic, InputError


def read_text(path: Path, most_mib: int, kind: str, save_as: str = "the file as UTF-8") -> str:
    """The file's text, without a byte order mark.

    Raises:
        InputError: the file cannot be read, is larger than ``most_mib`` MiB (which no ``kind`` is), or is not UTF-8.
    """
    most = most_mib << 20
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Diagnostic("unreadable-file", f"cannot read {path}: {reason}")) from None
    if len(data) > most:
        raise InputError(Diagnostic("too-large", f"{path}: larger than {most_mib} MiB, which no {kind} is"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\r|\n", data[: error.start])) + 1
        message = f"{path}: not UTF-8: byte 0x{data[error.start]:02X} in line {line}"
        raise InputError(Diagnostic("not-utf-8", message, hint=f"save {save_as}")) from None
