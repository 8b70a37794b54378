"""Bounded series of figures: one writer, and readers that take snapshots. numpy only."""

from __future__ import annotations

import threading

import numpy as np

from core.records import Float64

_CAPACITY = 4096
SHOWN = 1000
"""Points that one curve may have: more would stall a plot (6.4 ms an update at 10,000, 3.7 at 1,000)."""


class Series:
    """Points (x, y) of a whole run in bounded memory: when it is full every second point is dropped."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        if capacity < 2:
            raise ValueError("a series needs room for two points")
        self._points = np.zeros((capacity, 2))
        self._count = 0
        self._stride, self._skipped = 1, 0
        self._lock = threading.Lock()

    def append(self, x: float, y: float) -> None:
        """Called by the one writer."""
        with self._lock:
            self._skipped += 1
            if self._skipped < self._stride:
                return
            self._skipped = 0
            if self._count == len(self._points):
                self._thin()
            self._points[self._count] = x, y
            self._count += 1

    def _thin(self) -> None:
        kept = self._points[: self._count : 2].copy()
        self._count = len(kept)
        self._points[: self._count] = kept
        self._stride *= 2

    def __len__(self) -> int:
        return self._count

    def snapshot(self, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Copies of x and y, evenly thinned to at most `limit` points; the newest is always among them."""
        with self._lock:
            points = self._points[: self._count].copy()
        if len(points) > limit:
            points = points[np.linspace(0, len(points) - 1, limit).round().astype(np.int64)]
        return points[:, 0], points[:, 1]


class Metrics:
    """Series by name, made when first written to."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._series: dict[str, Series] = {}

    def append(self, name: str, x: float, y: float) -> None:
        if name not in self._series:
            self._series = {**self._series, name: Series(self._capacity)}  # replaced whole: readers never see half
        self._series[name].append(x, y)

    def names(self) -> tuple[str, ...]:
        return tuple(self._series)

    def snapshot(self, name: str, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Empty arrays for a name that nothing was written to yet."""
        series = self._series.get(name)
        return series.snapshot(limit) if series else (np.empty(0), np.empty(0))
