"""Segments, cut from rollouts one after the other, from the start of each episode.

The remaining steps at the end of an episode, fewer than a segment has, are dropped.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from core.envs.base import Step, VectorEnv
from core.io.segment_codec import compress_segment
from core.types import Float32, Observations, Segment

_KEPT = ("filled", "observations", "actions", "states", "rewards")


class SegmentBuilder:
    """Cuts the steps of N environments into segments of k steps. Segments never cross the end of an episode.

    Each picture is stored once, since an observation shares all but its last picture with the one before.
    """

    def __init__(
        self,
        env: VectorEnv,
        length: int,
        stagger: np.ndarray,
        pictures: tuple[int, int, int] | None = None,
        turn: tuple[int, int] = (0, 1),
        gap: int = 0,
        shown: int | None = None,
    ) -> None:
        """Create a builder for segments of `length` steps.

        stagger (N,): steps that each environment skips at first
        pictures: shape of a stack of pictures (core.tasks.base.Task.pictures), or None
        turn: (i, n) for segment IDs with remainder i modulo n, so that n builders never assign the same ID
        gap: steps that each environment skips after each segment, so that short ones do not fill the pool
        shown: number of environments, from the first on, of which clips can be shown; None for all
        """
        self._length, self._gap = length, gap
        n, k, sizes = env.count if shown is None else shown, length, env.sizes
        self._filled = -stagger[:n].astype(np.int64)
        self._pictures = pictures
        if pictures:
            self._observations = np.zeros((n, k + pictures[0] - 1, pictures[1] * pictures[2]), np.uint8)
        else:
            self._observations = np.zeros((n, k, sizes[0]), np.float32)
        self._actions = np.zeros((n, k, sizes[1]), np.float32)
        self._states = np.zeros((n, k, sizes[2]), env.states.dtype)
        self._rewards = np.zeros((n, k), np.float32)
        self.last_id, self._stride = turn

    def add(
        self,
        observations: Observations,
        actions: Float32,
        states: npt.NDArray[Any],
        step: Step,
        clip_available: np.ndarray,
        env_steps: int,
    ) -> Iterator[Segment]:
        """Add one step of all environments; yield the segments that it completes.

        If a simulation failed, its step and its segment in progress are dropped.

        observations (N, o), states (N, S): before the step; actions (N, a): as carried out; step: result of the actions
        clip_available (N,) bool: False for environments whose step and segment in progress are dropped
        env_steps: number of the session's steps, stored with the segments
        """
        filled = self._filled
        clip_available = clip_available[: len(filled)]
        filled[~clip_available & (filled > 0)] = 0
        rows = np.flatnonzero(clip_available & (filled >= 0))
        at = filled[rows]
        taken = slice(None) if len(rows) == len(observations) else rows  # a slice, as in most steps, saves a copy
        self._store_observations(rows, at, observations[taken])
        self._actions[rows, at] = actions[taken]
        self._states[rows, at], self._rewards[rows, at] = states[taken], step.true_rewards[taken]
        filled += clip_available | (filled < 0)
        filled[step.diverged[: len(filled)]] = 0
        full = np.flatnonzero(filled == self._length)
        for row in full:
            yield self._cut(int(row), env_steps)
        filled[full] = -self._gap
        ended = step.ended[: len(filled)]  # a gap continues beyond the end of an episode
        filled[ended] = np.minimum(filled[ended], 0) if self._gap else 0

    def _store_observations(
        self, rows: npt.NDArray[np.int64], at: npt.NDArray[np.int64], observations: Observations
    ) -> None:
        """Store observations (n, o) of the environments `rows` (n,) as their steps `at` (n,)."""
        if self._pictures is None:
            self._observations[rows, at] = observations
            return
        depth, height, width = self._pictures
        older = depth - 1
        stacks = observations.reshape(-1, depth, height * width)
        self._observations[rows, older + at] = stacks[:, -1]
        begins = at == 0
        self._observations[rows[begins], :older] = stacks[begins, :-1]

    def _cut(self, row: int, env_steps: int) -> Segment:
        self.last_id += self._stride
        rewards = None if np.isnan(self._rewards[row, 0]) else self._rewards[row].copy()
        observations, actions, states = (
            array[row].copy() for array in (self._observations, self._actions, self._states)
        )
        segment = Segment(self.last_id, observations, actions, states, rewards, env_steps)
        if self._pictures is None:
            return segment
        return compress_segment(segment, observations.reshape(-1, *self._pictures[1:]))

    def get_state(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, f"_{name}") for name in _KEPT}

    def set_state(self, arrays: Mapping[str, np.ndarray], last_id: int) -> None:
        """Restore the state from `get_state`, and the ID of the last segment.

        Segments in progress are dropped if they have pictures and those of this builder have none, or the reverse: a
        session may be continued with or without a window. Raises ValueError if the state does not fit.
        """
        self.last_id = last_id
        if arrays["states"].shape != self._states.shape:
            return
        for name in _KEPT:
            own: npt.NDArray[Any] = getattr(self, f"_{name}")
            if arrays[name].shape != own.shape:
                raise ValueError(
                    f"{name} of a segment in progress has shape {arrays[name].shape} instead of {own.shape}"
                )
            own[:] = arrays[name]


class SegmentPool:
    """The latest segments, and a random sample of all earlier ones. Written by the rollout job only."""

    def __init__(self, capacity: int, old_share: float, rng: np.random.Generator) -> None:
        """capacity: largest number of segments; old_share: share of the sample in it; rng: draws the sample"""
        self._most_old = round(capacity * old_share)
        self._most_recent = capacity - self._most_old
        self._recent: deque[Segment] = deque()
        self._old: list[Segment] = []
        self._rng = rng
        self._replaced = 0
        """Number of segments from which the sample is drawn, each with the same probability."""

    def add(self, segment: Segment, before: float = math.inf) -> None:
        """Add a segment. If this displaces one from before `before` environment steps, that one may join the sample."""
        self._recent.append(segment)
        if len(self._recent) > self._most_recent:
            displaced = self._recent.popleft()
            if displaced.env_steps < before:
                self._keep(displaced)

    def _keep(self, segment: Segment) -> None:
        self._replaced += 1
        if len(self._old) < self._most_old:
            self._old.append(segment)
        elif self._most_old and (place := int(self._rng.integers(self._replaced))) < self._most_old:
            self._old[place] = segment

    def __len__(self) -> int:
        return len(self._old) + len(self._recent)

    def __iter__(self) -> Iterator[Segment]:
        """Iterate over the sample, then the latest segments, oldest first."""
        return chain(self._old, self._recent)

    @property
    def added(self) -> int:
        """Number of segments added so far, except those dropped without a chance to be sampled."""
        return len(self._recent) + self._replaced

    @property
    def counts(self) -> tuple[int, int]:
        """Number of segments in the sample, and number of segments from which it was drawn."""
        return len(self._old), self._replaced

    def restore(self, segments: list[Segment], counts: tuple[int, int]) -> None:
        """Restore the segments from iteration, and `counts`, up to the capacity, which may be smaller in a window."""
        old, self._replaced = counts
        self._old = segments[: min(old, self._most_old)]
        self._recent = deque(segments[max(old, len(segments) - self._most_recent) :])
