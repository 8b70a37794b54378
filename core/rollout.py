"""Acting: steps the environments, and keeps what the policy and the labeller will want of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.envs.base import Environment
from core.records import Float32, Observations, Segment
from core.segments import SegmentCutter

Episode = tuple[float, dict[str, float]]
"""Its true return and its measure."""
Act = Callable[[Observations], tuple[Float32, Float32]]
"""(N, o) observations -> (N, a) actions and their (N,) log probabilities."""
_BREATH = 8
"""Steps between two moments at which the caller may stop, pause or look at its inbox."""


@dataclass(frozen=True)
class Collected:
    """T steps of N environments. true_rewards is for the oracle, the metrics and the baseline alone."""

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
    n = env.count
    observed, acted, _ = env.sizes
    observations = np.zeros((steps, n, observed), env.observations.dtype)
    actions = np.zeros((steps, n, acted), np.float32)
    log_probs, rewards = np.zeros((steps, n), np.float32), np.zeros((steps, n), np.float32)
    ends = np.zeros((steps, n), np.bool_)
    end_observations: list[Observations] = []
    segments: list[Segment] = []
    finished: list[Episode] = []
    cut: Iterator[Segment] = iter(())  # a generator, which puts the last step away only when it is run
    for t in range(steps):
        before, states, askable = env.observations, env.states, env.askable
        actions[t], log_probs[t] = act(before)
        env.begin(actions[t])
        observations[t] = before  # pictures are large: while the emulators play, what was seen is put away
        segments += cut
        step = env.step(actions[t])
        rewards[t], ends[t] = step.true_rewards, step.ended
        end_observations.append(step.end_observations)
        finished += step.finished
        if cutter is not None:
            carried_out: Float32 = np.clip(actions[t], -1, 1)
            taken = env_steps + t * n
            told = step.true_rewards, step.ended, step.blown, askable
            cut = cutter.add(before, carried_out, states, *told, taken)
        if t % _BREATH == _BREATH - 1:
            segments += cut  # while the caller has its turn all is where it belongs
            yield None
    segments += cut
    yield Collected(
        observations,
        actions,
        log_probs,
        rewards,
        ends,
        np.concatenate(end_observations),
        env.observations,
        segments,
        finished,
    )


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
        step = env.step(actions)
        for row, episode in zip(step.finished_rows, step.finished, strict=True):
            episodes[row].append(episode)
    rounds = [[own[number] for own in episodes if len(own) > number] for number in range(each)]
    return [episode for counted in rounds for episode in counted], states
