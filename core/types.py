"""What the stages exchange: plain frozen records, with their shapes.

Nothing here imports more than numpy, so that the window may read them too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Observations = npt.NDArray[Any]
"""(..., o) float32 numbers; or uint8 pixels, each stack of pictures a flat row, where a task has any (Task.pictures)"""


class Choice(StrEnum):
    """A labeller's answer to a query (paper 2.2.2)."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    CANT_TELL = "can't tell"

    @property
    def mu(self) -> tuple[float, float] | None:
        """The distribution over (left, right) that the reward is fitted to; None is never trained on."""
        return _MU[self]


_MU: dict[Choice, tuple[float, float] | None] = {
    Choice.LEFT: (1.0, 0.0),
    Choice.RIGHT: (0.0, 1.0),
    Choice.TIE: (0.5, 0.5),
    Choice.CANT_TELL: None,
}


@dataclass(frozen=True, slots=True)
class Segment:
    """k steps of one environment, cut from a rollout.

    observations: (k, observation size), as the networks see them: float32 numbers, or uint8 pixels (Observations)
    actions: (k, action size) float32, as they were carried out, clipped
    states: (k, state size), before each step, what a clip is drawn from: the simulator's state as float64, or a picture
        as uint8 bytes (core.io.image_codec); (k, 0) where neither was kept
    true_rewards: (k,) float32 or None. For the oracle and the metrics alone; no fit may read it.
    """

    id: int
    observations: Observations
    actions: Float32
    states: npt.NDArray[Any]
    true_rewards: Float32 | None
    env_steps: int
    """How many environment steps the session had taken when it was cut."""

    @property
    def length(self) -> int:
        return len(self.actions)


@dataclass(frozen=True, slots=True)
class PoolReturns:
    """True returns of the segments that a query was chosen from. For the oracle alone; no fit may read them."""

    worst: float
    mean: float


@dataclass(frozen=True, slots=True)
class Query:
    """Two segments put to a labeller."""

    id: int
    left: Segment
    right: Segment
    disagreement: float
    """Variance of the members' predicted preference (2.2.4); nan where it was not computed."""
    pool_returns: PoolReturns | None = None
    """Filled where the oracle's thresholds need it."""
    repeats: int | None = None
    """The store's number of the answer to the same pair, where it is put to a person again (core.preferences.review)."""
    predicted: tuple[float, ...] = ()
    """Each member's P[left preferred] when the pair was chosen (2.2.3, without the labeller's errors); () before the
    first snapshot, and where no person answers. Not recorded with the answer, and never to be shown before it.
    """
    pair: str = ""
    """What tells its two segments from all others (core.io.segment_codec.pair_of), where they themselves are left out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a labeller says to a query."""

    choice: Choice
    returns: tuple[float, float] | None = None
    """True returns of left and right: told by the oracle for the target ablation (3.3), and never otherwise."""


@dataclass(frozen=True, slots=True)
class Preference:
    """A query with its choice, as recorded. `id` is the store's."""

    id: int
    query: Query
    choice: Choice
    labeller: str
    """'human' or 'oracle'."""
    answered_at: float
    """Seconds since the epoch."""
    returns: tuple[float, float] | None = None
    """As in Answer: the only true reward that a fit may ever read."""


@dataclass(frozen=True, slots=True)
class Frames:
    """A rendered clip. pixels: (frames, height, width, 3) uint8, RGB."""

    pixels: npt.NDArray[np.uint8]
    fps: float


class Teacher(StrEnum):
    """Labeller of a session: a person, the oracle, or none (training on the true reward)."""

    HUMAN = "human"
    ORACLE = "oracle"
    NONE = "none"
