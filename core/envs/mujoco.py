"""Batched physics: N copies of one robot.

Episodes have a fixed length and never end early, as Appendix A asks: an early end would tell the agent about the task.
The copies start at different ages, so that ends (and resets) are spread over time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from core.envs.base import Step
from core.envs.physics import FULL, ContactPhysics, DataPhysics, PhysicsBackend, RolloutPhysics
from core.envs.robot_models import contacts_sensed, load_model
from core.tasks.base import Physics, RobotTask
from core.types import Float32, Float64

Mask = npt.NDArray[np.bool_]
_SHARE = 16
"""Environments, at least, that a thread of its own is worth."""


def threads_for(environments: int) -> int:
    """One a core, but none for a share so small that waking it takes longer: 16 Hoppers need just one."""
    return max(1, min(os.cpu_count() or 1, environments // _SHARE))


class MujocoVectorEnv:
    """N robots. `observations` is what they see now, `states` (N, S) FULLPHYSICS: time, qpos, qvel, act."""

    discrete = False
    depth = 1

    def __init__(
        self,
        task: RobotTask,
        environments: int,
        rng: np.random.Generator,
        threads: int = 0,
        staggered: bool = True,
    ) -> None:
        self.task = task
        self.count = environments
        self.model = load_model(task)
        self.clip_available = np.ones(environments, np.bool_)
        self.divergences = 0
        self._rng = rng
        self.stepper = self._new_stepper(min(threads or threads_for(environments), environments))
        low, high = self.model.actuator_ctrlrange.T
        self._control_middle, self._control_reach = (low + high) / 2, (high - low) / 2
        self._radii = np.array([self.model.geom(name).size[0] for name, _ in task.contact_points])
        self._measure = task.measure(environments, task.step_seconds)
        self._returns = np.zeros(environments)
        self.states = np.zeros((environments, mujoco.mj_stateSize(self.model, FULL)))
        self._ages = np.zeros(environments, np.int64)
        self._reset(np.arange(environments))
        if staggered:
            self._ages[:] = rng.permutation(np.arange(environments) * task.episode_steps // environments)
        self._first = self._ages > 0
        self._look()

    def _new_stepper(self, threads: int) -> PhysicsBackend:
        skip, fields = self.task.frame_skip, self.task.extras
        if contacts_sensed(self.task):
            return ContactPhysics(self.model, skip, self.count, threads)
        if fields:
            return DataPhysics(self.model, skip, self.count, threads, fields)
        return RolloutPhysics(self.model, skip, self.count, threads)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of an observation, an action and a simulator state."""
        return self.observations.shape[1], int(self.model.nu), self.states.shape[1]

    def close(self) -> None:
        self.stepper.close()

    def step(self, actions: Float32) -> Step:
        """actions (N, a); they are clipped to [-1, 1] as the motors do, and scaled to the motors' range."""
        actions = np.clip(actions, -1, 1)
        before = self._positions
        diverged = self._advance(actions)
        if diverged.any():  # started anew, they have gone nowhere
            before = np.where(diverged[:, None], self._positions, before)
        physics = self._physics(actions, before)
        self._measure.step(physics)
        reward = self.task.true_reward
        rewards = np.full(self.count, np.nan) if reward is None else reward(physics)
        self._returns += rewards
        self._ages += 1
        self._look()
        ended = self._ages >= self.task.episode_steps
        end_observations = self.observations[ended]
        rows = np.flatnonzero(ended & ~self._first)
        finished = self._begin_anew(np.flatnonzero(ended)) if ended.any() else []
        return Step(self.observations, rewards.astype(np.float32), ended, end_observations, finished, rows, diverged)

    def _advance(self, actions: Float32) -> Mask:
        """(N,) which blew up."""
        clocks = self.states[:, 0] + self.task.step_seconds
        self.states = self.stepper.step(self.states, self.controls(actions))
        return self._mend_blow_ups(clocks)

    def controls(self, actions: Float32) -> Float64:
        """(..., a) actions from -1 to 1 as the motors' own numbers."""
        return self._control_middle + self._control_reach * actions.astype(np.float64)

    def _mend_blow_ups(self, clocks: Float64) -> Mask:
        """(N,) environments whose state is no longer finite: they end their episode here, unreported and counted.

        MuJoCo resets most of these by itself, in silence; its clock, which should be at `clocks`, gives it away.
        """
        on_time = np.abs(self.states[:, 0] - clocks) < self.task.timestep / 2
        if on_time.all() and np.isfinite(self.states.sum()):
            return ~on_time
        diverged = ~(on_time & np.isfinite(self.states).all(axis=1))
        self.divergences += int(diverged.sum())
        self._reset(np.flatnonzero(diverged))
        self._ages[diverged] = self.task.episode_steps
        self._first[diverged] = True
        return diverged

    def _physics(self, actions: Float32, before: Float64) -> Physics:
        seconds = self.task.step_seconds
        return Physics(
            self._positions, self._velocities, actions, self._standard, self.contact_heights, before, seconds
        )

    @property
    def contact_heights(self) -> Float64:
        """(N, points) of the task's touch points above the floor in m, as the last physics step began."""
        return self.stepper.sensed[:, 2::3] - self._radii

    def _begin_anew(self, indices: np.ndarray) -> list[tuple[float, dict[str, float]]]:
        """As _end_episodes; only these are looked at again, as in most steps one of many begins anew."""
        finished = self._end_episodes(indices)
        self._standard[indices], self.observations[indices] = self._seen(indices)
        return finished

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
        noise, count = self.task.reset_noise, len(indices)
        positions = self.model.qpos0 + self._rng.uniform(-noise, noise, (count, nq))
        if self.task.normal_speeds:
            velocities = noise * self._rng.standard_normal((count, nv))
        else:
            velocities = self._rng.uniform(-noise, noise, (count, nv))
        if self.task.reset_hook is not None:
            self.task.reset_hook(self._rng, positions, velocities)
        self.states[indices] = 0
        self.states[indices, 1 : 1 + nq] = positions
        self.states[indices, 1 + nq : 1 + nq + nv] = velocities
        self.stepper.extras[indices] = self.stepper.settle(self.states[indices])
        self._returns[indices] = 0
        self._ages[indices] = 0

    @property
    def _positions(self) -> Float64:
        return self.states[:, 1 : 1 + self.model.nq]

    @property
    def _velocities(self) -> Float64:
        return self.states[:, 1 + self.model.nq : 1 + self.model.nq + self.model.nv]

    def _look(self) -> None:
        """Takes in what there is to be seen of the present states."""
        self._standard, self.observations = self._seen(slice(None))

    def _seen(self, rows: slice | np.ndarray) -> tuple[Float64, Float32]:
        """Fresh arrays of Gymnasium's observations of these environments, and of the networks'."""
        told = (self._positions[rows], self._velocities[rows], self.stepper.extras[rows])
        standard = self.task.standard_observe(*told)
        same = self.task.observe is self.task.standard_observe
        return standard, (standard if same else self.task.observe(*told)).astype(np.float32)

    def get_state(self) -> dict[str, Any]:
        """Arrays from which set_state goes on exactly."""
        measure = {f"measure_{name}": values for name, values in self._measure.state().items()}
        plain = {"states": self.states, "ages": self._ages, "first": self._first, "returns": self._returns}
        return {**plain, **measure, "extras": self.stepper.extras, "divergences": np.array(self.divergences)}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self.states[:], self._ages[:] = arrays["states"], arrays["ages"]
        self._first[:], self._returns[:] = arrays["first"], arrays["returns"]
        self.stepper.extras[:] = arrays["extras"]
        self.divergences = int(arrays["divergences"])
        self._measure.restore({n.removeprefix("measure_"): a for n, a in arrays.items() if n.startswith("measure_")})
        self._look()
