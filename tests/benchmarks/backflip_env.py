"""Our backflip task as a Gymnasium environment, for the peers that this program is measured beside.

The peers run in environments of their own, whose pins clash with the project's, so it can import nothing of core: the
few formulas of core/tasks/hopper_backflip.py are repeated here.
"""

from __future__ import annotations

import argparse
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
    """Gymnasium's Hopper; as core.envs.mujoco.load_model, but for the sensors, which reward and count don't need."""
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    model = mujoco.MjModel.from_xml_path(str(assets / "hopper.xml"))
    model.opt.integrator, model.opt.timestep, _ = PHYSICS[physics]
    return model


def parser(description: str | None, *numbers: str) -> argparse.ArgumentParser:
    """Of a peer's side: these whole numbers, and what `prepare` wants."""
    made = argparse.ArgumentParser(description=description)
    for name in (*numbers, "steps", "episode", "seed", "threads"):
        made.add_argument(f"--{name}", type=int, required=True)
    made.add_argument("--physics", choices=tuple(PHYSICS), required=True)
    return made


def prepare(options: argparse.Namespace) -> None:
    """Registers the environment as TASK, and gives torch its threads (0: as many as it likes)."""
    if options.threads:
        torch.set_num_threads(options.threads)
    kwargs = {"physics": options.physics}
    gymnasium.register(TASK, HopperBackflip, max_episode_steps=options.episode, kwargs=kwargs)


class HopperBackflip(gymnasium.Env[np.ndarray, np.ndarray]):
    """One Hopper. Its length is set by gymnasium.register; it never ends early. backflips: of the present episode."""

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
        """As core's `observation`: the angle as sine and cosine, so that after a full turn it is where it was."""
        position, velocity = self._data.qpos, np.clip(self._data.qvel, -10, 10)
        turn = [np.sin(position[2]), np.cos(position[2])]
        return np.concatenate([position[1:2], turn, position[3:], velocity]).astype(np.float32)

    def _reward(self, a: np.ndarray) -> float:
        """As core's `backflip_reward`: OpenAI's, on Gymnasium's standard observation before the step."""
        o = np.concatenate([self._data.qpos[1:], np.clip(self._data.qvel, -10, 10)])
        push = a[0] * o[8] + a[1] * o[9] + a[2] * o[10]
        return float(-o[7] * (1 + 0.3 * o[0] + 0.1 * push + 0.05 * -o[5]))

    def _count(self) -> None:
        """As core's BackflipCounter: a full turn backward since the last one counted, or since the start."""
        self.backflips += int(self._data.qpos[2] <= -2 * np.pi * (self.backflips + 1))
