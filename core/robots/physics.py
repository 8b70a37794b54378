"""MuJoCo simulations stepped in batches, without holding Python's global interpreter lock (GIL).

Shapes: N environments; S size of a full physics state (time, qpos, qvel, act); u controls.
"""

import mujoco
import numpy as np
from mujoco import rollout

from core.robots.structure import FREE, SLIDE
from core.types import Float64, Mask

FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
_DIVERGED = [int(getattr(mujoco.mjtWarning, f"mjWARN_{kind}")) for kind in ("BADQPOS", "BADQVEL", "BADQACC")]
_FARTHEST, _FASTEST, _FASTEST_TURN = 5e4, 1e3, 1e5
"""Limits for any robot: distance from the start in m (a fall of 100 s), and speeds in m/s and rad/s."""
_GRAVITY, _MILLIMETRES = 9.81, 1000.0
_CHUNKS_PER_THREAD = 2
"""With MuJoCo's default of ten, a step takes 10% longer; with one, it waits for the busiest core."""


def fresh_state(model: mujoco.MjModel) -> Float64:
    """Return the state (S,) after MuJoCo's own reset, which includes the history of delayed actuators."""
    state = np.zeros(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, mujoco.MjData(model), state, FULL)
    return state


def positions_of(model: mujoco.MjModel, states: Float64) -> Float64:
    """Return the positions (..., nq) in full physics states (..., S), as a view."""
    return states[..., 1 : 1 + model.nq]


def velocities_of(model: mujoco.MjModel, states: Float64) -> Float64:
    """Return the velocities (..., nv) in full physics states (..., S), as a view."""
    return states[..., 1 + model.nq : 1 + model.nq + model.nv]


def activations_of(model: mujoco.MjModel, states: Float64) -> Float64:
    """Return the actuators' activations (..., na) in full physics states (..., S), as a view."""
    first = 1 + model.nq + model.nv
    return states[..., first : first + model.na]


def placed(fresh: Float64, positions: Float64, velocities: Float64, activations: Float64) -> Float64:
    """Return states (N, S): the fresh one (S,) at other positions (N, nq), velocities (N, nv) and activations ([N,] na)."""
    states = np.tile(fresh, (len(positions), 1))
    begin = 1
    for part in (positions, velocities, activations):
        states[:, begin : begin + part.shape[-1]] = part
        begin += part.shape[-1]
    return states


def have_diverged(states: Float64, clocks: Float64, timestep: float, largest: Float64) -> Mask:
    """Return which simulations (N,) have diverged.

    Their time falls behind: MuJoCo resets some silently, or ends their steps early, as if its memory is too small.

    clocks (N,): their expected times in seconds; largest (S,): from `largest_state`
    """
    on_time = np.abs(states[:, 0] - clocks) < timestep / 2
    return ~(on_time & (np.abs(states) <= largest).all(axis=1))


def take_divergence(data: mujoco.MjData) -> bool:
    """Return whether MuJoCo has silently reset a simulation that diverged, by its counters of warnings, and set these to 0."""
    diverged = False
    for warning in (data.warning[kind] for kind in _DIVERGED):
        diverged, warning.number = diverged or warning.number > 0, 0
    return diverged


def largest_state(model: mujoco.MjModel, start: Float64) -> Float64:
    """Return the largest absolute values (S,) of a full physics state; beyond them, a robot has diverged.

    A model with a larger gravity, or with none, is assumed to have a smaller unit of length, such as a millimetre.

    start: positions (nq,) at the start
    """
    gravity = float(np.linalg.norm(model.opt.gravity))
    metre = max(1.0, gravity / _GRAVITY) if gravity else _MILLIMETRES
    largest = np.full(mujoco.mj_stateSize(model, FULL), np.finfo(np.float64).max)
    positions, velocities = positions_of(model, largest), velocities_of(model, largest)
    velocities[:] = _FASTEST_TURN
    for joint in np.flatnonzero(np.isin(model.jnt_type, (FREE, SLIDE))):
        index, dof, count = model.jnt_qposadr[joint], model.jnt_dofadr[joint], 3 if model.jnt_type[joint] == FREE else 1
        positions[index : index + count] = metre * _FARTHEST + np.abs(start[index : index + count])
        velocities[dof : dof + count] = metre * _FASTEST
    return largest


class RolloutPhysics:
    """Steps N simulations with mujoco.rollout: one C++ call for all, which returns only states."""

    def __init__(self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int) -> None:
        self._frame_skip = frame_skip
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._models = [model] * environments
        self._pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self._chunk = max(1, environments // (_CHUNKS_PER_THREAD * threads))
        self._trail = np.zeros((environments, frame_skip, mujoco.mj_stateSize(model, FULL)))

    def step(self, states: Float64, controls: Float64) -> Float64:
        """Simulate one environment step from `states` (N, S), with constant `controls` (N, u); returns states (N, S)."""
        self._pool.rollout(
            self._models,
            self._data,
            states,
            np.repeat(controls[:, None], self._frame_skip, axis=1),
            nstep=self._frame_skip,
            state=self._trail,
            skip_checks=True,
            chunk_size=self._chunk,
        )
        return self._trail[:, -1].copy()

    def close(self) -> None:
        self._pool.close()
