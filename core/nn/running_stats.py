"""TODO-DOC."""

from __future__ import annotations

import numpy as np


class RunningMeanStd:
    """Running mean and variance over the last axis's features (Chan et al.'s parallel update)."""

    def __init__(self, size: int) -> None:
        self.count = 0.0
        self.mean = np.zeros(size)
        self.squares = np.zeros(size)

    def update(self, rows: np.ndarray) -> None:
        """rows (..., size)"""
        rows = rows.reshape(-1, rows.shape[-1]).astype(np.float64)
        count, mean = len(rows), rows.mean(axis=0)
        apart = rows - mean
        squares = (apart * apart).sum(axis=0)
        total = self.count + count
        delta = mean - self.mean
        self.squares += squares + delta**2 * self.count * count / total
        self.mean = self.mean + delta * count / total
        self.count = total

    @property
    def std(self) -> np.ndarray:
        """At least 1e-3, so that a feature that never moves is not diverged up."""
        return np.sqrt(np.maximum(self.squares / max(self.count, 1.0), 1e-6))

    def to_array(self) -> np.ndarray:
        """(3, size): mean, sum of squared deviations, count."""
        return np.stack([self.mean, self.squares, np.full_like(self.mean, self.count)])

    def load_array(self, array: np.ndarray) -> None:
        self.mean, self.squares, self.count = array[0].copy(), array[1].copy(), float(array[2].max(initial=0.0))
