"""A new policy's attempt at the predicted reward, after the last answer.

A policy that has followed every change of the reward, and rewards for novelty and disagreement, may be stuck in what
it learned first: a Reacher that spins does not stop any more, although its predictors know better. A policy that starts
anew finds another optimum, which is better or worse (docs/experiments/person.md), and the predictors tell which.
"""

from __future__ import annotations

import numpy as np

from core.nn.state import require_array
from core.reward.ensemble import RewardEnsemble, standardize_members
from core.rollout.collector import RolloutBatch
from core.types import Float32, PolicyChange

_OBSERVATIONS, _ACTIONS = "earlier_observations", "earlier_actions"


class SecondAttempt:
    """Decides when a new policy takes over, and whether the earlier one returns.

    running: whether a new policy is being tried
    """

    def __init__(self) -> None:
        self._earlier: tuple[Float32, Float32] | None = None
        """Observations (T, N, o) and actions (T, N, a) of the earlier policy's last batch."""

    @property
    def running(self) -> bool:
        return self._earlier is not None

    def change(self, due: bool, batch: RolloutBatch, ensemble: RewardEnsemble) -> PolicyChange:
        """Return what becomes of the policy after this batch.

        due: whether a new policy should be tried at this moment
        """
        if due and self._earlier is None:
            self._earlier = batch.observations.copy(), batch.carried_out
            return PolicyChange.START_ANEW
        if due or self._earlier is None:
            return PolicyChange.NONE
        earlier, self._earlier = self._earlier, None
        new = ensemble.predict(batch.observations, batch.carried_out)
        return PolicyChange.STAY if _is_better(new, ensemble.predict(*earlier)) else PolicyChange.RETURN

    def get_state(self) -> dict[str, np.ndarray]:
        return {} if self._earlier is None else dict(zip((_OBSERVATIONS, _ACTIONS), self._earlier, strict=True))

    def set_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Restores `get_state`; other entries are ignored. Raises KeyError or ValueError if an array does not fit."""
        if _OBSERVATIONS in arrays:
            self._earlier = (
                require_array(arrays[_OBSERVATIONS], np.float32, -1, -1, -1),
                require_array(arrays[_ACTIONS], np.float32, -1, -1, -1),
            )


def _is_better(raw: Float32, other: Float32) -> bool:
    """Whether predictions (M, ...) of one batch are higher than those of another: mean of the standardized members."""
    both = standardize_members(np.concatenate([raw.reshape(len(raw), -1), other.reshape(len(other), -1)], axis=1))
    count = raw[0].size
    return bool(both[:, :count].mean() >= both[:, count:].mean())
