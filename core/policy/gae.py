"""Generalized advantage estimation, as pure functions of arrays."""

import numpy as np

from core.types import Float32


def advantages(
    rewards: Float32, values: Float32, next_values: Float32, ends: np.ndarray, discount: float, gae_lambda: float
) -> Float32:
    """Return the advantages (T, N) in episodes of fixed length (Schulman et al. 2016, equation 16).

    rewards, values, next_values (T, N) float32: next_values[t] is the value after step t, before any reset
    ends (T, N) bool: whether an episode ended with this step. The end is a time limit, not a failure (A): the value
        after it counts, and only the sum over later deltas stops.
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
    """Return the values (T, N) after each step: the next row of values or, if an episode ended, the value before the reset.

    values (T, N); last (N,): values after the last step; ends (T, N) bool
    end_values (E,): one value for each true entry of `ends`, in order of time, then environment
    """
    following = np.concatenate([values[1:], last[None]])
    following[ends] = end_values
    return following
