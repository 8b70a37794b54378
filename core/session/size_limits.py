"""What a session that sees pictures can't be given: numbers that suit a robot may be far too large for it."""

from __future__ import annotations

import math

from core.config import Config
from core.errors import UserError
from core.io.segment_codec import DEFERRED_BYTES
from core.tasks.base import Task

_MAX_CUT = 384 << 20
"""Bytes of the segments under way, one an environment, which are in each checkpoint as they are."""
_MAX_BATCH = 2 << 30
"""Bytes of the pictures of one batch."""
_COLOURED = 6144
"""Bytes of a step's colour picture (core.io.image_codec.ROW_BYTES), which is kept beside what the networks see."""
_GRAY_KEPT, _COLOUR_KEPT = 600, 1600
"""Bytes of a step's pictures in the pool, packed: a game's larger ones (core.io.segment_codec)."""
_MAX_POOL = 1 << 30
"""Bytes of the gray pictures of a pool's segments, which are not packed if they are short."""
_MAX_CHECKPOINT = 448 << 20
"""Bytes of all segments; networks come to some 12 MB more, and core.session.checkpoint writes no file beyond 496."""
FILMED_POOL = 256
"""Segments in the pool of a session in the window, at most: where they must be filmed, 1,024 would be 400,000 steps."""


def require_bearable(config: Config, task: Task) -> None:
    """UserError where the pictures of this task would fill the memory, or are to be explored. Numbers are bounded by
    the config alone."""
    if task.pictures is None:
        return
    require_explorable(config, task)
    pixels, length = math.prod(task.pictures), config.query.length(task.segment_steps)
    environments, depth = config.rollout.environments, task.pictures[0]
    gray = (length + depth - 1) * pixels // depth
    cut = environments * (gray + length * _COLOURED)
    if cut > _MAX_CUT:
        raise UserError(
            f"{environments:,} environments with segments of {length} steps would not fit the memory, as {task.name}"
            " is seen in pictures: give fewer rollout.environments or query.segment_steps."
        )
    if environments * config.rollout.steps * pixels > _MAX_BATCH:
        raise UserError(
            f"A batch of {environments * config.rollout.steps:,} steps would not fit the memory, as {task.name} is"
            " seen in pictures: give fewer rollout.environments or rollout.steps."
        )
    loose = config.query.pool * gray if gray <= DEFERRED_BYTES else 0
    if loose > _MAX_POOL or cut + _pooled(config, length) > _MAX_CHECKPOINT:
        raise UserError(
            f"A pool of {config.query.pool:,} segments of {length} steps would not fit into the memory or a checkpoint,"
            f" as {task.name} is seen in pictures: give a smaller query.pool, fewer query.segment_steps"
            " or fewer rollout.environments."
        )


def require_explorable(config: Config, task: Task) -> None:
    """UserError where a session is to explore what nobody can tell apart."""
    if config.rollout.exploration_steps and task.pictures:
        raise UserError(
            f"{task.name} is seen in pictures, which don't tell what is new: set rollout.exploration_steps=0."
        )


def _pooled(config: Config, length: int) -> int:
    """Bytes of the full pool. Without `filmed` the session may still be taught in a window, which films."""
    pool = config.query.pool
    filmed = pool if config.rollout.captured_envs else min(pool, FILMED_POOL)
    return max(pool * _GRAY_KEPT, filmed * (_GRAY_KEPT + _COLOUR_KEPT)) * length
