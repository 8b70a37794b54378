"""Bounded time series of training figures, for one writer and many readers, which take snapshots. Imports numpy only."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from core.types import Float64

CAPACITY = 4096
_LARGEST = 1e100
"""Bound on loaded values: plotting squares and subtracts them."""
SHOWN = 1000
"""Largest number of drawn points of a curve. More would slow down a plot (6.4 ms per update at 10,000, 3.7 at 1,000)."""


class Series:
    """Points (x, y) of a whole run in bounded memory: a full series drops every second point.

    x increases, except after `rewind`. Of several points with the same x, the latest y that is not NaN is kept.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._points = np.zeros((capacity, 2))
        self._count = 0
        self._latest = -math.inf
        """x of the newest point, kept or left out."""
        self.stride, self._skipped = 1, 0
        """Number of appended points per kept point, and number of points left out since the last kept one."""
        self._lock = threading.Lock()

    @staticmethod
    def from_points(points: Float64, stride: int) -> Series:
        """Restore a series from its `points()`, (n, 2), and `stride`. Raises ValueError if they are invalid."""
        pairs = points.ndim == 2 and points.shape[1] == 2 and len(points) <= CAPACITY and stride >= 1
        if not pairs or np.isnan(points[:, 0]).any() or (np.diff(points[:, 0]) <= 0).any():
            raise ValueError("its points are not those of a series")
        if (np.abs(points) > _LARGEST).any():
            raise ValueError("its points are too large to be drawn")
        series = Series()
        series._points[: len(points)] = points
        series._count, series.stride = len(points), stride
        series._latest = series._newest_kept()
        return series

    def append(self, x: float, y: float) -> None:
        """Add a point; a point whose x is before the latest is dropped. To be called by the writer only."""
        with self._lock:
            if x == self._latest and not self._skipped and not math.isnan(y):
                self._points[self._count - 1, 1] = y
            if not x > self._latest:  # NaN too
                return
            self._latest = x
            self._skipped += 1
            if self._skipped < self.stride:
                return
            self._skipped = 0
            if self._count == len(self._points):
                thinned = self._points[::2].copy()
                self._count = len(thinned)
                self._points[: self._count] = thinned
                self.stride *= 2
            self._points[self._count] = x, y
            self._count += 1

    def rewind(self, x: float) -> None:
        """Drop all points after x, for a training that was set back to x."""
        with self._lock:
            self._count = int(np.searchsorted(self._points[: self._count, 0], x, side="right"))
            self._latest, self._skipped = self._newest_kept(), 0

    def _newest_kept(self) -> float:
        return float(self._points[self._count - 1, 0]) if self._count else -math.inf

    def __len__(self) -> int:
        return self._count

    def snapshot(self, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Return copies of x and y, (n,) each, evenly thinned to at most `limit` points, including the latest."""
        points = self.points()
        if len(points) > limit:
            points = points[evenly(len(points), limit)]
        return points[:, 0], points[:, 1]

    def points(self) -> Float64:
        """Return a copy of all points, (n, 2)."""
        with self._lock:
            return self._points[: self._count].copy()


def evenly(length: int, count: int) -> npt.NDArray[np.int64]:
    """Return `count` indices of `length` items, evenly spread from the first to the last."""
    return np.linspace(0, length - 1, count).round().astype(np.int64)


class Metrics:
    """Series by name, created when first written to."""

    def __init__(self) -> None:
        self._series: dict[str, Series] = {}

    def append(self, name: str, x: float, y: float) -> None:
        if name not in self._series:
            self._series = {**self._series, name: Series()}  # a new dict: readers may be iterating
        self._series[name].append(x, y)

    def rewind(self, x: float) -> None:
        for series in self._series.values():
            series.rewind(x)

    def snapshot(self, name: str, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Return copies of x and y of one series, (n,) each, as `Series.snapshot` does; (0,) for an unknown name."""
        series = self._series.get(name)
        return series.snapshot(limit) if series else (np.empty(0), np.empty(0))

    def series(self) -> Mapping[str, Series]:
        return self._series

    def set_series(self, series: Mapping[str, Series]) -> None:
        self._series = dict(series)
