"""Normalization of the members' predictions to one reward, over a batch or over the latest steps."""

import numpy as np

from core.types import Float32

WINDOW_STEPS = 16_384
"""Steps over which a batch is normalized. Over a single batch of PPO, the mean jumped from batch to batch, and the values
with it; A2C's batches of 80 steps often show a single moment of a game, in which differences are meaningless."""


def standardize_members(raw: Float32) -> Float32:
    """Standardize each member's raw predictions (M, ...) to mean 0 and standard deviation 1; constant ones to zeros."""
    axes = tuple(range(1, raw.ndim))
    centred = raw - raw.mean(axis=axes, keepdims=True)
    scale = centred.std(axis=axes, keepdims=True)
    return centred / np.where(scale > 1e-8, scale, np.inf)


def normalize_reward(raw: Float32, std: float) -> Float32:
    """Return rewards (...): the mean over the standardized members, with mean 0 and standard deviation `std` (2.2.3, A).

    Zeros if the mean over the members is constant. raw: raw predictions (M, ...)
    """
    mean = standardize_members(raw).mean(axis=0)
    deviation = float(mean.std())
    return (mean * (std / deviation) if deviation > 1e-8 else np.zeros_like(mean)).astype(np.float32)


def disagreement_std(raw: Float32) -> Float32:
    """Return the standard deviation (...) over the standardized members of raw predictions (M, ...).

    Added to the reward, it draws the policy to states where the members disagree, and so to clips worth asking about
    (Liang et al., Reward Uncertainty for Exploration in Preference-based Reinforcement Learning, 2022; not in the
    paper).
    """
    return standardize_members(raw).std(axis=0)


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
