"""What environments that can't be saved were given since they last started, to bring others to the same point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.bool_]


class ActionReplay:
    """Of each of N environments the seed it started from, and the actions since, as the environment took them."""

    def __init__(self, environments: int, longest: int, action: npt.NDArray[Any]) -> None:
        """longest: as many steps as any environment takes between two starts; action: one of them, for its kind."""
        self._actions = np.zeros((environments, longest, *action.shape), action.dtype)
        self._lengths = np.zeros(environments, np.int64)
        self._seeds = np.zeros(environments, np.int64)

    def start(self, rows: Rows, seeds: npt.NDArray[np.int64]) -> None:
        """Those rows of the environments start anew, from their ones of the (N,) seeds."""
        self._seeds[rows] = seeds[rows]
        self._lengths[rows] = 0

    def add(self, actions: npt.NDArray[Any]) -> None:
        """(N, ...) what all are given now."""
        self._actions[np.arange(len(actions)), self._lengths] = actions
        self._lengths += 1

    def play(self, envs: Sequence[gymnasium.Env[Any, Any]]) -> list[npt.NDArray[Any]]:
        """Brings the environments to where those of the tapes are; what each shows then."""
        return [self._play(row, env) for row, env in enumerate(envs)]

    def _play(self, row: int, env: gymnasium.Env[Any, Any]) -> npt.NDArray[Any]:
        seen, _ = env.reset(seed=int(self._seeds[row]), options={})
        for action in self._actions[row, : self._lengths[row]]:
            seen, *_ = env.step(action)
        return np.asarray(seen)

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        used = self._actions[:, : self._lengths.max(initial=0)]
        return {"tape_seeds": self._seeds, "tape_lengths": self._lengths, "tape_actions": used}

    def set_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """ValueError where the arrays are not those of such tapes."""
        seeds, lengths, actions = (arrays[f"tape_{name}"] for name in ("seeds", "lengths", "actions"))
        count, longest = self._actions.shape[:2]
        alike = actions.dtype == self._actions.dtype and actions.shape[2:] == self._actions.shape[2:]
        counted = seeds.shape == lengths.shape == (count,) and 0 <= lengths.min() <= lengths.max() <= longest
        if not (alike and counted and len(actions) == count and lengths.max() <= actions.shape[1] and seeds.min() >= 0):
            raise ValueError("what the environments were given does not fit them")
        self._seeds[:], self._lengths[:] = seeds, lengths
        self._actions[:, : actions.shape[1]] = actions[:, :longest]
