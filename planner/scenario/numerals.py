"""Numbers as people write them where the scenario wants a plain one: with units, exponents, separators."""

from __future__ import annotations

import re

WITH_UNIT = re.compile(r"\s*([-+]?[0-9][0-9_,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%$µ][A-Za-z%$/µ·-]*)\s*")
WITH_CURRENCY = re.compile(r"\s*[$€]\s*([0-9][0-9_,]*\.?[0-9]*)\s*(?:/\s*\w+)?\s*")
EXPONENT = re.compile(r"([-+]?[0-9]+)(\.[0-9]*)?[eE]([-+]?)([0-9]+)")
OTHER_BASE = re.compile(r"[-+]?[0-9]+(:[0-9.]+)+|[-+]?0[xob][0-9a-fA-F_]+")
DECIMAL = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?")
FACTORS: dict[str, dict[str, float]] = {  # to the unit of the key, from what people write
    "GB": {"GB": 1, "TB": 1e3, "PB": 1e6, "MB": 1e-3, "GiB": 2**30 / 1e9, "TiB": 2**40 / 1e9, "G": 1, "T": 1e3},
    "GB/s": {"GB/s": 1, "TB/s": 1e3, "MB/s": 1e-3, "GiB/s": 2**30 / 1e9, "GBps": 1, "Gbps": 0.125, "Gbit/s": 0.125},
    "ms": {"ms": 1, "s": 1e3, "us": 1e-3, "µs": 1e-3, "sec": 1e3},
    "s": {"s": 1, "ms": 1e-3, "min": 60, "m": 60, "h": 3600, "sec": 1},
    "fraction": {"%": 0.01, "percent": 0.01},
    "tokens": {"tokens": 1, "k": 1e3, "K": 1e3, "M": 1e6, "Mtok": 1e6, "ktok": 1e3},
    "$/h": {"$": 1, "USD": 1, "usd": 1, "$/h": 1},
    "requests/s": {"rps": 1, "qps": 1, "req/s": 1, "requests/s": 1, "/s": 1},
    "billion": {"B": 1, "b": 1, "T": 1e3, "M": 1e-3},
    "TFLOPS": {"TFLOPS": 1, "PFLOPS": 1e3, "TFLOPs": 1},
    "GPUs": {"GPUs": 1, "GPU": 1, "gpus": 1},
}


def explain(text: str, unit: str) -> tuple[str, str]:
    """Why a text is not a plain number, and how to write it; ``unit`` is the key's.

    >>> explain("12 TB", "GB")
    (', without a unit', 'write 12000')
    >>> explain("1e3", "ms")
    (', which 1e3 is not: YAML reads it as text', 'write 1.0e+3')
    """
    stripped = text.strip()
    exponent = EXPONENT.fullmatch(stripped)
    if exponent:
        whole, decimals, sign, power = exponent.groups()
        digits = "" if not decimals else decimals[1:]
        proper = f"{whole}.{digits or '0'}e{sign or '+'}{power}"
        return f", which {stripped} is not: YAML reads it as text", f"write {proper}"
    with_unit = WITH_UNIT.fullmatch(stripped)
    if with_unit:
        number, written = with_unit.groups()
        factor = FACTORS.get(unit, {}).get(written)
        return ", without a unit", f"write {_value(number) * factor:.12g}" if factor else ""
    with_currency = WITH_CURRENCY.fullmatch(stripped)
    if with_currency:
        return ", without a unit", f"write {with_currency.group(1)}"
    if OTHER_BASE.fullmatch(stripped):
        return "", "write a plain decimal number"
    plain = stripped.replace(",", "").replace(" ", "")
    if not DECIMAL.fullmatch(plain):
        return "", ""
    return "", f"write {_value(plain):.12g}" + (" without quotes" if plain == text and text[0] != "0" else "")


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("_", ""))
