"""Limits that depend on the task: the length of a clip, and the memory for pictures, which is far more than for numbers."""

import math

from core.config import Config
from core.errors import UserError
from core.tasks.base import Task

_MAX_CUT = 384 << 20
"""Largest size in bytes of the unfinished segments, one for each environment, which are uncompressed in checkpoints."""
_MAX_BATCH = 2 << 30
"""Largest size in bytes of the pictures of a batch."""
_COLOUR_BYTES = 6144
"""Size in bytes of a step's colour picture (core.io.image_codec.ROW_BYTES), stored besides the network's input."""
_GRAY_KEPT, _COLOUR_KEPT = 600, 1600
"""Size in bytes of a step's compressed pictures in the pool, for a game that compresses badly (core.io.segment_codec)."""
_MAX_CHECKPOINT = 448 << 20
"""Largest size in bytes of all segments in a checkpoint. Networks add about 12 MB; core.session.checkpoint allows 496 MB."""
_CAPTURED_POOL = 256
"""Largest pool of a session in the window if segments must be captured: 1,024 would take 400,000 steps to fill."""
_MAX_CAPTURED = 320 << 20
"""Largest size in bytes of that pool's colour pictures, which are uncompressed in a checkpoint if networks see numbers."""


def captured_pool(length: int) -> int:
    """Return the largest pool in the window for captured segments of `length` steps."""
    return min(_CAPTURED_POOL, _MAX_CAPTURED // (length * _COLOUR_BYTES))


def check_size_limits(config: Config, task: Task) -> None:
    """Raise UserError if the config is impossible for the task.

    Clips must not be longer than an episode. Pictures must not exceed the memory limits (the config limits the memory of
    other tasks), and exclude the settings novelty and sparsity.
    """
    if config.query.segment_steps > task.episode_steps:
        raise UserError(
            f"segment_steps is {config.query.segment_steps}: give at most the {task.episode_steps} of an episode of"
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
    """Return the size in bytes of the full pool. A headless session may later be opened in a window, which captures some."""
    pool = config.query.pool
    captured = pool if config.rollout.captured_envs else min(pool, captured_pool(length))
    return max(pool * _GRAY_KEPT, captured * (_GRAY_KEPT + _COLOUR_KEPT)) * length
