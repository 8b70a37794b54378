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


def after_each_step(rows: Float32, last: Float32, ends: np.ndarray, at_ends: Float32) -> Float32:
    """Return the entries (T, N, ...) after each step: the next row's or, if an episode ended, those before the reset.

    rows (T, N, ...): values or observations before each step; last (N, ...): after the last step; ends (T, N) bool
    at_ends (E, ...): one entry for each true entry of `ends`, in order of time, then environment
    """
    result = np.concatenate([rows[1:], last[None]])
    result[ends] = at_ends
    return result
