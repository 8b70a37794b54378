"""API for other programs: a session's policy as a function and its learned reward as a Gymnasium wrapper.

    from core.api import LearnedReward, environment, policy
    act = policy("sessions/flip")
    env = LearnedReward(environment("sessions/flip"), "sessions/flip")

Both load the newest checkpoint, run on the CPU, and leave the session unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from core.config import Config, replaced
from core.envs import make_envs
from core.envs.spaces import Spaces, spaces
from core.errors import UserError, checkpoint_errors
from core.events import JobState
from core.nn.stacked_mlp import CPU
from core.nn.state import load_state_arrays
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.reward.image_ensemble import ImageEnsemble
from core.rollout.actor import Actor
from core.seeding import generator
from core.session.checkpoint import CHECKPOINTS, load_newest
from core.session.job_states import has_reward, pool_segments, published_weights
from core.session.session import read_config
from core.session.taking import same_body
from core.tasks import get_task
from core.types import Float32, Observations

Action = Any
"""(a,) floats from -1 to 1; an int for a discrete task."""


def policy(folder: str | Path) -> Callable[[Any], Action]:
    """Return the session's policy, without exploration noise, as a function from an observation (o,) to an action.

    Raises UserError if the session has no checkpoint.
    """
    config, states = load_session(Path(folder), ("policy",))
    actor, kinds = Actor(config, None), spaces(config)
    with checkpoint_errors("policy"):
        actor.load(states["policy"].arrays)

    def act(observation: Any) -> Action:
        row = actor(np.asarray(observation, _dtype(kinds)).reshape(1, kinds.observations))[0][0]
        return int(row.argmax()) if kinds.discrete else np.clip(row, -1, 1)

    return act


def environment(folder: str | Path, seed: int = 0) -> TaskEnvironment:
    """Return the session's task as a Gymnasium environment, with the observations and actions of its policy.

    seed: seed of the resets
    """
    return TaskEnvironment(read_config(Path(folder)), seed)


class TaskEnvironment(gymnasium.Env[Observations, Any]):
    """One environment of a task. Its reward is the task's true reward, or 0 if the task has none.

    Episodes are truncated at the task's fixed length and never terminate (Appendix A). When a game is over, the next
    one starts within the same episode.

    task: the task of the session
    """

    def __init__(self, config: Config, seed: int = 0) -> None:
        self.task = get_task(config.task, config.true_reward)
        self._kinds = spaces(config)
        low, high = (0, 255) if self._kinds.pictures else (-np.inf, np.inf)
        shape, kind = (self._kinds.observations,), _dtype(self._kinds)
        self.observation_space = gymnasium.spaces.Box(low, high, shape, kind)
        self.action_space = _action_space(self._kinds)
        self._rng = generator(seed, "environment")
        self._env = make_envs(self.task, 1, self._rng, threads=1, staggered=False)
        self._steps = 0
        self._is_new = True
        """True if the simulator is at the start of an episode that no reset has returned."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Observations, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._rng = generator(seed, "environment")
        if seed is not None or not self._is_new:
            self._env.close()
            self._env = make_envs(self.task, 1, self._rng, threads=1, staggered=False)
        self._steps, self._is_new = 0, False
        return self._env.observations[0].copy(), {}

    def step(self, action: Action) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        step = self._env.step(_to_network(action, self._kinds)[None])
        ended = bool(step.ended[0])
        observation = step.end_observations[0] if ended else step.observations[0]
        self._steps += 1
        self._is_new = ended
        truncated = ended or self._steps == self.task.episode_steps
        return observation.copy(), float(np.nan_to_num(step.true_rewards[0])), False, truncated, {}

    def close(self) -> None:
        self._env.close()


class LearnedReward(gymnasium.Wrapper[Observations, Any, Observations, Any]):
    """Replaces the environment's reward with the session's predicted reward; info["true_reward"] keeps the original.

    The environment must have the observations and actions of the session's task, like one made by `environment`. The
    reward is the mean over the members, each normalized to mean 0 and standard deviation 1 over the segments of the
    checkpoint, and normalized again (paper 2.2.3). Raises UserError if no reward has been fitted, or if the
    environment simulates another robot.
    """

    def __init__(self, env: gymnasium.Env[Observations, Any], folder: str | Path) -> None:
        super().__init__(env)
        config, states = load_session(Path(folder))
        self._kinds = spaces(config)
        task, inner = get_task(config.task), env.unwrapped
        fits = env.observation_space.shape == (self._kinds.observations,)
        fits &= not isinstance(inner, TaskEnvironment) or same_body(inner.task, task)
        if not fits or env.action_space != _action_space(self._kinds):
            name = task.name
            raise UserError(
                f"This environment does not have the observations and actions of {name}: use core.api.environment."
            )
        self.ensemble = fitted_ensemble(config, states["reward"], torch.float32)  # as exported
        self.normalize = Normalizer(self.ensemble, states["rollout"], config.reward.std)
        self._observation = np.zeros(self._kinds.observations, _dtype(self._kinds))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        self._observation, info = self.env.reset(seed=seed, options=options)
        return self._observation, info

    def step(self, action: Action) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        raw = self.ensemble.predict(
            np.asarray(self._observation, _dtype(self._kinds)), _to_network(action, self._kinds)
        )
        self._observation, true, terminated, truncated, info = self.env.step(action)
        return self._observation, self.normalize(raw), terminated, truncated, {**info, "true_reward": true}


class Normalizer:
    """Normalizes the members' raw predictions to one reward, by their statistics over the segments of the checkpoint.

    means, deviations: (M,) mean and standard deviation of each member's predictions
    mean, factor: offset and scale of the mean over the standardized members
    """

    def __init__(self, ensemble: RewardEnsemble | ImageEnsemble, rollout: JobState, std: float) -> None:
        with checkpoint_errors("rollout"):
            segments = pool_segments(rollout)
            raw = np.concatenate([ensemble.predict(s.observations, s.actions) for s in segments], axis=1)
        self.means, self.deviations = raw.mean(1), np.maximum(raw.std(1), 1e-8)
        rewards = self._mean_of_members(raw.T)
        self.mean, self.factor = float(rewards.mean()), std / max(float(rewards.std()), 1e-8)

    def _mean_of_members(self, raw: Float32) -> Float32:
        """Map raw predictions (..., M) to the mean over the standardized members (...)."""
        mean: Float32 = ((raw - self.means) / self.deviations).mean(-1)
        return mean

    def __call__(self, raw: Float32) -> float:
        """Map the raw predictions (M,) of one step to its reward."""
        return (float(self._mean_of_members(raw)) - self.mean) * self.factor


def load_session(
    folder: Path, jobs: Collection[str] = ("rollout", "reward", "policy")
) -> tuple[Config, dict[str, JobState]]:
    """Return the session's config, with the CPU as its device, and the job states of its newest checkpoint by job.

    Raises UserError if the session has no checkpoint, or if the checkpoint lacks the state of one of `jobs`.
    """
    config = replaced(read_config(folder), device="cpu")
    loaded = load_newest(folder / CHECKPOINTS)
    if loaded is None:
        raise UserError(f"{folder} has no checkpoint yet: teach for a minute first.")
    if not set(jobs) <= loaded[1].keys():  # only states taken over from another session
        raise UserError(f"{folder} has no checkpoint of its own yet: teach for a minute first.")
    return config, loaded[1]


def fitted_ensemble(
    config: Config, state: JobState, dtype: torch.dtype | None = None
) -> RewardEnsemble | ImageEnsemble:
    """Return the ensemble published last, from the state of the reward job. Raises UserError if none has been fitted.

    dtype: data type of the convolutions; None for the fastest on this processor
    """
    if not has_reward(state):
        raise UserError("No reward has been fitted in this session yet: answer some pairs first.")
    ensemble = build_ensemble(config, CPU, dtype)
    with checkpoint_errors("reward"):
        load_state_arrays(ensemble, published_weights(state))
    return ensemble.requires_grad_(False)


def _action_space(kinds: Spaces) -> gymnasium.spaces.Space[Any]:
    if kinds.discrete:
        return gymnasium.spaces.Discrete(kinds.actions)
    return gymnasium.spaces.Box(-1.0, 1.0, (kinds.actions,), np.float32)


def _dtype(kinds: Spaces) -> type[np.generic]:
    return np.uint8 if kinds.pictures else np.float32


def _to_network(action: Action, kinds: Spaces) -> Float32:
    """Convert an action to the networks' form, (a,) float32: clipped to [-1, 1], or one-hot."""
    if kinds.discrete:
        return np.eye(kinds.actions, dtype=np.float32)[int(action)]
    return np.clip(np.asarray(action, np.float32), -1, 1)
