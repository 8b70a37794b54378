"""Running moments of observations, for input normalization."""

import numpy as np

from core.nn.state import require_array
from core.types import Float64


class RunningMeanStd:
    """Mean and variance of all rows seen so far, by Chan et al.'s parallel update, in float64.

    count: number of rows; mean (size,); squares (size,): sums of squared deviations from the mean
    """

    def __init__(self, size: int) -> None:
        self.count = 0.0
        self.mean = np.zeros(size)
        self.squares = np.zeros(size)

    def update(self, rows: np.ndarray) -> None:
        """Add rows (..., size) of any number type."""
        rows = rows.reshape(-1, rows.shape[-1]).astype(np.float64)
        count, mean = len(rows), rows.mean(axis=0)
        deviations = rows - mean
        squares = (deviations * deviations).sum(axis=0)
        total = self.count + count
        delta = mean - self.mean
        self.squares += squares + delta**2 * self.count * count / total
        self.mean = self.mean + delta * count / total
        self.count = total

    @property
    def std(self) -> Float64:
        """Standard deviation (size,), at least 1e-3, so that a constant feature is not scaled up without limit."""
        return np.sqrt(np.maximum(self.squares / max(self.count, 1.0), 1e-6))

    def to_array(self) -> Float64:
        """Return an array (3, size): mean, sum of squared deviations, and the count, repeated."""
        return np.stack([self.mean, self.squares, np.full_like(self.mean, self.count)])

    def load_array(self, array: Float64) -> None:
        """Restore the moments from the result of `to_array`. Raises ValueError if it has another size or dtype."""
        self.mean, self.squares, counts = require_array(array, np.float64, 3, len(self.mean))
        self.count = float(counts.max(initial=0.0))
