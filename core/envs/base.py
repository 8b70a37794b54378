"""Interface of vectorized environments: N copies of one task, stepped together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from core.types import Float32, Observations

FinishedEpisode = tuple[float, dict[str, float]]
"""True return and measures of an episode."""


@dataclass(frozen=True)
class Step:
    """Result of one step of N environments.

    observations (N, o): input of the networks; after the end of an episode, the first observation of the next one
    true_rewards (N,) float32: NaN if the task has none
    ended (N,) bool: whether the episode reached its length
    end_observations (number of ends, o): the observations at those ends, before the reset
    finished: each finished episode that counts in the metrics
    finished_rows (len(finished),) int64: the environments of those episodes
    diverged (N,) bool: whether the simulation failed and was restarted, so that observation and reward are not of this step
    """

    observations: Observations
    true_rewards: Float32
    ended: npt.NDArray[np.bool_]
    end_observations: Observations
    finished: list[FinishedEpisode]
    finished_rows: npt.NDArray[np.int64]
    diverged: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CaptureSchedule:
    """Times at which environments record pictures, for tasks whose clips can't be drawn later from simulator states.

    Drawing takes longer than stepping. Therefore only the first `environments` environments are recorded, in turn, each
    during one of every `one_in` periods of `steps` steps.
    """

    environments: int
    steps: int
    one_in: int = 1
    offset: int = 0
    """Number of turns that are taken by environments recorded elsewhere, before the first one here."""

    def rows(self, time: int, count: int) -> npt.NDArray[np.bool_]:
        """Return which of `count` environments are recorded before step number `time`, (count,)."""
        row = np.arange(count)
        turn: npt.NDArray[np.bool_] = (time // self.steps + self.offset + row) % self.one_in == 0
        return turn & (row < self.environments)


class VectorEnv(Protocol):
    """N environments with episodes of a fixed length, or endless ones: other ends would reveal the task (Appendix A).

    The metrics may count other episodes, such as the games played.

    An action is a row of floats. Continuous actions are clipped to [-1, 1], which is mapped to the environment's own
    bounds. Discrete actions are one-hot; the environment takes the one with the largest value.
    """

    count: int
    """N"""
    discrete: bool

    states: npt.NDArray[Any]
    """(N, S), from which clips are drawn (see core.types.Segment.states). A step replaces the array and leaves
    the old one unchanged."""
    clip_available: npt.NDArray[np.bool_]
    """(N,): whether a clip can show the current step. Always true unless the environment has to record pictures."""
    divergences: int
    """Number of simulations that failed and were restarted."""
    varies_starts: bool
    """True if episodes that begin from now on may start turned over, tilted or thrown, in environments that allow it."""
    varied: npt.NDArray[np.bool_]
    """(N,): whether the current episode started that way."""

    @property
    def observations(self) -> Observations:
        """(N, o), input of the networks: float32 numbers, or uint8 pixels (see core.tasks.base.Task.pictures).

        A step replaces the array and leaves the old one unchanged.
        """
        ...

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Widths of an observation, an action and a row of `states`."""
        ...

    def step(self, actions: Float32) -> Step: ...
    def controls(self, actions: Float32) -> npt.NDArray[Any]:
        """Convert actions (N, a), continuous ones within [-1, 1], to the simulator's own form."""
        ...

    def close(self) -> None: ...
    def get_state(self) -> dict[str, Any]:
        """Return arrays from which `set_state` resumes, exactly if the simulator allows it."""
        ...

    def set_state(self, arrays: Mapping[str, Any]) -> None: ...
