"""Record of seeds and actions, with which new environments reach the state of those whose state can't be saved."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.bool_]


class ActionReplay:
    """Seed of the last reset of each of N environments, and its actions since then, in the environment's own form."""

    def __init__(self, environments: int, longest: int, action: npt.NDArray[Any]) -> None:
        """longest: most steps between two resets; action: an example of an action, for its shape and dtype"""
        self._actions = np.zeros((environments, longest, *action.shape), action.dtype)
        self._lengths = np.zeros(environments, np.int64)
        self._seeds = np.zeros(environments, np.int64)

    def start(self, rows: Rows, seeds: npt.NDArray[np.int64]) -> None:
        """Record a reset of the environments `rows` (N,) with their entries of `seeds` (N,)."""
        self._seeds[rows] = seeds[rows]
        self._lengths[rows] = 0

    def add(self, actions: npt.NDArray[Any]) -> None:
        """Record one action (N, ...) of every environment."""
        self._actions[np.arange(len(actions)), self._lengths] = actions
        self._lengths += 1

    def play(self, envs: Sequence[gymnasium.Env[Any, Any]]) -> list[npt.NDArray[Any]] | None:
        """Reset and step the environments as recorded. Returns the last observation of each; None if one ends earlier."""
        last = []
        for env, seed, actions, length in zip(envs, self._seeds, self._actions, self._lengths, strict=True):
            observation, _ = env.reset(seed=int(seed), options={})
            for action in actions[:length]:
                observation, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:  # some environments refuse another step
                    return None
            last.append(np.asarray(observation))
        return last

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        used = self._actions[:, : self._lengths.max(initial=0)]
        return {"actions_seeds": self._seeds, "actions_lengths": self._lengths, "actions_actions": used}

    def set_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the state from `get_state`. Raises ValueError if an array has another shape."""
        self._seeds[:], self._lengths[:] = arrays["actions_seeds"], arrays["actions_lengths"]
        actions = arrays["actions_actions"]
        self._actions[:, : actions.shape[1]] = actions
