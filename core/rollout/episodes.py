"""Whole episodes of a policy: demonstrations, evaluation, and the untrained policy's return."""

import math
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.config import Config
from core.envs import make_envs
from core.envs.base import CaptureSchedule, FinishedEpisode, VectorEnv
from core.envs.mujoco import MujocoVectorEnv
from core.errors import checkpoint_errors
from core.nn.stacked_mlp import CPU
from core.nn.state import state_arrays
from core.nn.threads import limit_threads
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.reward.normalization import normalize_reward
from core.robots.signals import signal_series
from core.rollout.actor import Actor, build_policy
from core.rollout.collector import Act, collect
from core.rollout.segments import SegmentBuilder
from core.seeding import generator
from core.session.session import Session
from core.tasks import get_task
from core.tasks.base import Task
from core.types import Float32, Segment


@dataclass(frozen=True)
class DemonstrationEpisode:
    """An episode to be shown.

    segment: the episode without its last step; measure: the task's own figures for the whole episode
    signals: a robot's signals by name, (k,) each, for the steps of the segment
    """

    segment: Segment
    measure: dict[str, float]
    signals: dict[str, Float32]


def demonstrate(
    task: Task, act: Act, rng: np.random.Generator, env_steps: int = 0
) -> Generator[None, None, DemonstrationEpisode | None]:
    """Act for one episode. Yields None from time to time; returns the episode, or None if its simulation failed.

    rng: random generator of the episode's start; env_steps: number to store with the segment
    """
    env = make_envs(task, 1, rng, threads=1, capture=CaptureSchedule(1, task.episode_steps))
    try:
        builder = SegmentBuilder(env, task.episode_steps - 1, np.zeros(1, np.int64), task.pictures)
        collected = yield from collect(env, act, task.episode_steps, builder, env_steps)
    finally:
        env.close()
    if not collected.segments:
        return None
    segment, signals = collected.segments[0], dict[str, Float32]()
    if isinstance(env, MujocoVectorEnv):
        signals = signal_series(env.model, segment.states, segment.actions, task.step_seconds)
    return DemonstrationEpisode(segment, collected.finished[0][1] if collected.finished else {}, signals)


def predicted_reward(ensemble: RewardEnsemble | ImageEnsemble | None, segment: Segment) -> Float32:
    """Predict the reward of each step, normalized over the segment to mean 0 and std 1: (k,), or (0,) without ensemble."""
    if ensemble is None:
        return np.zeros(0, np.float32)
    return normalize_reward(ensemble.predict(segment.observations, segment.actions), 1.0)


def mean_measure(episodes: list[FinishedEpisode]) -> dict[str, float]:
    """Average each figure over the episodes (true return, measures); empty without episodes."""
    if not episodes:
        return {}
    measures = [measure for _, measure in episodes]
    return {name: float(np.mean([measure[name] for measure in measures])) for name in measures[-1]}


def run_episodes(env: VectorEnv, act: Act, each: int, limit: int, keep: int = 0) -> tuple[list[FinishedEpisode], Any]:
    """Act until every environment has finished `each` episodes and `keep` steps are taken, or for `limit` steps.

    Returns the episodes, all environments' first ones before their second ones, and environment 0's states (steps, S)
    in the first `keep` steps. Further episodes are not counted, as short ones would be overrepresented.
    """
    episodes: list[list[FinishedEpisode]] = [[] for _ in range(env.count)]
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


def mean_return(returns: Sequence[float]) -> float:
    """Return the mean; NaN without returns."""
    return float(np.mean(returns)) if returns else math.nan


def random_returns(config: Config) -> list[float]:
    """Return the true returns of the untrained policy with noise, in 32 episodes or 8 games; fewer if some diverge."""
    limit_threads(1)
    task = get_task(config.task, config.true_reward)
    actor = Actor(config, generator(config.seed, "random return actions"))
    rng = generator(config.seed, "random return")
    count = 8 if task.pictures else 32
    with closing(make_envs(task, count, rng, config.rollout.threads, staggered=False)) as env:
        finished, _ = run_episodes(env, actor, 1, task.longest_episode)
    return [total for total, _ in finished]


def evaluate(session: Session, episodes: int, task: Task | None = None, captured: bool = False) -> dict[str, Any]:
    """Evaluate the saved policy (before the first checkpoint: the untrained one) without noise.

    Returns a dict: env_steps, for which the policy was trained; true_return, true_return_std and measure over the episodes;
    episodes, their number, which is less than `episodes` if simulations diverge; divergences; states (steps, S) of one
    episode; untrained, whether the policy is untrained.

    task: task with other physics than the session's own; None for the session's
    captured: record pictures as states if the task has no simulator state to draw
    """
    limit_threads(1)
    config = session.config
    task = task or get_task(config.task, config.true_reward)
    actor = Actor(config, None)
    loaded = session.load()
    with checkpoint_errors("policy"):
        saved = (
            loaded[1].get("policy") if loaded else None
        )  # a session may have begun with only the reward of another one
        actor.load(saved.arrays if saved else state_arrays(build_policy(config, CPU)))
    count = min(episodes, 64)
    rng, threads = generator(0, "evaluation"), config.rollout.threads
    each, capture = -(-episodes // count), CaptureSchedule(1, task.episode_steps) if captured else None
    with closing(make_envs(task, count, rng, threads, staggered=False, capture=capture)) as env:
        finished, states = run_episodes(env, actor, each, each * task.longest_episode, task.episode_steps)
    finished = finished[:episodes]
    returns = [total for total, _ in finished] or [math.nan]
    figures = {"true_return": float(np.mean(returns)), "true_return_std": float(np.std(returns))}
    rollout = (
        loaded[1].get("rollout") if loaded else None
    )  # None with a policy that was taken over from another session
    trained = rollout.values["env_steps"] if rollout else 0
    untrained = saved is None or rollout is not None and not trained
    counts = {"env_steps": trained, "episodes": len(finished), "divergences": env.divergences}
    return {**counts, **figures, "measure": mean_measure(finished), "states": states, "untrained": untrained}
