"""Hit-rate laws of the oracle: the law, its inverse, and what random routing does to both.

Capacities are bytes of cache shared by the whole service. All functions take floats or numpy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Law:
    """h(K) and the smallest K with h(K) >= H, at the planned load.

    The observed curve belongs to a load ``at_requests_per_second``; at another load it is read at
    ``K * observed / planned``.
    """

    def __init__(self, spec: dict[str, Any], bytes_per_token: float, planned_rps: float) -> None:
        """Read the reuse mapping of a scenario; tokens become bytes with ``bytes_per_token``."""
        self.kind: str = spec["law"]
        observed = spec.get("at_requests_per_second") or planned_rps
        self.stretch = planned_rps / observed
        self.floor = 0.0
        if self.kind == "power":
            self.beta = float(spec["beta"])
            self.rate = float(spec["hit_rate"])
            self.at = _bytes(spec, "at", bytes_per_token)
            self.ceiling = float(spec["ceiling"])
        elif self.kind == "hill":
            self.floor = float(spec["floor"])
            self.ceiling = float(spec["ceiling"])
            self.half = _bytes(spec, "half", bytes_per_token)
            self.slope = float(spec["slope"])
        elif self.kind == "measured":
            unit = 1e9 if spec.get("points_gb") else bytes_per_token
            points = spec.get("points_gb") or spec["points_tokens"]
            self.xs = np.array([0.0] + [p[0] * unit for p in points])
            self.ys = np.array([0.0] + [p[1] for p in points])
            self.ceiling = float(self.ys[-1])
        else:
            raise ValueError(self.kind)

    def h(self, capacity: Any) -> Any:
        """Hit rate at ``capacity`` bytes."""
        k = np.maximum(np.asarray(capacity, float) / self.stretch, 0.0)
        if self.kind == "power":
            return np.minimum(self.ceiling, self.rate * (k / self.at) ** self.beta)
        if self.kind == "hill":
            u = (k / self.half) ** self.slope
            return np.where(k > 0, self.floor + (self.ceiling - self.floor) * u / (1 + u), 0.0)
        return np.interp(k, self.xs, self.ys)

    def inverse(self, hits: Any) -> Any:
        """Smallest capacity (bytes) whose hit rate reaches ``hits``; infinite where none does."""
        want = np.asarray(hits, float)
        if self.kind == "power":
            k = self.at * (np.maximum(want, 0.0) / self.rate) ** (1 / self.beta)
            k = np.where(want > self.ceiling, np.inf, k)
        elif self.kind == "hill":
            part = np.maximum(want - self.floor, 0.0) / (self.ceiling - self.floor)
            with np.errstate(divide="ignore", invalid="ignore"):
                k = np.where(part >= 1, np.inf, self.half * (part / (1 - part)) ** (1 / self.slope))
        else:
            xs, ys = self._rising()
            k = np.where(want > ys[-1], np.inf, np.interp(want, ys, xs))
        return np.where(want <= 0, 0.0, k * self.stretch)

    def slope_at(self, capacity: float) -> float:
        """dh/dK at ``capacity`` > 0 bytes (right of a corner)."""
        k = capacity / self.stretch
        if self.kind == "power":
            h = self.rate * (k / self.at) ** self.beta
            return 0.0 if h >= self.ceiling else self.beta * h / capacity
        if self.kind == "hill":
            u = (k / self.half) ** self.slope
            return float((self.ceiling - self.floor) * self.slope * u / (1 + u) ** 2 / capacity)
        i = int(np.searchsorted(self.xs, k, side="right"))
        if i >= len(self.xs):
            return 0.0
        return float((self.ys[i] - self.ys[i - 1]) / (self.xs[i] - self.xs[i - 1]) / self.stretch)

    def kinks(self) -> list[float]:
        """Hit rates at which the inverse law has a corner."""
        return [float(y) for y in self.ys] if self.kind == "measured" else [self.floor, self.ceiling]

    def _rising(self) -> tuple[np.ndarray, np.ndarray]:
        """The points without flat stretches (the first capacity of each hit rate is kept)."""
        keep = np.concatenate([[True], np.diff(self.ys) > 0])
        # a flat stretch followed by a rise: the rise starts at its last point, the inverse jumps there
        xs, ys = list(self.xs[:1]), list(self.ys[:1])
        for i in range(1, len(self.xs)):
            if keep[i]:
                if not keep[i - 1]:
                    xs.append(self.xs[i - 1])
                    ys.append(np.nextafter(self.ys[i - 1], 2.0))
                xs.append(self.xs[i])
                ys.append(self.ys[i])
        return np.array(xs), np.array(ys)


class SplitLaw:
    """h_n(K): ``copies`` caches that see random shares of the same requests, K their total."""

    def __init__(self, law: Law, copies: int) -> None:
        """``copies`` = 1 leaves the law as it is (one logical cache)."""
        self.law, self.copies = law, copies
        z = (law.ceiling - law.floor) / (1 - law.floor)
        self.dilution = copies - (copies - 1) * z
        self.ceiling = law.floor + (law.ceiling - law.floor) / self.dilution

    def h(self, capacity: Any) -> Any:
        """Hit rate of the split cache at ``capacity`` bytes in total."""
        x = self.law.h(np.asarray(capacity, float) * self.dilution / self.copies)
        return np.minimum(x, self.law.floor) + np.maximum(x - self.law.floor, 0.0) / self.dilution

    def inverse(self, hits: Any) -> Any:
        """Smallest total capacity that reaches ``hits``."""
        want = np.asarray(hits, float)
        floor = self.law.floor
        x = np.where(want <= floor, want, floor + (want - floor) * self.dilution)
        return self.law.inverse(x) * self.copies / self.dilution

    def kinks(self) -> list[float]:
        """Hit rates at which the inverse has a corner."""
        floor = self.law.floor
        return [y if y <= floor else floor + (y - floor) / self.dilution for y in self.law.kinks()]


def _bytes(spec: dict[str, Any], key: str, bytes_per_token: float) -> float:
    """``<key>_gb`` or ``<key>_tokens`` as bytes."""
    if spec.get(f"{key}_gb") is not None:
        return float(spec[f"{key}_gb"]) * 1e9
    return float(spec[f"{key}_tokens"]) * bytes_per_token
