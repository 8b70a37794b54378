"""Batched environments: many at once behind one interface, whatever simulates them."""

from __future__ import annotations

import numpy as np

from core.envs.base import Environment, Film
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask, Task
from core.tasks.gymnasium import GymTask


def make(
    task: Task,
    environments: int,
    rng: np.random.Generator,
    threads: int = 0,
    staggered: bool = True,
    film: Film | None = None,
) -> Environment:
    """The task's environments. Close them when done.

    rng: what resets draw from
    threads: how many step physics; 0 for one a core
    staggered: they start at different ages, so that ends are spread over time; games spread theirs by themselves
    film: what keeps pictures of its steps where a simulator can't draw clips later; None for none
    """
    if isinstance(task, RobotTask):
        from core.envs.mujoco import MujocoBatch

        return MujocoBatch(task, environments, rng, threads, staggered)
    if isinstance(task, GymTask):
        from core.envs.gymnasium import GymBatch

        return GymBatch(task, environments, rng, staggered, film)
    if isinstance(task, AtariTask):
        from core.envs.atari import AtariBatch

        return AtariBatch(task, environments, rng, threads, film)
    raise ValueError(f"no environment for {task!r}")
