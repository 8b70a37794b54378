"""Batched environments: many at once behind one interface, whatever simulates them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.envs.base import CaptureSchedule, VectorEnv
from core.envs.split_env import SplitEnv
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask, Task
from core.tasks.gymnasium import GymTask

_ROBOTS_WORTH_TURNS = 256
_GAMES_WORTH_TURNS = 8
"""From so many on, two halves are faster than a whole."""


def shares(task: Task, environments: int) -> tuple[int, ...]:
    """How many environments each part has: the same on any machine."""
    worth = {RobotTask: _ROBOTS_WORTH_TURNS, AtariTask: _GAMES_WORTH_TURNS}
    if any(isinstance(task, kind) and environments >= least for kind, least in worth.items()):
        return environments - environments // 2, environments // 2
    return (environments,)


def make_envs(
    task: Task,
    environments: int,
    rng: np.random.Generator | Sequence[np.random.Generator],
    threads: int = 0,
    staggered: bool = True,
    film: CaptureSchedule | None = None,
) -> VectorEnv:
    """The task's environments, in as many parts as `shares` says. Close them when done.

    rng: what resets draw from: one for all, or one for each part
    threads: how many step physics; 0 for one a core
    staggered: they start at different ages, so that ends are spread over time; games spread theirs by themselves
    film: what keeps pictures of its steps where a simulator can't draw clips later; None for none
    """
    counts = shares(task, environments)
    rngs = [rng] * len(counts) if isinstance(rng, np.random.Generator) else list(rng)
    if len(counts) == 1:
        return make_share(task, environments, rngs[0], threads, staggered, film)
    own, apart = threads_of_share(task, environments, threads)
    told = zip(counts, rngs, _films(film), strict=True)
    return SplitEnv([make_share(task, count, each, own, staggered, part, apart) for count, each, part in told])


def make_share(
    task: Task,
    environments: int,
    rng: np.random.Generator,
    threads: int,
    staggered: bool = True,
    film: CaptureSchedule | None = None,
    apart: bool = False,
) -> VectorEnv:
    """As make, in one part. apart: a step that was begun goes on by itself, while Python does something else."""
    if isinstance(task, RobotTask):
        from core.envs.mujoco import MujocoVectorEnv

        return MujocoVectorEnv(task, environments, rng, threads, staggered, apart)
    if isinstance(task, GymTask):
        from core.envs.gymnasium import GymVectorEnv

        return GymVectorEnv(task, environments, rng, staggered, film)
    if isinstance(task, AtariTask):
        from core.envs.atari import AtariVectorEnv

        return AtariVectorEnv(task, environments, rng, threads, film, apart)
    raise ValueError(f"no environment for {task!r}")


def threads_of_share(task: Task, environments: int, threads: int) -> tuple[int, bool]:
    """How many of the `threads` (as for make) step one of two parts, and whether there are some for both at once."""
    lanes = threads or _threads_of(task, environments)
    return max(1, lanes // 2), lanes > 1


def _threads_of(task: Task, environments: int) -> int:
    """One a core, as far as that is worth it."""
    if isinstance(task, RobotTask):
        from core.envs.mujoco import threads_for

        return threads_for(environments)
    return os.cpu_count() or 1


def _films(film: CaptureSchedule | None) -> tuple[CaptureSchedule | None, CaptureSchedule | None]:
    """Of each half as many; their turns go on from each other's."""
    if film is None:
        return None, None
    first, second = film.environments - film.environments // 2, film.environments // 2
    return replace(film, environments=first), replace(film, environments=second, offset=film.offset + first)
