"""Axes: ticks with units, and logarithmic axes with few, round ticks."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pyqtgraph as pg

_NARROW = 3.0
"""Ranges up to this ratio of their ends have even ticks; wider ones have ticks at 1, 2 and 5 times powers of ten."""
_WIDE = 100.0
"""From this ratio on, only powers of ten have ticks."""


class UnitAxis(pg.AxisItem):
    """Bottom axis whose ticks are formatted by `write`, with the unit: a small plot has no room for an axis title."""

    def __init__(self, write: Callable[[float], str]) -> None:
        super().__init__("bottom")
        self._write = write

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [self._write(value) for value in values]


class LogAxis(pg.AxisItem):
    """Axis over base-10 logarithms, with ticks at round numbers."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """One level of ticks, as base-10 logarithms."""
        low, high = 10.0**minVal, 10.0**maxVal
        if high <= _NARROW * low:
            ticks = [tick for _, level in super().tickValues(low, high, size)[:2] for tick in level]
        else:
            powers = np.arange(math.floor(minVal), math.floor(maxVal) + 1)[:: 1 + math.ceil(maxVal - minVal) // 8]
            digits = (1.0,) if high >= _WIDE * low else (1.0, 2.0, 5.0)
            ticks = [d * 10.0**p for p in powers for d in digits if low <= d * 10.0**p <= high]
        return [(1.0, [math.log10(tick) for tick in ticks])]

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [f"{10.0**value:.3g}" for value in values]
