"""Vectorized environments: many copies of one task behind one interface, whatever simulates them."""

import numpy as np

from core.envs.base import CaptureSchedule, VectorEnv
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask, Task
from core.tasks.gymnasium import GymTask


def steps_per_second(env_id: str) -> float:
    """Return core.envs.gymnasium.steps_per_second(env_id). Imported only here, as importing Gymnasium takes a second."""
    from core.envs import gymnasium

    return gymnasium.steps_per_second(env_id)


def make_envs(
    task: Task,
    environments: int,
    rng: np.random.Generator,
    threads: int = 0,
    staggered: bool = True,
    capture: CaptureSchedule | None = None,
    varied_starts: float = 0.0,
) -> VectorEnv:
    """Build the task's environments. Close them after use.

    rng: random generator of the resets
    threads: number of threads that step the simulation; 0 for one per core
    staggered: start the episodes at different ages, so that they do not all end at once; games do not need it
    capture: which environments record pictures of their steps, for tasks whose clips can't be rendered later
    varied_starts: share of the environments of a robot on a floor that start turned over, tilted or thrown into the air
    """
    if isinstance(task, RobotTask):
        from core.envs.mujoco import MujocoVectorEnv

        return MujocoVectorEnv(task, environments, rng, threads, staggered, varied_starts)
    if isinstance(task, GymTask):
        from core.envs.gymnasium import GymVectorEnv

        return GymVectorEnv(task, environments, rng, staggered, capture)
    if isinstance(task, AtariTask):
        from core.envs.atari import AtariVectorEnv

        return AtariVectorEnv(task, environments, rng, threads, capture)
    raise ValueError(f"no environment for {task!r}")
