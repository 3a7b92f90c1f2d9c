"""Stored sentences in one way of writing: sizes with three digits, pools as instances × GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.report.format import size

if TYPE_CHECKING:
    from planner.physics.system import System

_SIZE = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?) TB\b")
_POOL = re.compile(r"(?<![\w.])(\d+) x (\S+?)(?=[,;\s]|$)")


def even(text: str, system: System | None = None) -> str:
    """The same text, so that it can stand beside tables: ``system`` tells the GPUs of an instance.

    >>> even("prefill 13×4 tp4·etp4; dram 9.1 TB"), even("disaggregated, 11 x tp1, dram sync")
    ('prefill 13×4 tp4·etp4; dram 9.10 TB', 'disaggregated, 11 × tp1, dram sync')
    """

    def pool(found: re.Match[str]) -> str:
        config = system.config_by_name.get(found[2]) if system is not None else None
        return f"{found[1]}×{config.gpus} {found[2]}" if config is not None else f"{found[1]} × {found[2]}"

    return _POOL.sub(pool, _SIZE.sub(lambda found: size(float(found[1].replace(",", "")) * 1e12), text))
