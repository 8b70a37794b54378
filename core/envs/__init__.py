"""Batched environments: many at once behind one interface, whatever simulates them."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from core.envs.base import Environment, Film
from core.envs.halves import Halves
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask, Task
from core.tasks.gymnasium import GymTask

_ROBOTS_WORTH_TURNS = 256
_GAMES_WORTH_TURNS = 8
"""From so many on, two halves are faster than a whole."""


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
        from core.envs.mujoco import MujocoBatch, threads_for

        if environments < _ROBOTS_WORTH_TURNS:
            return MujocoBatch(task, environments, rng, threads, staggered)
        lanes = threads or threads_for(environments)
        own = max(1, lanes // 2)
        return Halves([MujocoBatch(task, n, rng, own, staggered, apart=lanes > 1) for n in _halves(environments)])
    if isinstance(task, GymTask):
        from core.envs.gymnasium import GymBatch

        return GymBatch(task, environments, rng, staggered, film)
    if isinstance(task, AtariTask):
        from core.envs.atari import AtariBatch

        if environments < _GAMES_WORTH_TURNS:
            return AtariBatch(task, environments, rng, threads, film)
        lanes = threads or os.cpu_count() or 1
        own = max(1, lanes // 2)
        halves = zip(_halves(environments), _films(film), strict=True)
        return Halves([AtariBatch(task, n, rng, own, part, apart=lanes > 1) for n, part in halves])
    raise ValueError(f"no environment for {task!r}")


def _halves(count: int) -> tuple[int, int]:
    return count - count // 2, count // 2


def _films(film: Film | None) -> tuple[Film | None, Film | None]:
    """Of each half as many; their turns go on from each other's."""
    if film is None:
        return None, None
    first, second = _halves(film.environments)
    return replace(film, environments=first), replace(film, environments=second, offset=film.offset + first)
