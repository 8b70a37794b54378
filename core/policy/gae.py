"""Generalised advantage estimation: a pure function."""

from __future__ import annotations

import numpy as np

from core.types import Float32


def advantages(
    rewards: Float32, values: Float32, next_values: Float32, ends: np.ndarray, discount: float, gae_lambda: float
) -> Float32:
    """Advantages (T, N) of fixed-length episodes (Schulman et al. 2016, equation 16).

    rewards, values, next_values (T, N): next_values[t] is the value of what followed step t, before any reset. The
    end of an episode is a time limit, not a failure (A): its value counts, and only the sum over later deltas stops.
    """
    deltas = rewards + discount * next_values - values
    carry = discount * gae_lambda * ~ends
    result = np.zeros_like(deltas)
    running = np.zeros(deltas.shape[1], np.float32)
    for t in range(len(deltas) - 1, -1, -1):
        running = deltas[t] + carry[t] * running
        result[t] = running
    return result


def following_values(values: Float32, last: Float32, ends: np.ndarray, end_values: Float32) -> Float32:
    """(T, N) value of what followed each step: the next row, the value before a reset where an episode ended.

    values (T, N), last (N,) after the last step, end_values in the order of ends' true entries (time, environment).
    """
    following = np.concatenate([values[1:], last[None]])
    following[ends] = end_values
    return following
