"""MuJoCo robots as a vectorized environment.

Episodes have a fixed length and never end early: an early end would reveal the task to the agent (Appendix A).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.behaviours.behaviour import STARTS
from core.behaviours.signals import Signals
from core.envs.base import FinishedEpisode, Step
from core.events import without_prefix
from core.robots.actuators import rest_activations
from core.robots.kinematics import Kinematics, Poses
from core.robots.models import load_model, start_key
from core.robots.physics import (
    RolloutPhysics,
    activations_of,
    fresh_state,
    have_diverged,
    largest_state,
    placed,
    positions_of,
    velocities_of,
)
from core.robots.signals import SignalSource, StepSignals, StepStates
from core.robots.starts import Starts, can_lift_and_turn
from core.system.resources import available_cores
from core.tasks.base import NO_SIGNALS, Physics, RobotTask
from core.types import Float32, Float64, Mask

_ENVIRONMENTS_PER_THREAD = 16
"""Fewest environments per thread: with fewer, waking the thread takes longer than its work."""


class MujocoVectorEnv:
    """N robots. `states`: (N, S) float64, MuJoCo's full physics state (time, qpos, qvel, act)."""

    discrete = False

    def __init__(
        self,
        task: RobotTask,
        environments: int,
        rng: np.random.Generator,
        threads: int = 0,
        staggered: bool = True,
        varied_starts: float = 0.0,
    ) -> None:
        """Create environments.

        threads: 0 for one per core, fewer for few environments
        varied_starts: share of the environments whose robots start turned over, tilted or thrown, in unreported episodes
        """
        self.task = task
        self.count = environments
        self.model = load_model(task)
        self.clip_available = np.ones(environments, np.bool_)
        self.divergences = 0
        self._rng = rng
        usual = max(1, min(available_cores(), environments // _ENVIRONMENTS_PER_THREAD))
        self.physics = RolloutPhysics(self.model, task.frame_skip, environments, min(threads or usual, environments))
        low, high = self.model.actuator_ctrlrange.T
        rest = np.array(task.rest_controls) if task.rest_controls else (low + high) / 2
        self._rest, self._reach_down, self._reach_up = rest, rest - low, high - rest
        self._start = np.array(task.start_positions) if task.start_positions else self.model.qpos0
        self._largest = largest_state(self.model, self._start)
        self._activations = rest_activations(self.model, self._start, rest, start_key(self.model))
        self._measure = task.measure(environments, task.step_seconds)
        self._kinematics = Kinematics(self.model)
        self._signals = SignalSource(self._kinematics) if task.needs_signals else None
        self._starts = Starts(self._kinematics, task.start, task.start_scale) if task.start != STARTS[0] else None
        can_vary = task.floor_sense and can_lift_and_turn(self._kinematics)
        self._may_vary = np.arange(environments) >= environments - round(varied_starts * environments * can_vary)
        """(N,): whether the robot's starts are varied while `varies_starts` is on; these episodes are not reported."""
        self.varies_starts, self.varied = bool(self._may_vary.any()), np.zeros(environments, np.bool_)
        self._throws = Starts(self._kinematics, "mixed", task.start_scale) if self.varies_starts else None
        self._returns = np.zeros(environments)
        self._fresh = fresh_state(self.model)
        self.states = np.tile(self._fresh, (environments, 1))
        self._ages = np.zeros(environments, np.int64)
        self._reset(np.arange(environments))
        if staggered:
            self._ages[:] = rng.permutation(np.arange(environments) * task.episode_steps // environments)
        self._first = (self._ages > 0) | self.varied
        self._observe()

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.observations.shape[1], int(self.model.nu), self.states.shape[1]

    def close(self) -> None:
        self.physics.close()

    def step(self, actions: Float32) -> Step:
        """Step all robots with actions (N, a) float32, clipped to [-1, 1] and scaled to the actuators' control range."""
        actions, seen = np.clip(actions, -1, 1), self.observations
        before, velocities_before = self._positions, self._velocities
        clocks = self.states[:, 0] + self.task.step_seconds
        self.states = self.physics.step(self.states, self.controls(actions))
        diverged = self._reset_diverged(clocks)
        if diverged.any():  # restarted robots have not moved
            before = np.where(diverged[:, None], self._positions, before)
            velocities_before = np.where(diverged[:, None], self._velocities, velocities_before)
        poses = Poses(self._kinematics, self._positions)
        physics = Physics(
            positions=self._positions,
            velocities=self._velocities,
            actions=actions,
            before=before,
            velocities_before=velocities_before,
            signals=self._step_signals(before, actions, poses),
        )
        self._measure.step(physics)
        reward = self.task.true_reward
        rewards = np.full(self.count, np.nan) if reward is None else np.where(diverged, 0.0, reward(physics))
        self._returns += rewards
        self._ages += 1
        self._observe(poses)
        self.observations[diverged] = seen[
            diverged
        ]  # the real next observation is unknown, and the reset's would be wrong
        ended = self._ages >= self.task.episode_steps
        end_observations = self.observations[ended]
        rows = np.flatnonzero(ended & ~self._first)
        finished = self._start_episodes(np.flatnonzero(ended)) if ended.any() else []
        return Step(self.observations, rewards.astype(np.float32), ended, end_observations, finished, rows, diverged)

    def _step_signals(self, before: Float64, actions: Float32, poses: Poses) -> Signals:
        if self._signals is None:
            return NO_SIGNALS
        times = self.states[:, 0]  # restarts with each episode
        states = StepStates(before, self._positions, self._velocities, actions, times, self.task.step_seconds)
        return StepSignals(self._signals, states, poses)

    def controls(self, actions: Float32) -> Float64:
        """Scale actions (..., a) in [-1, 1] to the actuators' control range; 0 becomes RobotTask.rest_controls."""
        scaled = actions.astype(np.float64)
        return self._rest + scaled * np.where(scaled < 0, self._reach_down, self._reach_up)

    def _reset_diverged(self, clocks: Float64) -> Mask:
        """Reset robots that have diverged, and end their episodes unreported. Returns which robots diverged (N,).

        clocks (N,): their expected times in seconds
        """
        diverged = have_diverged(self.states, clocks, self.task.timestep, self._largest)
        if not diverged.any():
            return diverged
        self.divergences += int(diverged.sum())
        self._reset(np.flatnonzero(diverged))
        self._ages[diverged] = self.task.episode_steps
        self._first[diverged] = True
        return diverged

    def _start_episodes(self, indices: np.ndarray) -> list[FinishedEpisode]:
        """Reset these environments. Returns their episodes' returns and figures, except of first, shortened or varied ones."""
        finished = []
        for index in indices:
            figures = self._measure.finish(int(index))
            if not self._first[index]:
                finished.append((float(self._returns[index]), figures))
        self._reset(indices)
        self._first[indices] = self.varied[indices]
        self.observations[indices] = self._observations_of(indices)
        return finished

    def _reset(self, indices: np.ndarray) -> None:
        nq, nv = self.model.nq, self.model.nv
        noise, count = self.task.reset_noise, len(indices)
        positions = self._start + self._rng.uniform(-noise, noise, (count, nq))
        if self.task.normal_speeds:
            velocities = noise * self._rng.standard_normal((count, nv))
        else:
            velocities = self._rng.uniform(-noise, noise, (count, nv))
        if self.task.reset_hook is not None:
            self.task.reset_hook(self._rng, positions, velocities)
        if self._starts is not None:
            self._starts.place(self._rng, positions)
        self.varied[indices] = varied = self._may_vary[indices] & self.varies_starts
        if self._throws is not None and varied.any():
            thrown = positions[varied], velocities[varied]
            self._throws.throw(self._rng, *thrown)
            positions[varied], velocities[varied] = thrown
        activations = self._activations
        if self._starts is not None and self.model.na:
            activations = np.array([rest_activations(self.model, row, self._rest) for row in positions])
        self.states[indices] = placed(self._fresh, positions, velocities, activations)
        self._returns[indices] = 0
        self._ages[indices] = 0

    @property
    def _positions(self) -> Float64:
        return positions_of(self.model, self.states)

    @property
    def _velocities(self) -> Float64:
        return velocities_of(self.model, self.states)

    def _observe(self, poses: Poses | None = None) -> None:
        self.observations = self._observations_of(slice(None), poses)

    def _observations_of(self, rows: slice | np.ndarray, poses: Poses | None = None) -> Float32:
        """Compute the networks' observations (n, o) in a new array. poses: of these environments, if already computed"""
        positions = self._positions[rows]
        own = self.task.observe(positions, self._velocities[rows])
        if self.task.floor_sense:
            own = np.concatenate([own, (poses or Poses(self._kinematics, positions)).floor_sense()], axis=1)
        if self.task.activations:
            own = np.concatenate([own, activations_of(self.model, self.states)[rows]], axis=1)
        return own.astype(np.float32)

    def get_state(self) -> dict[str, Any]:
        arrays = {f"measure_{name}": values for name, values in self._measure.get_state().items()}
        arrays |= {"states": self.states, "ages": self._ages, "first": self._first, "returns": self._returns}
        arrays |= {"varied": self.varied, "varies_starts": np.array(self.varies_starts)}
        return {**arrays, "divergences": np.array(self.divergences)}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self.states[:], self._ages[:] = arrays["states"], arrays["ages"]
        self._first[:], self._returns[:] = arrays["first"], arrays["returns"]
        self.varied[:], self.varies_starts = arrays["varied"], bool(arrays["varies_starts"])
        self.divergences = int(arrays["divergences"])
        self._measure.set_state(without_prefix(arrays, "measure_"))
        self._observe()
