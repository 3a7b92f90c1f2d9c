"""How numbers and names are shown, in one place: money, bytes, time, shares, and text that came from a user.

Shown numbers add up as shown: a column that sums is rounded together by :func:`rounded_to_sum`, which keeps every
entry within one unit of its last digit.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence

from planner.errors import printable

ABSENT = "–"
MINUS = "−"
_UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_ASCII = str.maketrans(
    {
        "–": "-", "−": "-", "—": "-", "…": "...", "·": ".", "×": "x", "≤": "<=", "≥": ">=", "│": "|", "─": "-",
        "├": "|", "└": "`", "→": "->", "°": "deg", "µ": "u", "μ": "u", "λ": "lambda", "β": "beta", "κ": "kappa",
        "Δ": "D", "ρ": "rho", "σ": "sigma", "√": "sqrt", "░": "q", "▒": "f", "▓": "p", "█": "t",
        "“": '"', "”": '"', "’": "'", "²": "^2", "⁰": "0", "\u202f": " ", "\u00a0": " ", "Σ": "sum ",
    }
)  # fmt: skip


def rounded_to_sum(values: Sequence[float], decimals: int = 0, total: float | None = None) -> list[float]:
    """Round ``values`` so that the rounded ones sum to the rounded total (largest remainders go up).

    >>> rounded_to_sum([33.333, 33.333, 33.334])
    [33.0, 33.0, 34.0]
    >>> rounded_to_sum([0.014, 0.013, 0.013], decimals=2)
    [0.02, 0.01, 0.01]
    """
    scale = 10.0**decimals
    scaled = [value * scale for value in values]
    floors = [math.floor(value) for value in scaled]
    target = round((sum(values) if total is None else total) * scale)
    spare = target - sum(floors)
    if 0 <= spare <= len(floors):
        by_remainder = sorted(range(len(floors)), key=lambda i: scaled[i] - floors[i], reverse=True)
        for i in by_remainder[:spare]:
            floors[i] += 1
    else:  # the stated total is not the sum of the parts: show each part as it is
        floors = [round(value) for value in scaled]
    return [value / scale for value in floors]


def number(value: float, decimals: int = 0) -> str:
    """A plain number with thousands separators and a real minus sign.

    >>> number(1234.5, 1), number(-0.0001, 2)
    ('1,234.5', '0.00')
    """
    if not math.isfinite(value):
        return ABSENT if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    text = f"{value:,.{decimals}f}"
    if not text.strip("-0.,"):
        return text.lstrip("-")
    return text.replace("-", MINUS)


def significant(value: float, digits: int = 3) -> str:
    """A number with a fixed count of significant digits, never in exponent form between 1e-6 and 1e15.

    >>> significant(0.07312), significant(1234.5), significant(-12.345), significant(0)
    ('0.0731', '1,234', '−12.3', '0')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return number(value)
    magnitude = math.floor(math.log10(abs(value)))
    if not -7 <= magnitude < 15:
        return f"{value:.{digits - 1}e}".replace("-", MINUS)
    return number(value, max(0, digits - 1 - magnitude))


def quantity(value: float) -> str:
    """A count or amount: whole numbers bare, others to four significant digits.

    >>> quantity(24.0), quantity(1536.25), quantity(0.123456)
    ('24', '1,536', '0.1235')
    """
    return number(value) if abs(value - round(value)) < 1e-9 * max(1.0, abs(value)) else significant(value, 4)


def usd(value: float, decimals: int = 2, signed: bool = False) -> str:
    """Dollars, the sign before the currency.

    >>> usd(1234.5), usd(-11.1), usd(3, signed=True)
    ('$1,234.50', '−$11.10', '+$3.00')
    """
    text = number(abs(value), decimals)
    zero = not text.strip("0.,")
    sign = "" if zero else (MINUS if value < 0 else ("+" if signed else ""))
    return f"{sign}${text}"


def unit_price(usd_per_hour: float, unit: str) -> str:
    """A unit price per hour, small ones to three significant digits.

    >>> unit_price(2.8, "GPU"), unit_price(0.00052, "GB")
    ('$2.80 /GPU·h', '$0.000520 /GB·h')
    """
    amount = number(usd_per_hour, 2) if usd_per_hour >= 0.1 or usd_per_hour == 0 else significant(usd_per_hour)
    return f"${amount} /{unit}·h"


def usd_per_mtok(value: float) -> str:
    """Dollars per million tokens: four decimals below $10, as prices of tokens are quoted.

    >>> usd_per_mtok(0.07312), usd_per_mtok(12.345)
    ('$0.0731', '$12.35')
    """
    return usd(value, 4 if abs(value) < 10 else 2)


def percent(share: float, decimals: int = 0, signed: bool = False) -> str:
    """A share in [0, 1] as a percentage.

    >>> percent(0.38), percent(0.018, 1, signed=True), percent(-0.2)
    ('38 %', '+1.8 %', '−20 %')
    """
    text = number(100 * share, decimals)
    return f"{'+' if signed and share > 0 and text.strip('0.,') else ''}{text} %"


def size(size_bytes: float) -> str:
    """Bytes in the largest decimal unit that leaves at least one, to three significant digits.

    >>> size(1.5e12), size(1.049e9), size(0), size(999.9e9)
    ('1.50 TB', '1.05 GB', '0 GB', '1.00 TB')
    """
    if size_bytes == 0:
        return "0 GB"
    for unit_bytes, unit in _UNITS:
        if abs(size_bytes) >= 0.9995 * unit_bytes:
            return f"{significant(max(abs(size_bytes) / unit_bytes, 1.0) * math.copysign(1, size_bytes))} {unit}"
    return f"{number(size_bytes)} B"


def ms(seconds: float) -> str:
    """Seconds as milliseconds: whole from 10 ms up, three significant digits below.

    >>> ms(0.3334), ms(0.000208), ms(-0.1204)
    ('333 ms', '0.208 ms', '−120 ms')
    """
    value = 1e3 * seconds
    return f"{number(value) if abs(value) >= 9.995 or value == 0 else significant(value)} ms"


def seconds_text(seconds: float) -> str:
    """A duration for people.

    >>> seconds_text(0.21), seconds_text(75)
    ('0.2 s', '75 s')
    """
    return f"{number(seconds, 1 if seconds < 10 else 0)} s"


def safe(text: str, limit: int = 120) -> str:
    r"""Text from a user, harmless on any terminal: no controls, escapes, bidirectional overrides or line breaks.

    >>> safe("chat\x1b[31m\nred"), safe("a" * 6, limit=4)
    ('chat\\x1b[31m\\nred', 'aaa…')
    """
    shown = printable(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal (wide characters two, combining ones none).

    >>> width("abc"), width("模型"), width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def ascii_only(text: str) -> str:
    """The same text for a terminal that cannot show more than ASCII.

    >>> ascii_only("TTFT ≤ 1 s · 2×8")
    'TTFT <= 1 s . 2x8'
    """
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def joined(parts: Iterable[str], separator: str = " · ") -> str:
    """The parts that are not empty, joined."""
    return separator.join(part for part in parts if part)
