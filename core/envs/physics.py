"""MuJoCo simulations stepped in batches, without holding Python's lock.

Shapes: N environments; S size of a full physics state (time, qpos, qvel, act); u controls; d sensor values; e extra
fields of MuJoCo's data (RobotTask.extra_fields), flattened.
"""

from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
from mujoco import rollout

from core.types import Float64

FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
_CHUNKS_PER_THREAD = 2
"""With mujoco's default of ten a step takes a tenth longer; with one it waits for a busy core."""


class RolloutPhysics:
    """Steps N simulations by mujoco.rollout: one C++ call for all, which gives states and sensors only.

    sensors: (N, d) values at the start of the last physics step of `step`; extra_fields: (N, e) after `step`
    """

    def __init__(self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int) -> None:
        self._frame_skip = frame_skip
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._models = [model] * environments
        self._pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self._chunk = max(1, environments // (_CHUNKS_PER_THREAD * threads))
        self._trail = np.zeros((environments, frame_skip, mujoco.mj_stateSize(model, FULL)))
        self._sensor_trail = np.zeros((environments, frame_skip, model.nsensordata))
        self.sensors = self._sensor_trail[:, -1]
        self.extra_fields = np.zeros((environments, 0))

    def step(self, states: Float64, controls: Float64) -> Float64:
        """Simulate one environment step: states (N, S), controls (N, u) held throughout -> new states (N, S)."""
        self._pool.rollout(
            self._models,
            self._data,
            states,
            np.repeat(controls[:, None], self._frame_skip, axis=1),
            nstep=self._frame_skip,
            state=self._trail,
            sensordata=self._sensor_trail,
            skip_checks=True,
            chunk_size=self._chunk,
        )
        return self._trail[:, -1].copy()

    def initial_fields(self, states: Float64) -> Float64:
        """Compute the extra fields (n, e) of fresh states (n, S), before any step: no contact forces have acted yet."""
        return np.zeros((len(states), self.extra_fields.shape[1]))

    def close(self) -> None:
        self._pool.close()


class ContactPhysics(RolloutPhysics):
    """RolloutPhysics with `cfrc_ext` as extra field, computed from sensors (core.robots.models).

    For each body these are the torque about the robot's centre of mass and the force of its contacts, as MuJoCo has
    them after the last physics step. Those of the world body stay zero; no task uses them.
    """

    def __init__(self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int) -> None:
        super().__init__(model, frame_skip, environments, threads)
        contacts = 9 * (model.nbody - 1)
        self._contacts, self._centre = self.sensors[:, -contacts - 3 : -3], self.sensors[:, -3:]
        self.sensors = self.sensors[:, : -contacts - 3]
        self.extra_fields = np.zeros((environments, 6 * model.nbody))

    def step(self, states: Float64, controls: Float64) -> Float64:
        after = super().step(states, controls)
        # (9, N, bodies), contiguous: sums of strided arrays take twice as long.
        contacts = np.ascontiguousarray(self._contacts.reshape(len(states), -1, 9).transpose(2, 0, 1))
        force, torque, position = contacts[:3], contacts[3:6], contacts[6:]
        lever = position - self._centre.T[:, :, None]
        fields = self.extra_fields[:, 6:].reshape(len(states), -1, 6)  # a view
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # np.cross takes three times as long
            # Sensors measure what the body exerts; the field is what acts on it.
            fields[:, :, i] = lever[k] * force[j] - lever[j] * force[k] - torque[i]
            fields[:, :, 3 + i] = -force[i]
        return after


class DataPhysics:
    """The same by mj_step, one environment after the other in each thread, for fields that mujoco.rollout lacks.

    As in Gymnasium, contact forces are computed once more after the last step, and body positions are those of the
    integrator's last stage. Only the state is carried from step to step, so that a restored one continues exactly.
    """

    def __init__(
        self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int, fields: tuple[str, ...]
    ) -> None:
        """fields: names of the extra fields of mujoco.MjData"""
        self._model, self._frame_skip, self._fields = model, frame_skip, fields
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._rows = np.array_split(np.arange(environments), threads)
        self._pool = ThreadPoolExecutor(threads, "physics") if threads > 1 else None
        self._states = np.zeros((environments, mujoco.mj_stateSize(model, FULL)))
        self.sensors = np.zeros((environments, model.nsensordata))
        self.extra_fields = np.zeros((environments, sum(getattr(self._data[0], name).size for name in fields)))

    def step(self, states: Float64, controls: Float64) -> Float64:
        if self._pool is None:
            self._step_rows(0, states, controls)
        else:
            list(self._pool.map(lambda thread: self._step_rows(thread, states, controls), range(len(self._rows))))
        return self._states.copy()

    def _step_rows(self, thread: int, states: Float64, controls: Float64) -> None:
        model, data, skip = self._model, self._data[thread], self._frame_skip
        warm, control, sensors = data.qacc_warmstart, data.ctrl, data.sensordata
        for row in self._rows[thread]:
            mujoco.mj_setState(model, data, states[row], FULL)
            warm[:] = 0
            control[:] = controls[row]
            mujoco.mj_step(model, data, skip)
            mujoco.mj_rnePostConstraint(model, data)
            mujoco.mj_getState(model, data, self._states[row], FULL)
            self.sensors[row] = sensors
            self._copy_fields(data, self.extra_fields[row])

    def _copy_fields(self, data: mujoco.MjData, row: Float64) -> None:
        start = 0
        for name in self._fields:
            values = getattr(data, name)
            row[start : start + values.size] = values.ravel()
            start += values.size

    def initial_fields(self, states: Float64) -> Float64:
        data, fields = self._data[0], np.zeros((len(states), self.extra_fields.shape[1]))
        for state, row in zip(states, fields, strict=True):
            mujoco.mj_resetData(self._model, data)
            mujoco.mj_setState(self._model, data, state, FULL)
            mujoco.mj_forward(self._model, data)
            self._copy_fields(data, row)
        return fields

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
