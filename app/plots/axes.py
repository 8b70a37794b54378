"""Axes: ticks with units, and logarithmic axes with few, round ticks."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pyqtgraph as pg

_NARROW = 3.0
"""Ranges up to this ratio of their ends have even ticks; wider ones have ticks at 1, 2 and 5 times powers of ten."""
_WIDE = 100.0
"""From this ratio on, only powers of ten have ticks."""
_STEPS = 4


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
        return [(1.0, [math.log10(tick) for tick in round_ticks(10.0**minVal, 10.0**maxVal)])]

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [f"{10.0**value:.3g}" for value in values]


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, both positive."""
    if high <= _NARROW * low:
        step = _round_step((high - low) / _STEPS)
        return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    digits = (1.0,) if high >= _WIDE * low else (1.0, 2.0, 5.0)
    powers = np.arange(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    powers = powers[:: 1 + len(powers) // 8]
    return [d * 10.0**p for p in powers for d in digits if low <= d * 10.0**p <= high]


def _round_step(least: float) -> float:
    """The smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(d * power for d in (1, 2, 5, 10) if d * power >= least * (1 - 1e-9))
