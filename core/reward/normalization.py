"""Normalising the predicted reward of batches that are too small to tell what is usual."""

from __future__ import annotations

import numpy as np

from core.reward.ensemble import normalize_reward
from core.types import Float32

USUAL = 16_384
"""Steps that tell it. By a single batch of PPO the mean, and the values with it, jumped from each to the next; A2C's
batches of 80 often hold one moment of a game only, and by itself that is worth nothing."""


class RunningWindow:
    """The raw predictions of the latest steps, all by one snapshot of the ensemble."""

    def __init__(self, members: int) -> None:
        self.raw: Float32 = np.zeros((members, 0), np.float32)

    def forget(self) -> None:
        """Another snapshot has another scale."""
        self.raw = self.raw[:, :0]

    def normalized(self, raw: Float32, std: float) -> Float32:
        """(M, T, N) -> (T, N): as core.reward.ensemble.normalized, by these steps and those before, USUAL in all."""
        flat = raw.reshape(len(raw), -1)
        steps = flat.shape[1]
        self.raw = np.concatenate([self.raw, flat], axis=1)[:, -max(USUAL, steps) :]
        return normalize_reward(self.raw, std)[-steps:].reshape(raw.shape[1:])
