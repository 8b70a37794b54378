"""How much memory a session takes that sees pictures: a config that suits a robot's numbers may be far too large."""

from __future__ import annotations

import math

from core.config import Config
from core.errors import UserError
from core.tasks.base import Task

_MAX_CUT = 384 << 20
"""Bytes of the segments under way, one an environment, which are in each checkpoint as they are."""
_MAX_BATCH = 2 << 30
"""Bytes of the pictures of one batch."""
_COLOURED = 6144
"""Bytes of a step's colour picture (core.pictures.ROW), which is kept beside what the networks see."""


def require_bearable(config: Config, task: Task) -> None:
    """UserError where the pictures of this task would fill the memory. Numbers are bounded by the config alone."""
    if task.pictures is None:
        return
    pixels, length = math.prod(task.pictures), config.query.length(task.segment_steps)
    environments = config.rollout.environments
    if environments * length * (pixels + _COLOURED) > _MAX_CUT:
        raise UserError(
            f"{environments:,} environments with segments of {length} steps would not fit the memory, as {task.name}"
            " is seen in pictures: give fewer rollout.environments or query.segment_steps."
        )
    if environments * config.rollout.steps * pixels > _MAX_BATCH:
        raise UserError(
            f"A batch of {environments * config.rollout.steps:,} steps would not fit the memory, as {task.name} is"
            " seen in pictures: give fewer rollout.environments or rollout.steps."
        )
