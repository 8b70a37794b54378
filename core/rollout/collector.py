"""Acting: steps the environments, and keeps what the policy and the labeller will want of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from core.envs.base import VectorEnv
from core.rollout.segments import SegmentBuilder
from core.types import Float32, Observations, Segment

FinishedEpisode = tuple[float, dict[str, float]]
"""Its true return and its measure."""
Act = Callable[[Observations], tuple[Float32, Float32]]
"""(N, o) observations -> (N, a) actions and their (N,) log probabilities."""
_BREATH = 16
"""Steps between two moments at which the caller may stop, pause or look at its inbox."""


@dataclass(frozen=True)
class RolloutBatch:
    """T steps of N environments. true_rewards is for the oracle, the metrics and the baseline alone.

    Observations of stacked pictures overlap in memory, so they are for reading.
    """

    observations: Observations
    actions: Float32
    log_probs: Float32
    true_rewards: Float32
    ends: np.ndarray
    end_observations: Observations
    last_observations: Observations
    segments: list[Segment]
    finished: list[FinishedEpisode]

    @property
    def carried_out(self) -> Float32:
        """The actions as the motors took them."""
        return np.clip(self.actions, -1, 1)


@dataclass(frozen=True)
class Collector:
    """Who acts in a part of the environments, and what cuts its segments: None where nobody will be asked."""

    env: VectorEnv
    act: Act
    cutter: SegmentBuilder | None = None


def collect(crews: Sequence[Collector], steps: int, env_steps: int, count: int = 0) -> Iterator[RolloutBatch | None]:
    """Takes `steps` steps in each environment of the crews, which take turns; yields None now and then, and the result
    last.

    env_steps: the session's count at the start; segments are stamped with it
    count: environments in all, where others are stepped elsewhere at the same time
    """
    batch = _Batch([crew.env for crew in crews], steps)
    turns, first = [], 0
    for crew in crews:
        turns.append(_Turns(crew, first, batch, env_steps, count or batch.count))
        first += crew.env.count
    for t in range(steps):
        for turn in turns:
            turn.begin(t)
        if t % _BREATH == _BREATH - 1 and t < steps - 1:
            for turn in turns:
                turn.settle()
            yield None
    for turn in turns:
        turn.settle()
    yield batch.collected(turns)


def joined(parts: Sequence[RolloutBatch]) -> RolloutBatch:
    """What crews collected side by side, as they would have by turns."""
    observations, actions, log_probs, true_rewards, ends = (
        np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("observations", "actions", "log_probs", "true_rewards", "ends")
    )
    return RolloutBatch(
        observations,
        actions,
        log_probs,
        true_rewards,
        ends,
        _end_observations(parts),
        np.concatenate([part.last_observations for part in parts]),
        [segment for part in parts for segment in part.segments],
        [episode for part in parts for episode in part.finished],
    )


def _end_observations(parts: Sequence[RolloutBatch]) -> Observations:
    """In the order of steps, and of the parts' rows in each."""
    times = np.concatenate([np.nonzero(part.ends)[0] for part in parts])
    ends: Observations = np.concatenate([part.end_observations for part in parts])
    return ends[np.argsort(times, kind="stable")]


class _Batch:
    """T steps of N environments, as they come in."""

    def __init__(self, envs: Sequence[VectorEnv], steps: int) -> None:
        n, acted = sum(env.count for env in envs), envs[0].sizes[1]
        self.count = n
        self._envs = envs
        self._seen = _Seen(envs[0], n, steps)
        self.actions = np.zeros((steps, n, acted), np.float32)
        self.log_probs, self.true_rewards = np.zeros((2, steps, n), np.float32)
        self.ends = np.zeros((steps, n), np.bool_)
        self.end_observations: list[Observations] = []

    def see(self, t: int, rows: slice, observations: Observations) -> None:
        """What these rows of the environments show before step t."""
        self._seen.add(t, rows, observations)

    def collected(self, turns: Sequence[_Turns]) -> RolloutBatch:
        return RolloutBatch(
            self._seen.observations,
            self.actions,
            self.log_probs,
            self.true_rewards,
            self.ends,
            np.concatenate(self.end_observations),
            np.concatenate([env.observations for env in self._envs]),
            [segment for turn in turns for segment in turn.segments],
            [episode for turn in turns for episode in turn.finished],
        )


class _Seen:
    """(T, N, o) observations. Of stacked pictures each is kept once, and stacks are views into them: four times less is
    written, and asked of the system anew for each batch, which took a tenth of the time of collecting."""

    def __init__(self, env: VectorEnv, n: int, steps: int) -> None:
        """env: any of those whose rows they are"""
        size, self._older = env.observations.shape[1], env.depth - 1
        self._part = size // env.depth
        sides = (self._older + steps, n) if env.depth == 1 else (n, self._older + steps)
        strips = np.zeros((*sides, self._part), env.observations.dtype)
        self._strips = strips if env.depth > 1 else strips.swapaxes(0, 1)  # so that plain numbers lie as they are read
        of_row, of_time, of_part = self._strips.strides
        self.observations = as_strided(self._strips, (steps, n, size), (of_time, of_row, of_part))

    def add(self, t: int, rows: slice, seen: Observations) -> None:
        self._strips[rows, self._older + t] = seen[:, -self._part :]
        if not t and self._older:
            self._strips[rows, : self._older] = seen[:, : -self._part].reshape(len(seen), self._older, self._part)


class _Turns:
    """Those of a crew, whose rows begin at `first`: while its step is simulated another crew has its turn."""

    def __init__(self, crew: Collector, first: int, batch: _Batch, env_steps: int, count: int) -> None:
        self._part, self._act, self._cutter = crew.env, crew.act, crew.cutter
        self._batch, self._env_steps, self._count = batch, env_steps, count
        self._rows = slice(first, first + crew.env.count)
        self.segments: list[Segment] = []
        self.finished: list[FinishedEpisode] = []
        self._time: int | None = None
        """Of the step that is under way."""
        self._cut: Iterator[Segment] = iter(())
        """What puts the last step away, once it is run."""

    def begin(self, t: int) -> None:
        """Ends the step before, and begins number t."""
        self._end()
        part, batch, rows = self._part, self._batch, self._rows
        self._before = part.observations, part.states, part.clip_available
        actions, log_probs = self._act(part.observations)
        part.begin(actions)
        self._time = t
        batch.see(t, rows, self._before[0])  # pictures are large: put away while the emulators play
        batch.actions[t, rows], batch.log_probs[t, rows] = actions, log_probs
        self.segments += self._cut

    def settle(self) -> None:
        """Nothing is under way any more, and all is where it belongs."""
        self._end()
        self.segments += self._cut

    def _end(self) -> None:
        if self._time is None:
            return
        t, batch, self._time = self._time, self._batch, None
        actions: Float32 = batch.actions[t, self._rows]
        step = self._part.step(actions)
        batch.true_rewards[t, self._rows], batch.ends[t, self._rows] = step.true_rewards, step.ended
        batch.end_observations.append(step.end_observations)
        self.finished += step.finished
        if self._cutter is not None:
            observations, states, clip_available = self._before
            told = step.true_rewards, step.ended, step.diverged, clip_available
            taken = self._env_steps + t * self._count
            carried_out: Float32 = np.clip(actions, -1, 1)
            self._cut = self._cutter.add(observations, carried_out, states, *told, taken)
