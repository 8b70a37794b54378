"""Named random streams from one root seed: no two stages or workers share a stream."""

import zlib
from typing import Any

import numpy as np


def seed_for(root: int, name: str) -> int:
    """Return the 63-bit seed of the stream `name`, which depends only on `root` and `name`."""
    sequence = np.random.SeedSequence([root, zlib.crc32(name.encode())])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(root: int, name: str) -> np.random.Generator:
    """Return a random generator for the stream `name` (see `seed_for`)."""
    return np.random.default_rng(seed_for(root, name))


def get_rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of `rng` as JSON values."""
    return dict(rng.bit_generator.state)


def set_rng_state(rng: np.random.Generator, state: dict[str, Any]) -> None:
    """Set the state of `rng` to one returned by `get_rng_state`."""
    rng.bit_generator.state = state
