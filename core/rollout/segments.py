"""Segments: cut from rollouts without gaps in time, and kept in a bounded pool."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from core.io.segment_codec import compress_segment, frame_sequence
from core.types import Float32, Observations, Segment


class SegmentSource(Protocol):
    """What of a batch of environments (core.envs.base.Environment) decides how segments are kept."""

    count: int

    @property
    def states(self) -> npt.NDArray[Any]: ...

    @property
    def sizes(self) -> tuple[int, int, int]: ...


class SegmentBuilder:
    """Cuts the steps of N environments into segments of k. Segments never cross an episode's end.

    Of pictures it keeps each once: an observation is the one before moved on by one picture (core.envs.frame_stack).
    """

    def __init__(
        self,
        env: SegmentSource,
        length: int,
        stagger: np.ndarray,
        pictures: tuple[int, int, int] | None = None,
        turn: tuple[int, int] = (0, 1),
    ) -> None:
        """stagger (N,): steps each environment skips at first; pictures: the task's (core.tasks.base.Task.pictures);
        turn: (i, n) gives its segments the numbers that leave i when divided by n, as others have theirs."""
        self._length = length
        self._filled = -stagger.astype(np.int64)
        n, k, sizes = env.count, length, env.sizes
        self._pictures = pictures
        if pictures:
            self._observations = np.zeros((n, k + pictures[0] - 1, pictures[1] * pictures[2]), np.uint8)
        else:
            self._observations = np.zeros((n, k, sizes[0]), np.float32)
        self._actions = np.zeros((n, k, sizes[1]), np.float32)
        self._states = np.zeros((n, k, sizes[2]), env.states.dtype)
        self._rewards = np.zeros((n, k), np.float32)
        self.next_id, self._stride = turn

    def add(
        self,
        observations: Observations,
        actions: Float32,
        states: npt.NDArray[Any],
        true_rewards: Float32,
        ended: np.ndarray,
        diverged: np.ndarray,
        clip_available: np.ndarray,
        env_steps: int,
    ) -> Iterator[Segment]:
        """Takes one step of the environments; yields the segments that it completes, all of whose steps are clip_available.

        diverged (N,): whose simulation failed in this step: it is in no segment, nor is what was gathered before it
        """
        filled = self._filled
        filled[~clip_available & (filled > 0)] = 0
        rows = np.flatnonzero(clip_available & (filled >= 0))
        at = filled[rows]
        taken = slice(None) if len(rows) == len(ended) else rows  # as a rule of all: copied once, not twice
        self._see(rows, at, observations[taken])
        self._actions[rows, at] = actions[taken]
        self._states[rows, at], self._rewards[rows, at] = states[taken], true_rewards[taken]
        filled += clip_available | (filled < 0)
        filled[diverged] = 0
        full = np.flatnonzero(filled == self._length)
        for row in full:
            yield self._cut(int(row), env_steps)
        filled[full] = 0
        filled[ended] = 0

    def _see(self, rows: npt.NDArray[np.int64], at: npt.NDArray[np.int64], seen: Observations) -> None:
        if self._pictures is None:
            self._observations[rows, at] = seen
            return
        depth, height, width = self._pictures
        older = depth - 1
        stacks = seen.reshape(-1, depth, height * width)
        self._observations[rows, older + at] = stacks[:, -1]
        begins = at == 0
        self._observations[rows[begins], :older] = stacks[begins, :-1]

    def _cut(self, row: int, env_steps: int) -> Segment:
        self.next_id += self._stride
        rewards = None if np.isnan(self._rewards[row, 0]) else self._rewards[row].copy()
        kept = (self._observations, self._actions, self._states)
        seen, actions, states = (array[row].copy() for array in kept)
        segment = Segment(self.next_id, seen, actions, states, rewards, env_steps)
        if self._pictures is None:
            return segment
        depth, *sides = self._pictures
        return compress_segment(segment, frame_sequence(seen.reshape(-1, *sides), depth))

    def get_state(self) -> dict[str, np.ndarray]:
        names = ("filled", "observations", "actions", "states", "rewards")
        return {name: getattr(self, f"_{name}") for name in names}

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether they are such a cutter's: an earlier version kept whole stacks, and without a window there are no
        pictures to show."""
        return all(arrays[name].shape == own.shape for name, own in self.get_state().items())

    def set_state(self, arrays: Mapping[str, np.ndarray], next_id: int) -> None:
        for name, values in arrays.items():
            getattr(self, f"_{name}")[:] = values
        self.next_id = next_id


class SegmentPool:
    """The latest segments, at most `capacity`. Written by the rollout alone."""

    def __init__(self, capacity: int) -> None:
        self._segments: deque[Segment] = deque(maxlen=capacity)

    def add(self, segment: Segment) -> None:
        self._segments.append(segment)

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, index: int) -> Segment:
        return self._segments[index]

    def all(self) -> list[Segment]:
        return list(self._segments)
