"""Any Gymnasium environment with a Box observation, through its vector API. Arrays of numbers are flattened.

Episodes have a fixed length, and the learner sees no other end (Appendix A). If the environment itself ends an attempt,
it stands still for a moment, with its last observation and a reward of 0 for any action; then the next attempt begins,
within the same episode. So a clip shows whether an attempt ended well or badly, and an end costs a few steps of reward,
or saves a few steps of cost, without a penalty that would have to be chosen.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from core.envs.action_replay import ActionReplay
from core.envs.base import CaptureSchedule, FinishedEpisode, Step
from core.envs.gymnasium_factory import Envs, give_back, one_line, take_envs, viewer
from core.errors import UserError
from core.io import image_codec
from core.robots.physics import take_divergence
from core.tasks.gymnasium import GYM_PREFIX, RATES, USUAL_RATE, GymTask, gym_task
from core.types import Float32, Mask

log = logging.getLogger(__name__)
_SEEDS = 2**31 - 1
_KEPT = ("ages", "first", "resting", "attempts", "returns")
_MAX_NUMBERS = 4096
"""Most numbers in an observation. Larger ones are probably pictures, from which these networks can't learn."""
_MUJOCO_SHADOW = 1024
"""Side of MuJoCo's shadow maps in pixels. Gymnasium's default, 4,096, takes several times as long without a GPU."""


class GymVectorEnv:
    """N environments of one ID. `states`: (N, ROW_BYTES) pictures, zeros where none is recorded; (N, 0) without `capture`."""

    def __init__(
        self,
        task: GymTask,
        environments: int,
        rng: np.random.Generator,
        staggered: bool = True,
        capture: CaptureSchedule | None = None,
    ) -> None:
        self.task = task
        self.count = environments
        self.divergences, self.varies_starts, self.varied = 0, False, np.zeros(environments, np.bool_)
        self._schedule = capture
        self._rng = rng
        self._envs = take_envs(task, environments, capture is not None)
        for env in self._envs.envs[: capture.environments if capture else 0]:
            _simplify_pictures(env)
        try:
            _require_teachable(task, self._envs)
        except UserError:
            self.close()
            raise
        action_space = self._envs.single_action_space
        self.discrete = isinstance(action_space, Discrete)
        self._acted = int(action_space.n if isinstance(action_space, Discrete) else np.prod(action_space.shape or ()))
        self._replay = ActionReplay(environments, task.episode_steps, np.asarray(action_space.sample()))
        self._time = 0
        self._ages = np.zeros(environments, np.int64)
        if staggered:
            self._ages[:] = rng.permutation(np.arange(environments) * task.episode_steps // environments)
        self._start_all()

    def _start_all(self) -> None:
        """Start new attempts in all environments, at the current ages of the episodes."""
        observations = self._reset(np.ones(self.count, np.bool_), self._time)
        self.observations = observations.astype(np.float32)
        self._first = self._ages > 0
        self._resting = np.zeros(self.count, np.int64)
        self._attempts, self._returns = np.ones(self.count), np.zeros(self.count)
        self.states = np.zeros((self.count, image_codec.ROW_BYTES if self._schedule else 0), np.uint8)
        self._capture(np.ones(self.count, np.bool_))

    def _reset(self, rows: Mask, seed_offset: int = 0) -> npt.NDArray[Any]:
        """Reset the environments `rows` (N,). Returns the observations (N, o) of all."""
        seeds = (self._rng.integers(_SEEDS, size=self.count) + seed_offset) % _SEEDS
        self._replay.start(rows, seeds)
        with self._reported():
            observations, _ = self._envs.reset(seed=seeds.tolist(), options={"reset_mask": rows})
        flat = _flatten(observations)
        if not np.isfinite(flat[rows]).all():
            raise UserError(f"{self.task.name} starts with an observation that is not a finite number.")
        return flat

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.observations.shape[1], self._acted, self.states.shape[1]

    def close(self) -> None:
        give_back(self._envs)

    def step(self, actions: Float32) -> Step:
        """Step all environments with actions (N, a) float32: in [-1, 1], scaled to the bounds of a Box; else one-hot."""
        own = self.controls(actions)
        self._replay.add(own)
        with self._reported():
            observations, gained, stopped, cut, _ = self._envs.step(own)
        over = stopped | cut
        resting = self._resting > 0
        observations = np.where(resting[:, None], self.observations, _flatten(observations)).astype(np.float32)
        with np.errstate(over="ignore"):  # rewards beyond float32 count as divergence
            rewards: Float32 = np.where(resting, 0.0, gained).astype(np.float32)
        diverged = self._mend_diverged(observations, rewards)
        self._time += 1
        self._resting[resting] -= 1
        self._resting[over & ~resting] = self.task.rest_steps
        due = self._time % self.task.steps_per_picture == 0
        self._capture(~resting & (due | over))
        self._returns += rewards
        self._ages += 1
        ended = self._ages >= self.task.episode_steps
        end_observations = observations[ended]
        rows = np.flatnonzero(ended & ~self._first)
        finished = [self._figures(int(index)) for index in rows]
        self._restart(observations, ended, ended | (resting & (self._resting == 0)), over)
        self.observations = observations
        return Step(observations, rewards, ended, end_observations, finished, rows, diverged)

    def controls(self, actions: Float32) -> npt.NDArray[Any]:
        """Convert actions (N, a) to the environment's own form: (N, ...) within a Box, or (N,) integers of a Discrete.

        For a Box of integers, each integer gets an equal part of the range from -1 to 1.
        """
        space = self._envs.single_action_space
        if isinstance(space, Discrete):
            return space.start + actions.argmax(axis=1)
        assert isinstance(space, Box)
        shares = (np.clip(actions, -1, 1).reshape(-1, *space.shape) + 1) / 2
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        whole = np.issubdtype(space.dtype, np.integer)
        scaled = np.floor(low + (high - low + 1) * shares) if whole else low + (high - low) * shares
        return np.clip(scaled, low, high).astype(space.dtype)

    def _mend_diverged(self, observations: Float32, rewards: Float32) -> Mask:
        """Replace diverged rows in place, and end their episodes unreported. Returns which rows diverged (N,)."""
        diverged = ~(np.isfinite(observations).all(axis=1) & np.isfinite(rewards))
        diverged |= np.array([_restarted_by_mujoco(env) for env in self._envs.envs]) & (self._resting == 0)
        if diverged.any():
            self.divergences += int(diverged.sum())
            observations[diverged], rewards[diverged] = self.observations[diverged], 0.0
            self._ages[diverged] = self.task.episode_steps
            self._first[diverged] = True
        return diverged

    def _restart(self, observations: Float32, ended: Mask, shown: Mask, over: Mask) -> None:
        """Start new attempts in the rows `shown` and `over` (N,), and write those of `shown` into `observations`."""
        fresh = shown | over
        if not fresh.any():
            return
        observations[shown] = self._reset(fresh)[shown]
        self._resting[shown] = 0
        self._attempts[shown] += 1
        self._attempts[ended], self._returns[ended], self._ages[ended] = 1, 0.0, 0
        self._first[ended] = False
        self._capture(shown)

    def _capture(self, changed: Mask) -> None:
        """Encode pictures of the recorded environments that `changed` (N,) or have no picture; erase those of the others.

        The picture of an attempt's end is kept too, for a recording that begins while it is shown, after the reset.
        """
        self.clip_available = np.ones(self.count, np.bool_)
        if self._schedule is None:
            return
        self.clip_available = self._schedule.rows(self._time, self.count)
        resting = (self._resting > 0) & (np.arange(self.count) < self._schedule.environments)
        kept = self.clip_available | resting
        self.states = np.where(kept[:, None], self.states, np.uint8(0))
        for row in np.flatnonzero(kept & (changed | ~self.states[:, 0].astype(np.bool_))):
            with self._reported():
                frame = _picture(self._envs.envs[row])
            if not isinstance(frame, np.ndarray) or not frame.size:
                raise UserError(f"{self.task.name} renders no pictures (rgb_array) for clips.")
            if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
                raise UserError(
                    f"{self.task.name} renders pictures of {frame.dtype} with the shape {frame.shape}: clips need uint8,"
                    " from 0 to 255, with the shape (height, width, 3)."
                )
            self.states[row] = image_codec.encode_image(frame)

    def _observed(self, observations: list[npt.NDArray[Any]]) -> Float32:
        """Convert observations of single environments to those of all, (N, o), with the rounding of their space's type."""
        return _flatten(np.asarray(observations).astype(self._envs.single_observation_space.dtype)).astype(np.float32)

    def _figures(self, index: int) -> FinishedEpisode:
        total = float(self._returns[index])
        return total, {"return_per_episode": total, "attempts_per_episode": float(self._attempts[index])}

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Raise UserError for any exception of the environment's own code."""
        try:
            yield
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise UserError(f"{self.task.name} fails: {one_line(error)}") from error

    def get_state(self) -> dict[str, Any]:
        counters = {"time": np.array(self._time), "divergences": np.array(self.divergences)}
        kept = {name: getattr(self, f"_{name}") for name in _KEPT}
        return {**counters, **kept, **self._replay.get_state(), "seen": self.observations, "states": self.states}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Replay the saved actions; if the observations then differ, start new attempts at the same ages."""
        self._time, self.divergences = int(arrays["time"]), int(arrays["divergences"])
        self._replay.set_state(arrays)
        for name in _KEPT:
            getattr(self, f"_{name}")[:] = arrays[name]
        self.observations = np.array(arrays["seen"], np.float32)
        with self._reported():
            last = self._replay.play(self._envs.envs)
        shown = self._resting == 0  # the others show the end of their last attempt
        if last is None or not np.array_equal(self._observed(last)[shown], self.observations[shown]):
            log.info("The episodes of %s start again: a replay did not reach their state.", self.task.name)
            self._start_all()
            self.clip_available[:] = False  # for one step: a clip in progress does not continue with another attempt
            return
        if arrays["states"].shape == self.states.shape:
            self.states = np.array(arrays["states"])
        self._capture(np.zeros(self.count, np.bool_))


def steps_per_second(env_id: str) -> float:
    """Return the environment's own rate (render_fps) in Hz, clipped to RATES, or USUAL_RATE if it has none.

    Raises UserError if the environment can't be created.
    """
    envs = take_envs(gym_task(GYM_PREFIX + env_id), 1, pictures=False)
    rate: object = envs.envs[0].metadata.get("render_fps")
    give_back(envs)
    given = float(rate) if isinstance(rate, int | float | np.integer | np.floating) else 0.0
    return min(max(given, RATES[0]), RATES[1]) if given > 0 else USUAL_RATE


def _restarted_by_mujoco(env: gymnasium.Env[Any, Any]) -> bool:
    """Return whether MuJoCo has reset the environment's simulation since the last call."""
    data = getattr(env.unwrapped, "data", None)
    return isinstance(data, mujoco.MjData) and take_divergence(data)


def _simplify_pictures(env: gymnasium.Env[Any, Any]) -> None:
    """Simplify MuJoCo's shadows, and switch off reflections and smoothing: 10 ms per picture without a GPU instead of 40."""
    model = getattr(env.unwrapped, "model", None)
    if isinstance(model, mujoco.MjModel):
        model.vis.quality.shadowsize, model.vis.quality.offsamples = _MUJOCO_SHADOW, 0
        model.mat_reflectance[:] = 0


def _picture(env: gymnasium.Env[Any, Any]) -> Any:
    """Render the environment, with its OpenGL context current: Gymnasium does not switch, and the picture would be black."""
    if drawn := viewer(env):
        drawn.make_context_current()
    return env.render()


def _require_teachable(task: GymTask, envs: Envs) -> None:
    """Raise UserError if the networks can't take the observations or actions."""
    observed, acted = envs.single_observation_space, envs.single_action_space
    if not isinstance(observed, Box) or not 0 < np.prod(observed.shape) <= _MAX_NUMBERS:
        kind = f"numbers of shape {observed.shape}" if isinstance(observed, Box) else f"a {type(observed).__name__}"
        raise UserError(
            f"{task.name} is observed as {kind}: only arrays of 1 to {_MAX_NUMBERS:,} numbers are supported."
        )
    bounded = isinstance(acted, Box) and acted.low.size > 0 and np.isfinite([acted.low, acted.high]).all()
    if not bounded and not isinstance(acted, Discrete):
        raise UserError(
            f"{task.name} takes {acted} as actions: only bounded Box and Discrete action spaces are supported."
        )


def _flatten(observations: Any) -> npt.NDArray[Any]:
    """(N, ...) -> (N, o)"""
    array = np.asarray(observations)
    return array.reshape(len(array), -1)
