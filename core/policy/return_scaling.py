"""How large returns are: the unit in which a value function learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.types import Float32

_MEMORY = 20_000
"""Steps after which an old return counts 1/e: a new reward snapshot is followed within a batch or two."""
_SMALLEST = 1e-4
"""Variance below which there is nothing to go by: a constant reward must not blow the values up."""


class ReturnScaling:
    """Standard deviation of the discounted sums of rewards, as the policy of late gathers them.

    Rewards come normalized, but how large their sums are depends on the task and the discount: between 1 and
    1 / (1 - discount). A value function that learns in units of this has targets near 1, so that its step size and
    the clipping of its gradient mean the same everywhere. The sums are taken over what was received, not over what the
    value function expects, so that they follow a reward that changes before the value function does.
    """

    def __init__(self, discount: float) -> None:
        self._discount = discount
        self._running = np.zeros(0)
        """(N,) sums so far, the latest reward counting fully."""
        self._moments = np.zeros(3)
        """Weight, and weighted sums of the returns and their squares."""
        self.value = 1.0

    def update(self, rewards: Float32, ends: np.ndarray) -> None:
        """Takes (T, N) rewards and the episodes' ends, after which a sum begins anew."""
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
        if variance > _SMALLEST:
            self.value = float(np.sqrt(variance))

    def get_state(self) -> dict[str, Any]:
        return {"returns_running": self._running.copy(), "returns_moments": np.append(self._moments, self.value)}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self._running = arrays["returns_running"].copy()
        self._moments, self.value = arrays["returns_moments"][:3].copy(), float(arrays["returns_moments"][3])
