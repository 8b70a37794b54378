"""The backflip task as a Gymnasium environment, for the libraries that this program is compared with.

These libraries run in environments of their own, whose pins conflict with the project's. This module therefore imports
nothing of core and repeats the formulas of core/tasks/hopper_backflip.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import torch

TASK = "HopperBackflip-v0"
PHYSICS = {
    "gymnasium": (mujoco.mjtIntegrator.mjINT_RK4, 0.002, 12),
    "ours": (mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 0.005, 5),
}
"""Integrator, seconds of a physics step, and physics steps of an environment step: 41.7 or 40 Hz."""
_RESET_NOISE = 5e-3


def load_model(physics: str) -> mujoco.MjModel:
    """Load Gymnasium's Hopper with the integrator and timestep of PHYSICS."""
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    model = mujoco.MjModel.from_xml_path(str(assets / "hopper.xml"))
    model.opt.integrator, model.opt.timestep, _ = PHYSICS[physics]
    return model


def prepare() -> dict[str, Any]:
    """Register the environment as TASK, and set torch's number of threads (0: torch's own choice).

    Returns the other options that Peer.run was given.
    """
    options = json.loads(sys.argv[1])
    if threads := options.pop("threads"):
        torch.set_num_threads(threads)
    kwargs = {"physics": options.pop("physics")}
    gymnasium.register(TASK, HopperBackflip, max_episode_steps=options.pop("episode"), kwargs=kwargs)
    return options


class HopperBackflip(gymnasium.Env[np.ndarray, np.ndarray]):
    """One Hopper that never terminates; gymnasium.register sets its episode length. `backflips` counts those of the episode."""

    def __init__(self, physics: str) -> None:
        self._model = load_model(physics)
        self._frame_skip = PHYSICS[physics][2]
        self._data = mujoco.MjData(self._model)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (12,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
        self.backflips = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:] += self.np_random.uniform(-_RESET_NOISE, _RESET_NOISE, self._model.nq)
        self._data.qvel[:] = self.np_random.uniform(-_RESET_NOISE, _RESET_NOISE, self._model.nv)
        self.backflips = 0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        action = np.clip(action, -1, 1)
        reward = self._reward(action)
        self._data.ctrl[:] = action
        mujoco.mj_step(self._model, self._data, nstep=self._frame_skip)
        self._count()
        return self._observation(), reward, False, False, {}

    def _observation(self) -> np.ndarray:
        """Return the observation (12,) float32 as in core, with sine and cosine of the angle, so that it repeats after a turn."""
        position, velocity = self._data.qpos, np.clip(self._data.qvel, -10, 10)
        turn = [np.sin(position[2]), np.cos(position[2])]
        return np.concatenate([position[1:2], turn, position[3:], velocity]).astype(np.float32)

    def _reward(self, a: np.ndarray) -> float:
        """Return OpenAI's backflip reward (true_reward=openai in core) from Gymnasium's standard observation before the step."""
        o = np.concatenate([self._data.qpos[1:], np.clip(self._data.qvel, -10, 10)])
        push = a[0] * o[8] + a[1] * o[9] + a[2] * o[10]
        return float(-o[7] * (1 + 0.3 * o[0] + 0.1 * push + 0.05 * -o[5]))

    def _count(self) -> None:
        """Count full backward turns as core's BackflipCounter does."""
        self.backflips += int(self._data.qpos[2] <= -2 * np.pi * (self.backflips + 1))
