"""Practice pairs: clips of a robot in random motion, shown to a human before there is a session."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from core.behaviours.behaviour import Behaviour
from core.envs.mujoco import MujocoVectorEnv
from core.envs.renderer import MujocoRenderer
from core.errors import UserError
from core.rollout.random_actions import oscillating_actions
from core.seeding import generator
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import behaviour_task
from core.types import Frames, Query, Segment

FPS = 30.0
FIRST_ID = 1_000_000_000
"""First ID of practice queries and segments, larger than those in sessions."""


def practice_pairs(
    behaviour: Behaviour, pairs: int, size: int, seed: int
) -> Iterator[tuple[Query, Frames, Frames] | None]:
    """Yield the pairs with their clips, (n, size, size, 3), and None while a clip is being drawn.

    Raises UserError if the behaviour has no MuJoCo robot.
    """
    task = behaviour_task(behaviour)
    if not isinstance(task, RobotTask):
        raise UserError(f"{behaviour.robot} has clips only once it is taught, so there are no practice pairs.")
    segments = practice_segments(task, 2 * pairs, seed)
    with closing(MujocoRenderer(task)) as renderer:
        for number in range(pairs):
            clips = []
            for segment in segments[2 * number : 2 * number + 2]:
                frames = []
                for picture in renderer.pictures(segment.states, size, FPS):
                    frames.append(picture)
                    yield None
                clips.append(Frames(np.stack(frames), FPS))
            query = Query(FIRST_ID + number, segments[2 * number], segments[2 * number + 1], math.nan)
            yield query, clips[0], clips[1]


def practice_segments(task: RobotTask, count: int, seed: int) -> list[Segment]:
    """Return `count` segments of robots in random motion, each from the start of an episode."""
    rng = generator(seed, "practice")
    with closing(MujocoVectorEnv(task, count, rng, threads=1, staggered=False)) as env:
        actions, steps = oscillating_actions(env, rng, task.step_seconds), []
        for _ in range(task.segment_steps):
            before, acted = (env.observations.copy(), env.states.copy()), next(actions)
            env.step(acted)
            steps.append((before[0], acted, before[1]))
    observations, acted, states = (np.stack(parts, axis=1) for parts in zip(*steps, strict=True))
    return [
        Segment(FIRST_ID + index, observations[index], acted[index], states[index], None, 0) for index in range(count)
    ]
