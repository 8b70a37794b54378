"""Closed-form check and correction of a value function after the reward has changed."""

import numpy as np

from core.types import Float32

_MIN_STEPS = 4096
"""Steps in one check; with fewer the estimated factor is too noisy."""
_TOLERANCE = 2.0
"""Factors between 1/2 and 2 are left to gradient steps: only a changed reward leads to others."""
_MIN_FACTOR, _MAX_FACTOR = 0.1, 10.0


class ValueCalibration:
    """Compares rewards with those that the value function implies.

    A value function v implies the reward d = v - discount * v', where v' is the next value. If the reward is a d + c, the
    correct value function is a v + c / (1 - discount). So a new reward snapshot that rescales, shifts or flips the reward
    can be followed at once; gradient steps would first have to unlearn the old values, with wrong advantages meanwhile.
    As v' is the noisy value of one sampled step, d can't serve as a regressor; v is used as an instrument instead:
    a = cov(v, r) / cov(v, d). This is least-squares temporal difference learning (Bradtke and Barto 1996) with the
    features v and 1.

    Steps accumulate until there are enough for a check, so batches may have any size.
    """

    def __init__(self, discount: float) -> None:
        self._discount = discount
        self.sums = np.zeros(6)
        """Sums of 1, v, d, r, v * d, v * r over the accumulated steps."""

    def update(self, rewards: Float32, values: Float32, following: Float32) -> tuple[float, float] | None:
        """Add a batch of rewards, values and following values, each (T, N).

        Returns (factor, offset) if a correction is due: factor * value + offset is a better value.
        """
        implied = values - self._discount * following
        v, d, r = (x.ravel().astype(np.float64) for x in (values, implied, rewards))
        self.sums += len(v), v.sum(), d.sum(), r.sum(), (v * d).sum(), (v * r).sum()
        if self.sums[0] < _MIN_STEPS:
            return None
        _, v_mean, d_mean, r_mean, vd_mean, vr_mean = self.sums / self.sums[0]
        self.sums = np.zeros(6)
        implied_covariance, reward_covariance = vd_mean - v_mean * d_mean, vr_mean - v_mean * r_mean
        if implied_covariance <= 0:  # positive in the long run; these steps are too few
            return None
        factor = reward_covariance / implied_covariance
        if 1 / _TOLERANCE <= factor <= _TOLERANCE:
            return None
        factor = float(np.copysign(np.clip(abs(factor), _MIN_FACTOR, _MAX_FACTOR), factor))
        return factor, float((r_mean - factor * d_mean) / (1 - self._discount))
