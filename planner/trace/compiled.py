"""The compiled route: loops over large traces run through numba where it is installed, as plain Python elsewhere.

Loading numba and its cached machine code takes about half a second, so short loops run as plain Python even where
it is there.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from typing import Any

WORTH_COMPILING = 300_000  # loop steps below which plain Python is done before numba is loaded


@functools.cache
def available() -> bool:
    """Whether numba is installed and not switched off by ``PLANNER_NO_NUMBA``."""
    if os.environ.get("PLANNER_NO_NUMBA"):
        return False
    try:
        importlib.import_module("numba")  # found is not enough: an installed one may not load
    except ImportError:
        return False
    return True


def worth(steps: int) -> bool:
    """Whether a loop of so many steps should run compiled."""
    return steps >= WORTH_COMPILING and available()


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as machine code, kept on disk between runs where the disk allows it."""
    import numba

    machine_code: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return machine_code
