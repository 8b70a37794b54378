"""Normalization of the predicted reward of batches that are too small to be normalized by themselves."""

import numpy as np

from core.reward.ensemble import normalize_reward
from core.types import Float32

WINDOW_STEPS = 16_384
"""Steps over which a batch is normalized. Over a single batch of PPO, the mean jumped from batch to batch, and the
values with it; A2C's batches of 80 steps often show one moment of a game, in which differences mean nothing."""


class RunningWindow:
    """Raw predictions of the latest steps by one snapshot of the ensemble. raw: (M, up to WINDOW_STEPS) float32"""

    def __init__(self, members: int) -> None:
        self.raw: Float32 = np.zeros((members, 0), np.float32)

    def forget(self) -> None:
        """Empty the window, for a new snapshot with its own scale."""
        self.raw = self.raw[:, :0]

    def normalized(self, raw: Float32, std: float) -> Float32:
        """Add a batch's raw predictions (M, T, N) and return its rewards (T, N), normalized over the whole window."""
        flat = raw.reshape(len(raw), -1)
        steps = flat.shape[1]
        self.raw = np.concatenate([self.raw, flat], axis=1)[:, -max(WINDOW_STEPS, steps) :]
        return normalize_reward(self.raw, std)[-steps:].reshape(raw.shape[1:])
