"""Acting: steps the environments, and keeps what the policy and the labeller will want of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from core.envs.base import Environment
from core.envs.halves import parts_of
from core.records import Float32, Observations, Segment
from core.segments import SegmentCutter

Episode = tuple[float, dict[str, float]]
"""Its true return and its measure."""
Act = Callable[[Observations], tuple[Float32, Float32]]
"""(N, o) observations -> (N, a) actions and their (N,) log probabilities."""
_BREATH = 16
"""Steps between two moments at which the caller may stop, pause or look at its inbox."""


@dataclass(frozen=True)
class Collected:
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
    finished: list[Episode]

    @property
    def carried_out(self) -> Float32:
        """The actions as the motors took them."""
        return np.clip(self.actions, -1, 1)


def collect(
    env: Environment, cutter: SegmentCutter | None, act: Act, steps: int, env_steps: int
) -> Iterator[Collected | None]:
    """Takes `steps` steps in each environment; yields None now and then, and the result last.

    cutter: None where nobody will be asked
    env_steps: the session's count at the start; segments are stamped with it
    """
    batch = _Batch(env, steps)
    turns, first = [], 0
    for part in parts_of(env):
        turns.append(_Turns(part, first, batch, cutter, env_steps))
        first += part.count
    for t in range(steps):
        for turn in turns:
            turn.begin(t, act)
        if t % _BREATH == _BREATH - 1 and t < steps - 1:
            for turn in turns:
                turn.settle()
            yield None
    for turn in turns:
        turn.settle()
    yield batch.collected(env.observations)


class _Batch:
    """T steps of N environments, as they come in."""

    def __init__(self, env: Environment, steps: int) -> None:
        n, acted = env.count, env.sizes[1]
        self.count = n
        self._seen = _Seen(env, steps)
        self.actions = np.zeros((steps, n, acted), np.float32)
        self.log_probs, self.true_rewards = np.zeros((2, steps, n), np.float32)
        self.ends = np.zeros((steps, n), np.bool_)
        self.end_observations: list[Observations] = []
        self.segments: list[Segment] = []
        self.finished: list[Episode] = []

    def see(self, t: int, rows: slice, observations: Observations) -> None:
        """What these rows of the environments show before step t."""
        self._seen.add(t, rows, observations)

    def collected(self, last_observations: Observations) -> Collected:
        return Collected(
            self._seen.observations,
            self.actions,
            self.log_probs,
            self.true_rewards,
            self.ends,
            np.concatenate(self.end_observations),
            last_observations,
            self.segments,
            self.finished,
        )


class _Seen:
    """(T, N, o) observations. Of stacked pictures each is kept once, and stacks are views into them: four times less is
    written, and asked of the system anew for each batch, which took a tenth of the time of collecting."""

    def __init__(self, env: Environment, steps: int) -> None:
        (n, size), self._older = env.observations.shape, env.depth - 1
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
    """Those of a part of the environments, from row `first` on: while it is simulated the other part has its own."""

    def __init__(
        self, part: Environment, first: int, batch: _Batch, cutter: SegmentCutter | None, env_steps: int
    ) -> None:
        self._part, self._batch, self._cutter, self._env_steps = part, batch, cutter, env_steps
        self._first, self._rows = first, slice(first, first + part.count)
        self._time: int | None = None
        """Of the step that is under way."""
        self._cut: Iterator[Segment] = iter(())
        """What puts the last step away, once it is run."""

    def begin(self, t: int, act: Act) -> None:
        """Ends the step before, and begins number t."""
        self._end()
        part, batch, rows = self._part, self._batch, self._rows
        self._before = part.observations, part.states, part.askable
        actions, log_probs = act(part.observations)
        part.begin(actions)
        self._time = t
        batch.see(t, rows, self._before[0])  # pictures are large: put away while the emulators play
        batch.actions[t, rows], batch.log_probs[t, rows] = actions, log_probs
        batch.segments += self._cut

    def settle(self) -> None:
        """Nothing is under way any more, and all is where it belongs."""
        self._end()
        self._batch.segments += self._cut

    def _end(self) -> None:
        if self._time is None:
            return
        t, batch, self._time = self._time, self._batch, None
        actions: Float32 = batch.actions[t, self._rows]
        step = self._part.step(actions)
        batch.true_rewards[t, self._rows], batch.ends[t, self._rows] = step.true_rewards, step.ended
        batch.end_observations.append(step.end_observations)
        batch.finished += step.finished
        if self._cutter is not None:
            observations, states, askable = self._before
            told = step.true_rewards, step.ended, step.blown, askable
            taken = self._env_steps + t * batch.count
            carried_out: Float32 = np.clip(actions, -1, 1)
            self._cut = self._cutter.add(observations, carried_out, states, *told, taken, self._first)


def run_episodes(env: Environment, act: Act, each: int, limit: int, keep: int = 0) -> tuple[list[Episode], Any]:
    """Acts until every environment has ended `each` episodes and `keep` steps are taken, or for `limit` steps.

    Returns those episodes, the first of all environments before their second, and environment 0's states (steps, S) at
    the first `keep` of the steps. Later episodes of environments that were done sooner don't count: short ones would
    be counted too often.
    """
    episodes: list[list[Episode]] = [[] for _ in range(env.count)]
    states = np.zeros((min(keep, limit), env.states.shape[1]), env.states.dtype)
    steps = 0
    while steps < limit and (steps < keep or min(map(len, episodes)) < each):
        if steps < len(states):
            states[steps] = env.states[0]  # a copy: a view would keep the states of all environments alive
        steps += 1
        actions, _ = act(env.observations)
        env.begin(actions)
        step = env.step(actions)
        for row, episode in zip(step.finished_rows, step.finished, strict=True):
            episodes[row].append(episode)
    rounds = [[own[number] for own in episodes if len(own) > number] for number in range(each)]
    return [episode for counted in rounds for episode in counted], states
