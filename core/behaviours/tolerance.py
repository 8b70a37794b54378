"""The function `tolerance` of expressions: 1 within bounds, falling to 0 outside.

The shapes of the slope are those of Tassa et al., DeepMind Control Suite, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Value = Any
"""A float, or an array (N,)."""


def _within(scaled: Value, values: Value) -> Value:
    """Return `values` where the scaled distance is below 1, the end of the slope, else 0."""
    return np.where(np.abs(scaled) < 1, values, 0.0)


def _cosine(x: Value, v: Value) -> Value:
    scaled = x * np.arccos(2 * v - 1) / np.pi
    return _within(scaled, (1 + np.cos(np.pi * scaled)) / 2)


def _linear(x: Value, v: Value) -> Value:
    scaled = x * (1 - v)
    return _within(scaled, 1 - scaled)


def _quadratic(x: Value, v: Value) -> Value:
    scaled = x * np.sqrt(1 - v)
    return _within(scaled, 1 - scaled**2)


SHAPES: dict[str, Callable[[Value, Value], Value]] = {
    "gaussian": lambda x, v: np.exp(np.log(v) * x**2),
    "hyperbolic": lambda x, v: 1 / np.cosh(x * np.arccosh(1 / v)),
    "long_tail": lambda x, v: 1 / (x**2 * (1 / v - 1) + 1),
    "reciprocal": lambda x, v: 1 / (x * (1 / v - 1) + 1),
    "cosine": _cosine,
    "linear": _linear,
    "quadratic": _quadratic,
    "tanh_squared": lambda x, v: 1 - np.tanh(x * np.arctanh(np.sqrt(1 - v))) ** 2,
}
"""Shapes by name: functions of the distance to the bounds, in margins (0 or more), and of the value at one margin."""
REACH_ZERO = ("cosine", "linear", "quadratic")
"""Shapes whose value at one margin may be 0."""


def tolerance(
    x: Value, low: Value, high: Value, margin: Value = 0.0, value: Value = 0.1, shape: str = "gaussian"
) -> Value:
    """Return 1 where low <= x <= high, and elsewhere a value that falls with the distance to the nearest bound.

    margin: distance at which the result has fallen to `value`; with 0 it is 0 everywhere outside
    value: more than 0 and less than 1; 0 is possible for the shapes in REACH_ZERO
    shape: a name in SHAPES
    """
    margin, inside = np.asarray(margin, np.float64), (low <= x) & (x <= high)
    distance = np.where(x < low, low - x, x - high) / np.where(margin > 0, margin, 1.0)
    slope = SHAPES[shape](np.where(inside, 0.0, distance), np.asarray(value, np.float64))
    return np.where(inside, 1.0, np.where(margin > 0, slope, 0.0))
