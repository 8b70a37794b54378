"""Bounded series of figures: one writer, and readers that take snapshots. numpy only."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

import numpy as np

from core.types import Float64

CAPACITY = 4096
"""Points that one series keeps."""
_LARGEST = 1e100
"""Differences and squares of larger figures would overflow where they are drawn."""
SHOWN = 1000
"""Points that one curve may have: more would stall a plot (6.4 ms an update at 10,000, 3.7 at 1,000)."""


class Series:
    """Points (x, y) of a whole run in bounded memory: when it is full every second point is dropped.

    x never goes back, except by `rewind`; of several points with the same x the newest that is a number stays.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 2:
            raise ValueError("a series needs room for two points")
        self._points = np.zeros((capacity, 2))
        self._count = 0
        self._stride, self._skipped = 1, 0
        self._lock = threading.Lock()

    def append(self, x: float, y: float) -> None:
        """Called by the one writer. A point before the newest is no news and is dropped."""
        with self._lock:
            newest = self._points[self._count - 1, 0] if self._count else -math.inf
            if x == newest and not math.isnan(y):
                self._points[self._count - 1, 1] = y
            elif x > newest:
                self._add(x, y)

    def _add(self, x: float, y: float) -> None:
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

    def rewind(self, x: float) -> None:
        """Forgets what came after x: training has gone back to there."""
        with self._lock:
            self._count = int(np.searchsorted(self._points[: self._count, 0], x, side="right"))

    def __len__(self) -> int:
        return self._count

    def snapshot(self, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Copies of x and y, evenly thinned to at most `limit` points; the newest is always among them."""
        points = self.points()
        if len(points) > limit:
            points = points[np.linspace(0, len(points) - 1, limit).round().astype(np.int64)]
        return points[:, 0], points[:, 1]

    def points(self) -> Float64:
        """(n, 2): a copy of all that is kept."""
        with self._lock:
            return self._points[: self._count].copy()

    @property
    def stride(self) -> int:
        """Of how many points that are appended one is kept by now."""
        return self._stride

    @staticmethod
    def of(points: Float64, stride: int, capacity: int = CAPACITY) -> Series:
        """The series that had these points (n, 2) and this stride; ValueError where there never was such a one."""
        pairs = points.ndim == 2 and points.shape[1] == 2 and len(points) <= capacity and stride >= 1
        if not pairs or np.isnan(points[:, 0]).any() or (np.diff(points[:, 0]) <= 0).any():
            raise ValueError("its points are not those of a series")
        if (np.abs(points) > _LARGEST).any():
            raise ValueError("its points are too large to be drawn")
        made = Series(capacity)
        made._points[: len(points)] = points
        made._count, made._stride = len(points), stride
        return made


class Metrics:
    """Series by name, made when first written to."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._series: dict[str, Series] = {}

    def append(self, name: str, x: float, y: float) -> None:
        if name not in self._series:
            self._series = {**self._series, name: Series(self._capacity)}  # replaced whole: readers never see half
        self._series[name].append(x, y)

    def rewind(self, x: float) -> None:
        """Forgets what came after x in every series."""
        for series in self._series.values():
            series.rewind(x)

    def names(self) -> tuple[str, ...]:
        return tuple(self._series)

    def snapshot(self, name: str, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Empty arrays for a name that nothing was written to yet."""
        series = self._series.get(name)
        return series.snapshot(limit) if series else (np.empty(0), np.empty(0))

    def series(self) -> Mapping[str, Series]:
        """All of them, to be kept."""
        return self._series

    def take(self, series: Mapping[str, Series]) -> None:
        """Goes on with these, in place of those that there are."""
        self._series = dict(series)
