"""Batched physics: N copies of one robot stepped by mujoco.rollout's thread pool, without the GIL.

Episodes have a fixed length and never end early, as Appendix A asks: an early end would tell the agent about the task.
The copies start at different ages, so that ends (and resets) are spread over time.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

from core.records import Float32, Float64
from core.tasks.base import Physics, Task

log = logging.getLogger(__name__)
mujoco.set_mju_user_warning(log.info)  # else MuJoCo writes a file MUJOCO_LOG.TXT into whatever folder is current
_FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
_INTEGRATORS = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}


_FIELD_OF_VIEW = 36.0
"""Degrees: the Hopper at full stretch fills two thirds of the picture."""
_FLOOR_METRES = 400.0
_FLOOR = ((0.36, 0.42, 0.48), (0.62, 0.68, 0.72))
_SKY = ((0.75, 0.82, 0.88), (0.45, 0.55, 0.66))


@dataclass(frozen=True)
class Step:
    """What one step of the batch gave.

    observations (N, o) float32: what the networks see next; after an end, of the fresh episode
    true_rewards (N,) float32, nan where the task has none
    ended (N,) bool: the episode reached its length
    end_observations (count of ends, o): what was seen at those ends, before the reset
    finished: (true return, measure) of each ended episode
    """

    observations: Float32
    true_rewards: Float32
    ended: np.ndarray
    end_observations: Float32
    finished: list[tuple[float, dict[str, float]]]


def load_model(task: Task) -> mujoco.MjModel:
    """The task's robot, with a frame sensor at each end of the capsules that may touch the floor."""
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    spec = mujoco.MjSpec.from_file(str(assets / task.model))
    spec.option.timestep = task.timestep
    spec.option.integrator = _INTEGRATORS[task.integrator]
    for number, (geom_name, end) in enumerate(task.touch_points):
        _add_touch_point(spec, f"touch_{number}", geom_name, end)
    _restyle(spec, task.camera)
    return spec.compile()


def _restyle(spec: mujoco.MjSpec, camera: str) -> None:
    """Nearer, brighter and with a calmer floor than Gymnasium's, for whoever looks at clips for an hour."""
    spec.camera(camera).fovy = _FIELD_OF_VIEW
    spec.visual.headlight.ambient[:] = 0.35
    floor = spec.geom("floor")
    floor.size = [_FLOOR_METRES, _FLOOR_METRES, floor.size[2]]  # drawn so far; as an obstacle a plane has no end
    spec.material(floor.material).texrepeat[:] = 3 * _FLOOR_METRES
    for texture in spec.textures:
        if texture.name == "texplane":
            texture.rgb1, texture.rgb2 = _FLOOR
        if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
            texture.rgb1, texture.rgb2 = _SKY


def _add_touch_point(spec: mujoco.MjSpec, name: str, geom_name: str, end: float) -> None:
    geom = spec.geom(geom_name)
    axis = np.zeros(3)
    mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, 1.0]), np.array(geom.quat))
    site = geom.parent.add_site(name=name, pos=np.array(geom.pos) + end * geom.size[1] * axis)
    spec.add_sensor(
        name=name, type=mujoco.mjtSensor.mjSENS_FRAMEPOS, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name
    )


class MujocoBatch:
    """N robots. `observations` is what they see now, `states` (N, S) FULLPHYSICS: time, qpos, qvel, act."""

    def __init__(
        self, task: Task, environments: int, rng: np.random.Generator, threads: int = 0, staggered: bool = True
    ) -> None:
        self.task = task
        self.count = environments
        self.model = load_model(task)
        self.action_size = int(self.model.nu)
        self._threads = min(threads or os.cpu_count() or 1, environments)
        self._rng = rng
        self.data = [mujoco.MjData(self.model) for _ in range(self._threads)]
        self._models = [self.model] * environments
        self._pool = rollout.Rollout(nthread=self._threads if self._threads > 1 else 0)
        size = mujoco.mj_stateSize(self.model, _FULL)
        self._trail = np.zeros((environments, task.frame_skip, size))
        self._sensed = np.zeros((environments, task.frame_skip, self.model.nsensordata))
        self._radii = np.array([self.model.geom(name).size[0] for name, _ in task.touch_points])
        self._measure = task.measure(environments, task.step_seconds)
        self._returns = np.zeros(environments)
        self.blow_ups = 0
        self.states = np.zeros((environments, size))
        self._ages = np.zeros(environments, np.int64)
        self._reset(np.arange(environments))
        if staggered:
            self._ages[:] = rng.permutation(np.arange(environments) * task.episode_steps // environments)
        self._first = self._ages > 0
        self._standard = self._observe(task.standard_observe)
        self.observations = self._observe(task.observe).astype(np.float32)

    @property
    def discrete(self) -> bool:
        """Whether an action is a choice, as a one-hot row, rather than torques."""
        return False

    @property
    def observation_size(self) -> int:
        return int(self.observations.shape[1])

    @property
    def state_size(self) -> int:
        return int(self.states.shape[1])

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of an observation, an action and a simulator state."""
        return self.observation_size, self.action_size, self.state_size

    def close(self) -> None:
        self._pool.close()

    def step(self, actions: Float32) -> Step:
        """actions (N, a); they are clipped to [-1, 1] as the motors do."""
        actions = np.clip(actions, -1, 1)
        self._advance(actions)
        physics = self._physics(actions)
        self._measure.step(physics)
        rewards = np.full(self.count, np.nan) if self.task.true_reward is None else self.task.true_reward(physics)
        self._returns += rewards
        self._ages += 1
        self._standard = self._observe(self.task.standard_observe)
        observations = self._observe(self.task.observe).astype(np.float32)
        ended = self._ages >= self.task.episode_steps
        end_observations = observations[ended]
        finished = self._end_episodes(np.flatnonzero(ended)) if ended.any() else []
        if ended.any():
            self._standard = self._observe(self.task.standard_observe)
            observations = self._observe(self.task.observe).astype(np.float32)
        self.observations = observations
        return Step(observations, rewards.astype(np.float32), ended, end_observations, finished)

    def _advance(self, actions: Float32) -> None:
        controls = np.repeat(actions[:, None, :].astype(np.float64), self.task.frame_skip, axis=1)
        clocks = self.states[:, 0] + self.task.step_seconds
        self._pool.rollout(
            self._models,
            self.data,
            self.states,
            controls,
            nstep=self.task.frame_skip,
            state=self._trail,
            sensordata=self._sensed,
            skip_checks=True,
        )
        self.states = self._trail[:, -1].copy()
        self._mend_blow_ups(clocks)

    def _mend_blow_ups(self, clocks: Float64) -> None:
        """An environment whose state is no longer finite ends its episode here, unreported and counted.

        MuJoCo resets most of these by itself, in silence; its clock, which should be at `clocks`, gives it away.
        """
        on_time = np.abs(self.states[:, 0] - clocks) < self.task.timestep / 2
        if on_time.all() and np.isfinite(self.states.sum()):
            return
        blown = np.flatnonzero(~(on_time & np.isfinite(self.states).all(axis=1)))
        self.blow_ups += len(blown)
        self._reset(blown)
        self._ages[blown] = self.task.episode_steps
        self._first[blown] = True

    def _physics(self, actions: Float32) -> Physics:
        heights = self._sensed[:, -1, 2::3] - self._radii
        return Physics(self._positions, self._velocities, actions, self._standard, heights)

    def _end_episodes(self, indices: np.ndarray) -> list[tuple[float, dict[str, float]]]:
        """Resets these; reports all but those whose first episode was cut short by its starting age."""
        finished = []
        for index in indices:
            figures = self._measure.finish(int(index))
            if not self._first[index]:
                finished.append((float(self._returns[index]), figures))
        self._first[indices] = False
        self._reset(indices)
        return finished

    def _reset(self, indices: np.ndarray) -> None:
        nq, nv = self.model.nq, self.model.nv
        noise = self.task.reset_noise
        self.states[indices] = 0
        self.states[indices, 1 : 1 + nq] = self.model.qpos0 + self._rng.uniform(-noise, noise, (len(indices), nq))
        self.states[indices, 1 + nq : 1 + nq + nv] = self._rng.uniform(-noise, noise, (len(indices), nv))
        self._returns[indices] = 0
        self._ages[indices] = 0

    @property
    def _positions(self) -> Float64:
        return self.states[:, 1 : 1 + self.model.nq]

    @property
    def _velocities(self) -> Float64:
        return self.states[:, 1 + self.model.nq : 1 + self.model.nq + self.model.nv]

    def _observe(self, function: Any) -> Float64:
        return function(self._positions, self._velocities)

    def get_state(self) -> dict[str, Any]:
        """Arrays from which set_state goes on exactly."""
        measure = {f"measure_{name}": values for name, values in self._measure.state().items()}
        plain = {"states": self.states, "ages": self._ages, "first": self._first, "returns": self._returns}
        return {**plain, **measure}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self.states[:], self._ages[:] = arrays["states"], arrays["ages"]
        self._first[:], self._returns[:] = arrays["first"], arrays["returns"]
        self._measure.restore({n.removeprefix("measure_"): a for n, a in arrays.items() if n.startswith("measure_")})
        self._standard = self._observe(self.task.standard_observe)
        self.observations = self._observe(self.task.observe).astype(np.float32)
