"""Limits that depend on the task: the length of a clip, and the memory for pictures, which need far more than numbers."""

import math

from core.config import Config
from core.errors import UserError
from core.tasks.base import Task

_MAX_CUT = 384 << 20
"""Bytes of the unfinished segments, one for each environment, which checkpoints hold uncompressed."""
_MAX_BATCH = 2 << 30
"""Bytes of the pictures of a batch."""
_COLOUR_BYTES = 6144
"""Bytes of a step's colour picture (core.io.image_codec.ROW_BYTES), stored in addition to the network's input."""
_GRAY_KEPT, _COLOUR_KEPT = 600, 1600
"""Bytes of a step's compressed pictures in the pool, for a game that compresses badly (core.io.segment_codec)."""
_MAX_CHECKPOINT = 448 << 20
"""Bytes of all segments in a checkpoint. Networks add about 12 MB; core.session.checkpoint limits files to 496 MB."""
_CAPTURED_POOL = 256
"""Largest pool of a session in the window, where segments must be captured: 1,024 would take 400,000 steps."""
_MAX_CAPTURED = 320 << 20
"""Bytes of the colour pictures of that pool, which a checkpoint holds uncompressed if the networks see numbers."""


def captured_pool(length: int) -> int:
    """Return the largest pool of segments of this many steps in the window, where segments must be captured."""
    return min(_CAPTURED_POOL, _MAX_CAPTURED // (length * _COLOUR_BYTES))


def check_size_limits(config: Config, task: Task) -> None:
    """Raise UserError if the task rules out this config.

    Clips must not be longer than an episode. Pictures must not exceed the memory limits (the config bounds the memory of
    other tasks), and they rule out novelty and sparsity.
    """
    if config.query.segment_steps > task.episode_steps:
        raise UserError(
            f"segment_steps is {config.query.segment_steps}; give at most the {task.episode_steps} of an episode of"
            f" {task.name}."
        )
    if task.pictures is None:
        return
    if config.reward.novelty:
        raise UserError(
            f"{task.name} has image observations, in which novelty can't be measured: set reward.novelty=0."
        )
    if config.reward.sparsity:
        raise UserError(
            f"{task.name} has image observations, whose pixels can't be left out one by one: set reward.sparsity=0."
        )
    pixels, length = math.prod(task.pictures), config.query.length(task.segment_steps)
    environments, depth = config.rollout.environments, task.pictures[0]
    gray = (length + depth - 1) * pixels // depth
    cut = environments * (gray + length * _COLOUR_BYTES)
    if cut > _MAX_CUT:
        raise UserError(
            f"{environments:,} environments with segments of {length} steps would not fit into memory, because {task.name}"
            " has image observations: give fewer rollout.environments or query.segment_steps."
        )
    if environments * config.rollout.steps * pixels > _MAX_BATCH:
        raise UserError(
            f"A batch of {environments * config.rollout.steps:,} steps would not fit into memory, because {task.name} has"
            " image observations: give fewer rollout.environments or rollout.steps."
        )
    if cut + _pooled(config, length) > _MAX_CHECKPOINT:
        raise UserError(
            f"A pool of {config.query.pool:,} segments of {length} steps would not fit into memory or a checkpoint,"
            f" because {task.name} has image observations: give a smaller query.pool, fewer query.segment_steps"
            " or fewer rollout.environments."
        )


def _pooled(config: Config, length: int) -> int:
    """Bytes of the full pool. A headless session may still be taught in a window, which captures few segments."""
    pool = config.query.pool
    captured = pool if config.rollout.captured_envs else min(pool, captured_pool(length))
    return max(pool * _GRAY_KEPT, captured * (_GRAY_KEPT + _COLOUR_KEPT)) * length
