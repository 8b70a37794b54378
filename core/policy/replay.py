"""The replay memory of SAC: the latest steps of a session, from which minibatches are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.events import REPLAY_PREFIX, Arrays, RolloutBatchReady
from core.nn.state import require_array
from core.policy.gae import after_each_step


@dataclass(frozen=True)
class Transitions:
    """Steps of robots: observations (B, o) before, actions (B, a), rewards (B,) and observations (B, o) after each.

    rewards: as the batch had them; SAC predicts the reward anew, except on the true reward
    """

    observations: Tensor
    actions: Tensor
    rewards: Tensor
    following: Tensor


_MAX_BYTES = 128 << 20
"""Largest size of the memory. A checkpoint has it without `following` where that is the observation of another row."""


class Replay:
    """Up to `capacity` steps, or fewer of a robot with many observations; a new one takes the place of the oldest.

    Unused memory is reserved, but not occupied.
    """

    def __init__(self, capacity: int, observation_size: int, action_size: int, device: torch.device) -> None:
        capacity = min(capacity, _MAX_BYTES // (4 * (2 * observation_size + action_size + 1)))
        shapes: tuple[tuple[int, ...], ...] = (observation_size,), (action_size,), (), (observation_size,)
        self._columns = tuple(torch.zeros(capacity, *shape, device=device) for shape in shapes)
        """In the order of Transitions."""
        self._device = device
        self.capacity, self.count, self._position = capacity, 0, 0
        self._robots = 1
        """Number of robots in a batch, and so the distance between two steps of one robot."""

    def add(self, batch: RolloutBatchReady) -> None:
        """Add the steps of a batch. The step that ends an episode is followed by the observation before the reset."""
        self._robots = batch.rewards.shape[1]
        after = after_each_step(batch.observations, batch.last_observations, batch.ends, batch.end_observations)
        arrays = batch.observations, batch.actions, batch.rewards, after
        rows = [np.ascontiguousarray(array.reshape(batch.rewards.size, -1)[-self.capacity :]) for array in arrays]
        places = (self._position + torch.arange(len(rows[0]))) % self.capacity
        for column, values in zip(self._columns, rows, strict=True):
            added = torch.as_tensor(values, dtype=torch.float32, device=self._device)
            column[places] = added.reshape(-1, *column.shape[1:])
        self._position = (self._position + len(places)) % self.capacity
        self.count = min(self.capacity, self.count + len(places))

    def draw(self, rng: np.random.Generator, count: int, length: int) -> tuple[Transitions, Tensor]:
        """Return `count` runs of up to `length` successive steps of one robot, which begin at random with replacement.

        The steps are (length * count), the first ones of all runs before the second ones, and so on. The mask (length,
        count) is 1 for the steps of a run and 0 after its end, which is that of the episode or of the memory.
        """
        first = torch.as_tensor(rng.integers(self.count, size=count), device=self._device)
        steps = self._at(torch.cat([(first + self._robots * number) % self.capacity for number in range(length)]))
        before, after = (rows.view(length, count, -1) for rows in (steps.observations, steps.following))
        continued = (after[:-1] == before[1:]).all(2)  # else the next step is of another episode
        return steps, torch.cat([torch.ones(1, count, device=self._device), continued]).cumprod(0)

    def spread(self, count: int) -> Transitions:
        """Return at most `count` steps, evenly spread over the memory."""
        return self._at(torch.linspace(0, self.count - 1, min(count, self.count), device=self._device).long())

    def _at(self, places: Tensor) -> Transitions:
        return Transitions(*(column.index_select(0, places) for column in self._columns))

    def get_state(self) -> Arrays:
        """Return the occupied rows, the position of the next one, and what can't be read from another row.

        That is the observation after a step whose successor is not in the memory.
        """
        observations, actions, rewards, following = (column[: self.count] for column in self._columns)
        successors = self._successors()
        ends = (observations[successors] != following).any(1).nonzero().flatten()
        arrays = dict(zip(_NAMES, (observations, actions, rewards, ends, following[ends]), strict=True))
        saved = {name: array.cpu().numpy().copy() for name, array in arrays.items()}
        return {**saved, _PLACES: np.array([self._position, self._robots])}

    def set_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the state from `get_state`. Raises KeyError or ValueError if it does not fit."""
        position, robots = require_array(arrays[_PLACES], np.int64, 2).tolist()
        *given, ends, after = (arrays[name] for name in _NAMES)
        count = len(given[0])
        if not 0 <= position <= count <= self.capacity or robots < 1:
            raise ValueError("the steps to replay do not fit")
        self.count, self._position, self._robots = count, position, robots
        *columns, following = (column[:count] for column in self._columns)
        for column, rows in zip(columns, given, strict=True):
            column.copy_(torch.as_tensor(require_array(rows, np.float32, *column.shape), device=self._device))
        ends = require_array(ends, np.int64, -1)
        if len(ends) and not 0 <= ends.min() <= ends.max() < count:
            raise ValueError("the ends of the steps to replay do not fit")
        after = require_array(after, np.float32, len(ends), following.shape[1])
        following.copy_(columns[0][self._successors()])
        following[torch.as_tensor(ends, device=self._device)] = torch.as_tensor(after, device=self._device)

    def _successors(self) -> Tensor:
        """Return for each occupied row the place of the same robot's next step, or any other if it is not kept."""
        places = (torch.arange(self.count, device=self._device) + self._robots) % self.capacity
        return places.clamp_max(self.count - 1)


_NAMES = tuple(f"{REPLAY_PREFIX}{name}" for name in ("observations", "actions", "rewards", "ends", "after"))
"""Columns of the occupied rows, the rows whose successor is not in the memory, and the observations after these."""
_PLACES = f"{REPLAY_PREFIX}places"
"""Position of the next row, and number of robots."""
