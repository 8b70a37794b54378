"""Does the value function still fit the reward? A closed form that notices, and mends, a reward that changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.types import Float32

_ENOUGH = 4096
"""Steps in a judgement. Fewer leave the factor to chance."""
_TOLERATED = 2.0
"""A factor within 1/2 and 2 is left to the gradient steps: only a reward that changed is outside."""
_SMALLEST, _LARGEST = 0.1, 10.0


@dataclass(frozen=True)
class Correction:
    """A better value is factor * value + offset."""

    factor: float
    offset: float


class ValueCalibration:
    """Compares the rewards with those that the value function implies.

    A value function v implies the reward d = v - discount * v', v' being the value of what follows. If the reward is
    a d + c, the right value function is a v + c / (1 - discount): a new reward snapshot that rescales, shifts or flips
    the reward is followed at once, where gradient steps first have to unlearn the old values, and advantages are wrong
    until they have. As v' is the noisy value of one sampled step, d is no regressor to trust; v is the instrument:
    a = cov(v, r) / cov(v, d), which is least-squares temporal difference learning (Bradtke and Barto 1996) with the
    features v and 1.

    Steps are gathered until there are enough of them for a judgement, so it serves batches of any size.
    """

    def __init__(self, discount: float) -> None:
        self._discount = discount
        self.sums = np.zeros(6)
        """Of 1, v, d, r, v * d, v * r over the steps gathered so far."""

    def judge(self, rewards: Float32, values: Float32, following: Float32) -> Correction | None:
        """Takes (T, N) rewards, values and values of what followed; None while there is nothing to mend."""
        implied = values - self._discount * following
        v, d, r = (x.ravel().astype(np.float64) for x in (values, implied, rewards))
        self.sums += len(v), v.sum(), d.sum(), r.sum(), (v * d).sum(), (v * r).sum()
        if self.sums[0] < _ENOUGH:
            return None
        count, v_mean, d_mean, r_mean, vd_mean, vr_mean = self.sums / self.sums[0]
        self.sums = np.zeros(6)
        along, with_reward = vd_mean - v_mean * d_mean, vr_mean - v_mean * r_mean
        if along <= 0:  # in the long run it is positive; too few steps to tell
            return None
        factor = with_reward / along
        if 1 / _TOLERATED <= factor <= _TOLERATED:
            return None
        factor = float(np.copysign(np.clip(abs(factor), _SMALLEST, _LARGEST), factor))
        return Correction(factor, float((r_mean - factor * d_mean) / (1 - self._discount)))
