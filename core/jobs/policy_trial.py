"""Comparison of the policy that has explored with one that starts anew, by the predicted reward.

An exploring policy is the better start where it has found what is wanted, such as a Hopper's turns in the air. Where it
has ended up somewhere from which nothing can be learned, such as a Half-Cheetah on its back, a policy that starts anew
is better. Both are trained for the same number of steps, one after the other, and the better one is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.config import Config
from core.events import Arrays, Event, PolicyChosen, PolicySetAside
from core.nn.state import require_array
from core.reward.ensemble import RewardEnsemble, standardize_members
from core.reward.image_ensemble import ImageEnsemble
from core.rollout.collector import RolloutBatch
from core.tasks import get_task

_ENVIRONMENTS_PER_KEPT = 4
"""Of so many environments, one is kept of the first policy's last batch."""


class PolicyTrial:
    """The phases of the comparison: it begins at the first reward, if the session has explored."""

    def __init__(self, config: Config) -> None:
        self._steps, self._explored = config.rollout.trial_steps, config.explored_steps
        self._dtype = np.uint8 if get_task(config.task).pictures else np.float32
        self._since: int | None = None
        """Environment steps at which the present phase began; None before the first."""
        self._first: tuple[np.ndarray, np.ndarray] | None = None
        """Observations (T, n, o) and actions (T, n, a) of the policy that was set aside."""
        self._over = not (self._steps and self._explored)

    def next_phase(self, env_steps: int, batch: RolloutBatch, ensemble: RewardEnsemble | ImageEnsemble) -> Event | None:
        """Returns the change of policy that is due after so many environment steps, of which the last are `batch`."""
        if self._since is None:
            self._since = env_steps
            self._over |= env_steps < self._explored  # answers from an earlier session came first
        if self._over or env_steps < self._since + self._steps:
            return None
        rows = batch.observations[:, ::_ENVIRONMENTS_PER_KEPT], batch.carried_out[:, ::_ENVIRONMENTS_PER_KEPT]
        if self._first is None:
            self._since, self._first = env_steps, (rows[0].copy(), rows[1])
            return PolicySetAside()
        both = np.stack([ensemble.predict(*self._first), ensemble.predict(*rows)], axis=1)  # (M, 2, T, n)
        first, second = standardize_members(both).mean(axis=(0, 2, 3))
        self._over, self._first = True, None
        return PolicyChosen(newest=bool(second >= first))

    def get_state(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and JSON values."""
        arrays = {} if self._first is None else {"observations": self._first[0], "actions": self._first[1]}
        return arrays, {"since": self._since, "over": self._over}

    def set_state(self, arrays: Arrays, values: dict[str, Any]) -> None:
        self._over = bool(values["over"])
        self._since = None if values["since"] is None else int(values["since"])
        if arrays:
            self._first = (
                require_array(arrays["observations"], self._dtype, -1, -1, -1),
                require_array(arrays["actions"], np.float32, -1, -1, -1),
            )
