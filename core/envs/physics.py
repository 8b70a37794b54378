"""MuJoCo simulations stepped in batches, without holding Python's lock.

Shapes: N environments; S size of a full physics state (time, qpos, qvel, act); u controls.
"""

import mujoco
import numpy as np
from mujoco import rollout

from core.types import Float64

FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
_CHUNKS_PER_THREAD = 2
"""With mujoco's default of ten a step takes a tenth longer; with one it waits for a busy core."""


class RolloutPhysics:
    """Steps N simulations by mujoco.rollout: one C++ call for all, which gives states only."""

    def __init__(self, model: mujoco.MjModel, frame_skip: int, environments: int, threads: int) -> None:
        self._frame_skip = frame_skip
        self._data = [mujoco.MjData(model) for _ in range(threads)]
        self._models = [model] * environments
        self._pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self._chunk = max(1, environments // (_CHUNKS_PER_THREAD * threads))
        self._trail = np.zeros((environments, frame_skip, mujoco.mj_stateSize(model, FULL)))

    def step(self, states: Float64, controls: Float64) -> Float64:
        """Simulate one environment step: states (N, S), controls (N, u) held throughout -> new states (N, S)."""
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
