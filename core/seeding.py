"""One root seed, named generators: no two stages or workers ever share a stream."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


def seed_for(root: int, name: str) -> int:
    """A 63-bit seed for the stream `name`; the same name and root always give the same seed."""
    sequence = np.random.SeedSequence([root, zlib.crc32(name.encode())])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(root: int, name: str) -> np.random.Generator:
    return np.random.default_rng(seed_for(root, name))


def saved(rng: np.random.Generator) -> dict[str, Any]:
    """The generator's state as JSON values."""
    return dict(rng.bit_generator.state)


def restored(rng: np.random.Generator, state: dict[str, Any]) -> None:
    rng.bit_generator.state = state
