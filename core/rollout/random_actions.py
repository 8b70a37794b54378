"""Random actions that look smooth, for pictures of robots and games before any training."""

import itertools
from collections.abc import Iterator

import numpy as np

from core.envs.base import VectorEnv
from core.types import Float32

_HELD_SECONDS = 0.25
"""Duration of a discrete action in seconds: a change at every step would look like trembling."""
_SWING_HZ = (0.6, 1.4)


def oscillating_actions(env: VectorEnv, rng: np.random.Generator, step_seconds: float) -> Iterator[Float32]:
    """Yield continuous actions (N, a) that oscillate, each at its own frequency; noise would look like trembling."""
    size = (len(env.states), env.sizes[1])
    pace, start = rng.uniform(*_SWING_HZ, size), rng.uniform(0, 2 * np.pi, size)
    for taken in itertools.count(1):
        yield (0.9 * np.sin(2 * np.pi * pace * taken * step_seconds + start)).astype(np.float32)


def held_actions(env: VectorEnv, rng: np.random.Generator, step_seconds: float) -> Iterator[Float32]:
    """Yield random discrete actions (1, a), one-hot, each held for _HELD_SECONDS."""
    choices = np.eye(env.sizes[1], dtype=np.float32)
    while True:
        yield from [choices[rng.integers(len(choices))][None]] * max(1, round(_HELD_SECONDS / step_seconds))
