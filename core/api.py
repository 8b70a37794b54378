"""What a session has learned, for other programs: its policy as a callable and its reward as a Gymnasium wrapper.

    from core.taught import LearnedReward, environment, policy
    act = policy("sessions/flip")
    env = LearnedReward(environment("sessions/flip"), "sessions/flip")

Both are of the newest checkpoint, act on the CPU, and change nothing in the session.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from core.config import Config
from core.envs import make_envs
from core.envs.spaces import Spaces, spaces
from core.errors import UserError
from core.events import JobState
from core.jobs.reward import snapshot_of
from core.jobs.rollout import pool_segments
from core.nn.stacked_mlp import CPU
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.reward.image_ensemble import ImageEnsemble
from core.rollout.actor import Actor
from core.seeding import generator
from core.session.checkpoint import load_newest
from core.session.restore_errors import checkpoint_errors
from core.session.session import read_config
from core.tasks import get_task
from core.types import Float32, Observations

Action = Any
"""A row of floats from -1 to 1, or for a discrete task a whole number."""


def policy(folder: str | Path) -> Callable[[Any], Action]:
    """The session's policy without noise: an observation (o,) -> an action. UserError where nothing was learned."""
    config, states = learned(Path(folder))
    actor, kinds = Actor(config, None), spaces(config)
    with checkpoint_errors("policy"):
        actor.load(states["policy"].arrays)

    def act(observation: Any) -> Action:
        row = actor(np.asarray(observation, _dtype(kinds)).reshape(1, kinds.observations))[0][0]
        return int(row.argmax()) if kinds.discrete else np.clip(row, -1, 1)

    return act


def environment(folder: str | Path, seed: int = 0) -> TaskEnvironment:
    """The session's task as a Gymnasium environment, as the policy and the predicted reward know it."""
    return TaskEnvironment(read_config(Path(folder)), seed)


class TaskEnvironment(gymnasium.Env[Observations, Any]):
    """One environment of a task. Its reward is the task's true one, and 0 where it has none.

    An episode has the task's fixed length, and is truncated then; none is terminated, as Appendix A asks. A game, of
    which the learner sees no end, goes on where it is over with the next one.
    """

    def __init__(self, config: Config, seed: int = 0) -> None:
        self._task = get_task(config.task)
        self._kinds = spaces(config)
        low, high = (0, 255) if self._kinds.pictures else (-np.inf, np.inf)
        shape, kind = (self._kinds.observations,), _dtype(self._kinds)
        self.observation_space = gymnasium.spaces.Box(low, high, shape, kind)
        self.action_space = _action_space(self._kinds)
        self._rng = generator(seed, "environment")
        self._env = make_envs(self._task, 1, self._rng, threads=1, staggered=False)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Observations, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._rng = generator(seed, "environment")
        self._env.close()
        self._env = make_envs(self._task, 1, self._rng, threads=1, staggered=False)
        self._steps = 0
        return self._env.observations[0].copy(), {}

    def step(self, action: Action) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        step = self._env.step(_row(action, self._kinds)[None])
        ended = bool(step.ended[0])
        observation = step.end_observations[0] if ended else step.observations[0]
        self._steps += 1
        truncated = ended or self._steps == self._task.episode_steps
        return observation.copy(), float(np.nan_to_num(step.true_rewards[0])), False, truncated, {}

    def close(self) -> None:
        self._env.close()


class LearnedReward(gymnasium.Wrapper[Observations, Any, Observations, Any]):
    """Puts the session's predicted reward in place of the environment's own, which is then in info["true_reward"].

    The environment must show what the session's task shows and take its actions as the policy gives them, from -1 to 1:
    that of `environment` does. The reward is the mean of the members, each to mean 0 and standard
    deviation 1 over the segments of the checkpoint; that mean too (paper 2.2.3). UserError where none was fitted yet,
    or the environment is another.
    """

    def __init__(self, env: gymnasium.Env[Observations, Any], folder: str | Path) -> None:
        super().__init__(env)
        config, states = learned(Path(folder))
        self._kinds = spaces(config)
        shown = env.observation_space.shape == (self._kinds.observations,)
        if not shown or env.action_space != _action_space(self._kinds):
            raise UserError(
                f"This environment does not show and take what {config.task} does: use core.api.environment."
            )
        self._ensemble = fitted_ensemble(config, states["reward"])
        self._scale = _Scale(self._ensemble, states["rollout"], config.reward.std)
        self._observation = np.zeros(self._kinds.observations, _dtype(self._kinds))

    def reset(self, **options: Any) -> tuple[Observations, dict[str, Any]]:
        self._observation, info = self.env.reset(**options)
        return self._observation, info

    def step(self, action: Action) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        raw = self._ensemble.predict(np.asarray(self._observation, _dtype(self._kinds)), _row(action, self._kinds))
        self._observation, true, terminated, truncated, info = self.env.step(action)
        return self._observation, self._scale(raw), terminated, truncated, {**info, "true_reward": true}


class _Scale:
    """Raw predictions of the members -> one reward, by what they predict for the segments of the checkpoint."""

    def __init__(self, ensemble: RewardEnsemble | ImageEnsemble, rollout: JobState, std: float) -> None:
        with checkpoint_errors("rollout"):
            segments = pool_segments(rollout)
            raw = np.concatenate([ensemble.predict(s.observations, s.actions) for s in segments], axis=1)
        self._means, self._deviations = raw.mean(1), np.maximum(raw.std(1), 1e-8)
        total = self._standard(raw.T)
        self._mean, self._factor = float(total.mean()), std / max(float(total.std()), 1e-8)

    def _standard(self, raw: Float32) -> Float32:
        """(..., M) -> (...)"""
        mean: Float32 = ((raw - self._means) / self._deviations).mean(-1)
        return mean

    def __call__(self, raw: Float32) -> float:
        return (float(self._standard(raw)) - self._mean) * self._factor


def learned(folder: Path) -> tuple[Config, dict[str, JobState]]:
    """Config and newest checkpoint of a session: each job's state by its name. UserError where it has none yet."""
    config = read_config(folder)
    loaded = load_newest(folder / "checkpoints")
    if loaded is None:
        raise UserError(f"{folder} has no checkpoint yet: teach for a minute first.")
    return config, loaded[1]


def fitted_ensemble(config: Config, state: JobState) -> RewardEnsemble | ImageEnsemble:
    """The predictors published last, of the reward's part of a checkpoint, without gradients. UserError where none
    was fitted yet."""
    if not state.values.get("generation"):
        raise UserError("No reward has been fitted in this session yet: give it its first answers.")
    ensemble = build_ensemble(config, CPU)
    with checkpoint_errors("reward"):
        weights = snapshot_of(state)
        if weights is None:  # of an earlier version, stopped amid a round
            weights = state.under("ensemble_")
        ensemble.load_arrays(weights)
    for parameter in ensemble.network.parameters:
        parameter.requires_grad_(False)
    return ensemble


def _action_space(kinds: Spaces) -> gymnasium.spaces.Space[Any]:
    if kinds.discrete:
        return gymnasium.spaces.Discrete(kinds.actions)
    return gymnasium.spaces.Box(-1.0, 1.0, (kinds.actions,), np.float32)


def _dtype(kinds: Spaces) -> type[np.generic]:
    return np.uint8 if kinds.pictures else np.float32


def _row(action: Action, kinds: Spaces) -> Float32:
    """(a,) as the networks know it: clipped, or one-hot."""
    if kinds.discrete:
        return np.eye(kinds.actions, dtype=np.float32)[int(action)]
    return np.clip(np.asarray(action, np.float32), -1, 1)
