"""Running scale of discounted returns: the unit of the value function's targets."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.nn.state import require_array
from core.types import Float32

_MEMORY = 20_000
"""Steps after which an old return has weight 1/e: the scale follows a new reward snapshot within a batch or two."""
_MIN_VARIANCE = 1e-4
"""Smallest variance at which the scale is updated, so that a constant reward is not scaled up without limit."""


class ReturnScaling:
    """Standard deviation of the discounted sums of recent rewards.

    Rewards are normalized, but the size of their discounted sums depends on task and discount: between 1 and
    1 / (1 - discount). In this unit the targets of a value function are near 1, so that its step size and gradient
    clipping have the same effect in every task. The sums are of rewards received, not of those that the value function
    expects, so that they follow a change of the reward before the value function does.

    value: the standard deviation, in units of the reward; 1 at first
    """

    def __init__(self, discount: float) -> None:
        self._discount = discount
        self._running = np.zeros(0)
        """(N,) discounted sums of past rewards, the latest one with weight 1."""
        self._moments = np.zeros(3)
        """(3,): weight of the returns so far, and weighted sums of the returns and of their squares."""
        self.value = 1.0

    def update(self, rewards: Float32, ends: np.ndarray) -> None:
        """Add rewards (T, N). ends: (T, N) bool, True at the last step of an episode, after which the sum restarts"""
        if len(self._running) != rewards.shape[1]:
            self._running = np.zeros(rewards.shape[1])
        sums = np.zeros(rewards.shape)
        for t in range(len(rewards)):
            sums[t] = self._running = rewards[t] + self._discount * self._running
            self._running = np.where(ends[t], 0.0, self._running)
        self._moments *= np.exp(-sums.size / _MEMORY)
        self._moments += sums.size, sums.sum(), (sums * sums).sum()
        weight, total, squares = self._moments
        variance = squares / weight - (total / weight) ** 2
        if variance > _MIN_VARIANCE:
            self.value = float(np.sqrt(variance))

    def get_state(self) -> dict[str, Any]:
        """Return returns_running (N,), and returns_moments (4,), whose last entry is `value`."""
        return {"returns_running": self._running.copy(), "returns_moments": np.append(self._moments, self.value)}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Restore the state from `get_state`; other entries are ignored. Raises KeyError or ValueError for a wrong array."""
        self._running = require_array(arrays["returns_running"], np.float64, -1)
        moments = require_array(arrays["returns_moments"], np.float64, 4)
        self._moments, self.value = moments[:3], float(moments[3])
