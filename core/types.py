"""Records that the stages exchange. Imports numpy only, so that the window can use them too."""

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Observations = npt.NDArray[Any]
"""(..., o): float32 numbers, or uint8 pixels with each stack of pictures as a flat row (Task.pictures)."""


class Teacher(StrEnum):
    """Source of the answers in a session, and, except NONE, the labeller of recorded preferences."""

    HUMAN = "human"
    ORACLE = "oracle"
    PERSON = "person"
    """A simulated human: judges by the true reward as the oracle does, with a human's errors and pace."""
    NONE = "none"
    """No answers: the policy learns from the true reward."""


GUEST = "guest: "
"""Prefix of a labeller's name for a guest in demo mode, so that a guest called Oracle is not mistaken for the oracle."""
AUDIENCE = f"{GUEST}the audience"
"""Labeller of answers that are the majority of an audience."""


class Choice(StrEnum):
    """Answer of a labeller to a query (paper 2.2.2)."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    CANT_TELL = "can't tell"

    @property
    def mu(self) -> tuple[float, float] | None:
        """Target distribution over (left, right) for the reward fit; None for CANT_TELL, which is not fitted."""
        return _MU[self]

    @property
    def usable(self) -> bool:
        """True if the reward is fitted to this choice: for all but CANT_TELL."""
        return self is not Choice.CANT_TELL

    @property
    def sentence(self) -> str:
        """The choice in words, such as 'Left is better'."""
        return f"{self.capitalize()} is better" if self in (Choice.LEFT, Choice.RIGHT) else self.capitalize()


_MU: dict[Choice, tuple[float, float] | None] = {
    Choice.LEFT: (1.0, 0.0),
    Choice.RIGHT: (0.0, 1.0),
    Choice.TIE: (0.5, 0.5),
    Choice.CANT_TELL: None,
}


@dataclass(frozen=True, slots=True)
class Segment:
    """k consecutive steps of one environment.

    observations: (k, o), inputs of the networks: float32 numbers, or uint8 pixels (see Observations)
    actions: (k, a) float32, as the environment carried them out, clipped
    states: (k, S), the state before each step, from which clips are drawn: float64 simulator states, or uint8 rows of
        an encoded picture (core.io.image_codec); (k, 0) if neither was kept
    true_rewards: (k,) float32, or None. Only for the oracle, the simulated person and the metrics, not for the reward fit
    """

    id: int
    observations: Observations
    actions: Float32
    states: npt.NDArray[Any]
    true_rewards: Float32 | None
    env_steps: int
    """Number of environment steps in the session before the step that completed the segment."""

    @property
    def length(self) -> int:
        return len(self.actions)


@dataclass(frozen=True, slots=True)
class PoolReturns:
    """True returns in the pool from which a query was chosen. Only for the oracle and the simulated person."""

    worst: float
    mean: float
    differences: tuple[float, ...] = ()
    """Evenly spaced quantiles of the absolute difference between two segments' returns; only for Teacher.PERSON."""


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """Place of a query in the series of pairs after a finish that compare the policies from before and after it."""

    split: int
    """Environment steps at which the finish began."""
    left: int
    """Number of such pairs that are still to be answered, this one included."""


@dataclass(frozen=True, slots=True)
class Query:
    """Two segments put to a labeller."""

    id: int
    left: Segment
    right: Segment
    disagreement: float
    """Variance of the members' predicted preference (paper 2.2.4); NaN if it was not computed."""
    pool_returns: PoolReturns | None = None
    """True returns in the pool, if the oracle's thresholds or the simulated person need them."""
    repeats: int | None = None
    """ID of the stored preference whose pair this query asks about again (core.preferences.review), else None."""
    predicted: tuple[float, ...] = ()
    """Each member's P[left is preferred] when the pair was chosen (paper 2.2.3, without the labeller's error rate).

    Empty before the first reward snapshot and without a human labeller. Never recorded, and never shown before the
    answer.
    """
    comparison: PolicyComparison | None = None
    """Set if one segment is of a policy from before a finish, and the other of a policy from after it."""
    pair: str = ""
    """Identifier of the two segments (core.io.segment_codec.pair_of) if the segments themselves are left out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Reply of a labeller to a query."""

    choice: Choice
    returns: tuple[float, float] | None = None
    """True returns of left and right, given by the oracle for the target ablation (paper 3.3) only."""


@dataclass(frozen=True, slots=True)
class Preference:
    """A query with its choice, as recorded. `id` is assigned by the store."""

    id: int
    query: Query
    choice: Choice
    labeller: str
    """A Teacher other than NONE, or GUEST with a name."""
    answered_at: float
    """Seconds since the epoch."""
    returns: tuple[float, float] | None = None
    """True returns as in Answer: the only true rewards that the reward fit may read."""


@dataclass(frozen=True, slots=True)
class Frames:
    """A rendered clip. pixels: (frames, height, width, 3) uint8, RGB."""

    pixels: npt.NDArray[np.uint8]
    fps: float


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number that a float can represent."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def require_count(value: Any) -> int:
    """Return a JSON value, which must be an integer from 0 to 2^62 - 1. Raises ValueError if it is not."""
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r:.40} is not a whole number")
    return value
