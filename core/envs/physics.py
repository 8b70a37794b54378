"""Many MuJoCo simulations stepped side by side, without the GIL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import mujoco
import numpy as np
from mujoco import rollout

from core.types import Float64

FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
_TURNS = 2
"""Shares that a thread takes of one call: with mujoco's ten it is a tenth slower, with one it waits for a busy core."""


class PhysicsBackend(Protocol):
    """Steps N states. After `step`, sensed (N, sensor data) tells of the start of the last physics step."""

    sensed: Float64

    def step(self, states: Float64, controls: Float64) -> Float64:
        """states (N, S), controls (N, u), held for a whole environment step -> new states (N, S)."""
        ...

    def settle(self, states: Float64) -> Float64:
        """(n, S) fresh states -> (n, e) extras, as they are before any step."""
        ...

    @property
    def extras(self) -> Float64:
        """(N, e) after `step`."""
        ...

    def close(self) -> None: ...


class RolloutPhysics:
    """By mujoco.rollout: all in one C++ call, but it gives nothing besides states and sensors."""

    def __init__(self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int) -> None:
        self._frame_skip = frame_skip
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._models = [model] * environments
        self._pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self._chunk = max(1, environments // (_TURNS * threads))
        self._trail = np.zeros((environments, frame_skip, mujoco.mj_stateSize(model, FULL)))
        self._all_sensed = np.zeros((environments, frame_skip, model.nsensordata))
        self.sensed = self._all_sensed[:, -1]
        self.extras = np.zeros((environments, 0))

    def step(self, states: Float64, controls: Float64) -> Float64:
        self._pool.rollout(
            self._models,
            self._data,
            states,
            np.repeat(controls[:, None], self._frame_skip, axis=1),
            nstep=self._frame_skip,
            state=self._trail,
            sensordata=self._all_sensed,
            skip_checks=True,
            chunk_size=self._chunk,
        )
        return self._trail[:, -1].copy()

    def settle(self, states: Float64) -> Float64:
        """Extras, where there are any, are forces of steps: a fresh state has felt none."""
        return np.zeros((len(states), self.extras.shape[1]))

    def close(self) -> None:
        self._pool.close()


class ContactPhysics(RolloutPhysics):
    """With `cfrc_ext` as extras, put together from the contact sensors of core.envs.robot_models.

    That is MuJoCo's field as the last physics step left it: for each body the torque about the robot's centre of mass
    and the force that contacts exert on it. The world's, which nobody wants, stay zero.
    """

    def __init__(self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int) -> None:
        super().__init__(model, frame_skip, environments, threads)
        contacts = 9 * (model.nbody - 1)
        self._contacts, self._centre = self.sensed[:, -contacts - 3 : -3], self.sensed[:, -3:]
        self.sensed = self.sensed[:, : -contacts - 3]
        self.extras = np.zeros((environments, 6 * model.nbody))

    def step(self, states: Float64, controls: Float64) -> Float64:
        after = super().step(states, controls)
        # (9, N, bodies), each in one piece: sums of strided parts take twice as long.
        told = np.ascontiguousarray(self._contacts.reshape(len(states), -1, 9).transpose(2, 0, 1))
        force, torque, place = told[:3], told[3:6], told[6:]
        lever = place - self._centre.T[:, :, None]
        felt = self.extras[:, 6:].reshape(len(states), -1, 6)  # a view
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # np.cross takes three times as long
            felt[:, :, i] = lever[k] * force[j] - lever[j] * force[k] - torque[i]  # sensors give what the body
            felt[:, :, 3 + i] = -force[i]  # exerts, and it is what it feels
        return after


class DataPhysics:
    """One after the other by mj_step, in threads, for fields of MjData that mujoco.rollout doesn't give.

    As Gymnasium does: forces between bodies are computed once more after the last step, positions of bodies are those
    that the integrator's last stage left. Nothing is carried from step to step but the state, so a restored one goes on
    exactly.
    """

    def __init__(
        self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int, fields: tuple[str, ...]
    ) -> None:
        self._model, self._frame_skip, self._fields = model, frame_skip, fields
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._shares = np.array_split(np.arange(environments), threads)
        self._pool = ThreadPoolExecutor(threads, "physics") if threads > 1 else None
        self._states = np.zeros((environments, mujoco.mj_stateSize(model, FULL)))
        self.sensed = np.zeros((environments, model.nsensordata))
        self.extras = np.zeros((environments, sum(getattr(self._data[0], name).size for name in fields)))

    def step(self, states: Float64, controls: Float64) -> Float64:
        if self._pool is None:
            self._step_share(0, states, controls)
        else:
            shares = range(len(self._shares))
            list(self._pool.map(lambda share: self._step_share(share, states, controls), shares))
        return self._states.copy()

    def _step_share(self, share: int, states: Float64, controls: Float64) -> None:
        model, data, skip = self._model, self._data[share], self._frame_skip
        warm, control, sensed = data.qacc_warmstart, data.ctrl, data.sensordata
        for row in self._shares[share]:
            mujoco.mj_setState(model, data, states[row], FULL)
            warm[:] = 0
            control[:] = controls[row]
            mujoco.mj_step(model, data, skip)
            mujoco.mj_rnePostConstraint(model, data)
            mujoco.mj_getState(model, data, self._states[row], FULL)
            self.sensed[row] = sensed
            self._keep_extras(data, self.extras[row])

    def _keep_extras(self, data: mujoco.MjData, row: Float64) -> None:
        start = 0
        for name in self._fields:
            values = getattr(data, name)
            row[start : start + values.size] = values.ravel()
            start += values.size

    def settle(self, states: Float64) -> Float64:
        data, extras = self._data[0], np.zeros((len(states), self.extras.shape[1]))
        for state, row in zip(states, extras, strict=True):
            mujoco.mj_resetData(self._model, data)
            mujoco.mj_setState(self._model, data, state, FULL)
            mujoco.mj_forward(self._model, data)
            self._keep_extras(data, row)
        return extras

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
