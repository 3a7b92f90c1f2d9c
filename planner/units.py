"""Units: the code computes in SI, people read and write GB, ms and TFLOPS; conversions happen at the edge.

A name ends in its unit (``fetch_s``, ``capacity_bytes``, ``usd_per_hour``). GB means 1e9 bytes throughout, as in
the prices and bandwidths of vendors; GiB (2**30) appears only where a source counts that way.
"""

from __future__ import annotations

GB = 1e9  # bytes
TB = 1e12  # bytes
GIB = 2.0**30  # bytes
TFLOP = 1e12  # floating-point operations
BILLION = 1e9  # parameters
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_DAY = 86400.0
KV_DTYPE_BYTES = {"bf16": 2.0, "fp8": 1.0}  # bytes per element of a KV cache


def seconds(milliseconds: float) -> float:
    """Milliseconds to seconds.

    >>> seconds(1500)
    1.5
    """
    return milliseconds / 1000.0


def milliseconds(seconds_: float) -> float:
    """Seconds to milliseconds.

    >>> milliseconds(0.25)
    250.0
    """
    return seconds_ * 1000.0


def to_bytes(gb: float) -> float:
    """GB (1e9 bytes) to bytes.

    >>> to_bytes(1.5)
    1500000000.0
    """
    return gb * GB


def to_gb(bytes_: float) -> float:
    """Bytes to GB (1e9 bytes).

    >>> to_gb(131_072 * 8_000)
    1.048576
    """
    return bytes_ / GB
