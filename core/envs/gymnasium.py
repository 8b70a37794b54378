"""Any Gymnasium environment with a Box observation, through its vector API. What is not flat is laid out in one row.

Episodes have a fixed length here too, and the learner sees no other end (A.1). Where the environment itself ends an
attempt, it is held still for a moment: the last observation stays, whatever is done, and the reward is 0; then the
next attempt begins, within the same episode. So what ended well or badly is seen in a clip, and an end costs as many
steps of reward, or spares as many steps of cost, without anybody choosing a penalty.

Simulations of this kind can't be saved. At a resume each is started from the seed it had and given the same actions
again; where that does not lead to what was seen then, all episodes start anew.
"""

from __future__ import annotations

import contextlib
import copy
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from core.envs.action_replay import ActionReplay
from core.envs.base import CaptureSchedule, Step
from core.errors import UserError
from core.io import image_codec
from core.tasks.gymnasium import GymTask
from core.types import Float32

log = logging.getLogger(__name__)
Mask = npt.NDArray[np.bool_]
_SEEDS = 2**31 - 1
_BLOW_UP_WARNINGS = [int(getattr(mujoco.mjtWarning, f"mjWARN_{kind}")) for kind in ("BADQPOS", "BADQVEL", "BADQACC")]
_KEPT = ("ages", "first", "resting", "attempts", "returns")
"""What is known of each environment, beside what it has been given."""
_ATARI = "ALE/"
_MOST_NUMBERS = 4096
"""In a table: larger ones are pictures, which networks for numbers learn nothing from."""
_MUJOCO_PIXELS = 240
"""Gymnasium draws its robots four times as large unless told, which takes four times as long without a GPU."""


class GymVectorEnv:
    """N environments of one id. `states` (N, ROW) are pictures of those filmed now; (N, 0) where none ever are."""

    depth = 1

    def __init__(
        self,
        task: GymTask,
        environments: int,
        rng: np.random.Generator,
        staggered: bool = True,
        film: CaptureSchedule | None = None,
    ) -> None:
        self.task = task
        self.count = environments
        self.divergences = 0
        self._film = film
        self._rng = rng
        self._envs = _made(task, environments, film is not None)
        _check(task, self._envs)
        action_space = self._envs.single_action_space
        self.discrete = isinstance(action_space, Discrete)
        self._acted = int(action_space.n if isinstance(action_space, Discrete) else np.prod(action_space.shape or ()))
        self._tapes = ActionReplay(environments, task.episode_steps, np.asarray(action_space.sample()))
        self._time = 0
        self._ages = np.zeros(environments, np.int64)
        if staggered:
            self._ages[:] = rng.permutation(np.arange(environments) * task.episode_steps // environments)
        self._begin()

    def _begin(self) -> None:
        """All attempts start anew, at the ages that the episodes have."""
        observations = self._started(np.ones(self.count, np.bool_), self._time)
        self.observations = observations.astype(np.float32)
        self._first = self._ages > 0
        self._resting = np.zeros(self.count, np.int64)
        self._attempts, self._returns = np.ones(self.count), np.zeros(self.count)
        self.states = np.zeros((self.count, image_codec.ROW if self._film else 0), np.uint8)
        self.clip_available = np.ones(self.count, np.bool_)
        self._take_pictures(np.ones(self.count, np.bool_))

    def _started(self, rows: Mask, later: int = 0) -> npt.NDArray[Any]:
        """Starts these; (N, o) what all show. later: other seeds than the generator's next ones."""
        seeds = (self._rng.integers(_SEEDS, size=self.count) + later) % _SEEDS
        self._tapes.start(rows, seeds)
        with self._told():
            observations, _ = self._envs.reset(seed=seeds.tolist(), options={"reset_mask": rows})
        return _flat(observations)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of an observation, an action and a picture."""
        return self.observations.shape[1], self._acted, self.states.shape[1]

    def close(self) -> None:
        self._envs.close()

    def step(self, actions: Float32) -> Step:
        """actions (N, a): from -1 to 1 for a Box, scaled to its bounds; for a Discrete, the largest is taken."""
        own = self._own(actions)
        self._tapes.add(own)
        with self._told():
            observations, gained, stopped, cut, _ = self._envs.step(own)
        over = stopped | cut
        resting = self._resting > 0
        observations = np.where(resting[:, None], self.observations, _flat(observations)).astype(np.float32)
        with np.errstate(over="ignore"):  # what float32 can't hold is a blow-up too
            rewards: Float32 = np.where(resting, 0.0, gained).astype(np.float32)
        diverged = self._mend_blow_ups(observations, rewards)
        self._time += 1
        self._take_pictures(~resting)
        self._resting[resting] -= 1
        self._resting[over & ~resting] = self.task.rest_steps
        self._returns += rewards
        self._ages += 1
        ended = self._ages >= self.task.episode_steps
        end_observations = observations[ended]
        rows = np.flatnonzero(ended & ~self._first)
        finished = [self._finish(int(index)) for index in rows]
        self._restart(observations, ended, ended | (resting & (self._resting == 0)), over)
        self.observations = observations
        return Step(observations, rewards, ended, end_observations, finished, rows, diverged)

    def _own(self, actions: Float32) -> npt.NDArray[Any]:
        """The actions as the environment takes them."""
        space = self._envs.single_action_space
        if isinstance(space, Discrete):
            return space.start + actions.argmax(axis=1)
        assert isinstance(space, Box)
        shares = (np.clip(actions, -1, 1).reshape(-1, *space.shape) + 1) / 2
        scaled = space.low + (space.high - space.low) * shares
        return np.clip(scaled, space.low, space.high).astype(space.dtype)

    def _mend_blow_ups(self, observations: Float32, rewards: Float32) -> Mask:
        """(N,) what is no longer finite, or was started anew for that: it ends its episode, unreported and counted."""
        diverged = ~(np.isfinite(observations).all(axis=1) & np.isfinite(rewards))
        diverged |= np.array([_failed(env) for env in self._envs.envs]) & (self._resting == 0)
        if diverged.any():
            self.divergences += int(diverged.sum())
            observations[diverged], rewards[diverged] = self.observations[diverged], 0.0
            self._ages[diverged] = self.task.episode_steps
            self._first[diverged] = True
        return diverged

    def _restart(self, observations: Float32, ended: Mask, seen: Mask, over: Mask) -> None:
        """Starts new attempts where one is over; the learner sees those of the rows `seen`."""
        fresh = seen | over
        if not fresh.any():
            return
        observations[seen] = self._started(fresh)[seen]
        self._resting[seen] = 0
        self._attempts[seen] += 1
        self._attempts[ended], self._returns[ended], self._ages[ended] = 1, 0.0, 0
        self._first[ended] = False
        self._take_pictures(seen)

    def _take_pictures(self, changed: Mask) -> None:
        """Of each that is filmed now, if it has changed or has no picture; those that are not lose theirs."""
        if self._film is None:
            return
        self.clip_available = self._film.rows(self._time, self.count)
        self.states = np.where(self.clip_available[:, None], self.states, np.uint8(0))
        for row in np.flatnonzero(self.clip_available & (changed | ~self.states[:, 0].astype(np.bool_))):
            with self._told():
                frame = self._envs.envs[row].render()
            if not isinstance(frame, np.ndarray) or frame.ndim != 3:
                raise UserError(f"{self.task.name} draws no pictures (rgb_array) to make clips of.")
            self.states[row] = image_codec.encoded(frame)

    def _finish(self, index: int) -> tuple[float, dict[str, float]]:
        total = float(self._returns[index])
        return total, {"return_per_episode": total, "attempts_per_episode": float(self._attempts[index])}

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong inside somebody's environment is told in a sentence, with its own words."""
        try:
            yield
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise UserError(f"{self.task.name} fails: {_one_line(error)}") from error

    def get_state(self) -> dict[str, Any]:
        counters = {"time": np.array(self._time), "divergences": np.array(self.divergences)}
        kept = {name: getattr(self, f"_{name}") for name in _KEPT}
        return {**counters, **kept, **self._tapes.get_state(), "seen": self.observations, "states": self.states}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Goes on where those were; where they can't be brought there again, at the same ages in new attempts."""
        self._ages[:] = arrays["ages"]
        self._time, self.divergences = int(arrays["time"]), int(arrays["divergences"])
        if not self._brought_back(arrays):
            log.info("The episodes of %s start anew: it did not repeat what it had done.", self.task.name)
            self._begin()

    def _brought_back(self, arrays: Mapping[str, Any]) -> bool:
        if "seen" not in arrays:  # of an earlier version
            return False
        self._tapes.set_state(arrays)
        for name in _KEPT:
            getattr(self, f"_{name}")[:] = arrays[name]
        self.observations = np.array(arrays["seen"], np.float32)
        with self._told():
            there = _flat(self._tapes.play(self._envs.envs)).astype(np.float32)
        resting = self._resting > 0  # of these the learner sees something else
        if not np.array_equal(there[~resting], self.observations[~resting]):
            return False
        if arrays["states"].shape == self.states.shape:
            self.states = np.array(arrays["states"])
        self.clip_available = np.ones(self.count, np.bool_)
        self._take_pictures(np.zeros(self.count, np.bool_))
        return True


def _made(task: GymTask, environments: int, pictured: bool) -> SyncVectorEnv[Any, Any]:
    """The vector environment; UserError where there is none of that id, or it can't be made."""
    if task.env_id.startswith(_ATARI):
        raise UserError(f"{task.name} is an Atari game: those that can be taught are tasks of their own, such as pong.")
    options: dict[str, Any] = {"render_mode": "rgb_array"} if pictured else {}
    try:
        spec = copy.deepcopy(gymnasium.spec(task.env_id))
        if pictured and str(spec.entry_point).startswith("gymnasium.envs.mujoco"):
            options |= {"width": _MUJOCO_PIXELS, "height": _MUJOCO_PIXELS}
        spec.max_episode_steps = None  # episodes have our own length
        spec.disable_env_checker = True
        manual = {"autoreset_mode": AutoresetMode.DISABLED}
        made = gymnasium.make_vec(spec, environments, vectorization_mode="sync", vector_kwargs=manual, **options)
    except Exception as error:
        raise UserError(f"{task.name} can't be made: {_one_line(error)}") from error
    assert isinstance(made, SyncVectorEnv)
    return made


def _failed(env: gymnasium.Env[Any, Any]) -> bool:
    """MuJoCo starts a simulation that has failed anew by itself, in silence: only its warnings give that away."""
    data = getattr(env.unwrapped, "data", None)
    return isinstance(data, mujoco.MjData) and any(data.warning[kind].number for kind in _BLOW_UP_WARNINGS)


def _check(task: GymTask, envs: SyncVectorEnv[Any, Any]) -> None:
    """UserError where observations or actions are of a kind that the networks don't take."""
    seen, done = envs.single_observation_space, envs.single_action_space
    if not isinstance(seen, Box) or len(seen.shape) > 1 and np.prod(seen.shape) > _MOST_NUMBERS:
        envs.close()
        kind = f"pictures of shape {seen.shape}" if isinstance(seen, Box) else f"a {type(seen).__name__}"
        raise UserError(f"{task.name} is observed as {kind}: only rows or small tables of numbers can be taught.")
    bounded = isinstance(done, Box) and np.isfinite([done.low, done.high]).all()
    if not bounded and not isinstance(done, Discrete):
        envs.close()
        raise UserError(f"{task.name} takes {done} as actions: only a bounded Box or a Discrete can be taught.")


def _flat(observations: Any) -> npt.NDArray[Any]:
    """(N, o), whatever the shape of each."""
    array = np.asarray(observations)
    return array.reshape(len(array), -1)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text}."
