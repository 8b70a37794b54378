"""Scales whose ticks say what they count, and logarithmic ones with few, round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pyqtgraph as pg

_NARROW = 3.0
"""Up to this quotient of its ends a range is divided evenly; beyond, at 1, 2 and 5 of each power of ten."""
_WIDE = 100.0
"""From this quotient on only powers of ten are named."""
_STEPS = 4


class WrittenAxis(pg.AxisItem):
    """Below a plot, with ticks as `write` has them: a small plot has no room for a line that names the unit."""

    def __init__(self, write: Callable[[float], str]) -> None:
        super().__init__("bottom")
        self._write = write

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [self._write(value) for value in values]


class LogAxis(pg.AxisItem):
    """Ticks lie where the logarithms of round numbers are."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """One level of ticks, as logarithms to base 10."""
        return [(1.0, [math.log10(tick) for tick in round_between(10.0**minVal, 10.0**maxVal)])]

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [f"{10.0**value:.3g}" for value in values]


def round_between(low: float, high: float) -> list[float]:
    """Round numbers from low to high, both above 0."""
    if high <= _NARROW * low:
        step = _round_step((high - low) / _STEPS)
        return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    digits = (1.0,) if high >= _WIDE * low else (1.0, 2.0, 5.0)
    powers = np.arange(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    powers = powers[:: 1 + len(powers) // 8]
    return [d * 10.0**p for p in powers for d in digits if low <= d * 10.0**p <= high]


def _round_step(least: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least so much."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(d * power for d in (1, 2, 5, 10) if d * power >= least * (1 - 1e-9))
