"""Interface of vectorized environments: N copies of one task, stepped together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from core.types import Float32, Observations


@dataclass(frozen=True)
class Step:
    """Result of one step of N environments.

    observations (N, o): input of the networks; after the end of an episode, that of the next one
    true_rewards (N,) float32: nan if the task has none
    ended (N,) bool: the episode reached its length
    end_observations (number of ends, o): the observations at those ends, before the reset
    finished: true return and measure of each episode that ended, as the metrics count episodes
    finished_rows (len(finished),) int64: the environments of those episodes
    diverged (N,) bool: the simulation failed and was restarted, so that observation and reward are not of this step
    """

    observations: Observations
    true_rewards: Float32
    ended: npt.NDArray[np.bool_]
    end_observations: Observations
    finished: list[tuple[float, dict[str, float]]]
    finished_rows: npt.NDArray[np.int64]
    diverged: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CaptureSchedule:
    """Times at which environments record pictures, if clips can't be drawn later from a simulator state.

    Drawing takes longer than stepping. Therefore only the first `environments` are recorded, each during one in
    `one_in` periods of `steps` steps, in turn.
    """

    environments: int
    steps: int
    one_in: int = 1
    offset: int = 0
    """Turns by which the first environment is ahead, if environments recorded elsewhere take the turns before it."""

    def rows(self, time: int, count: int) -> npt.NDArray[np.bool_]:
        """Return which of `count` environments are recorded before step number `time`, (count,)."""
        row = np.arange(count)
        turn: npt.NDArray[np.bool_] = (time // self.steps + self.offset + row) % self.one_in == 0
        return turn & (row < self.environments)


class VectorEnv(Protocol):
    """N environments with episodes of a fixed length, or endless ones: other ends would give the task away (A).

    The metrics may count other episodes, such as the games played.

    An action is a row of floats. Continuous actions go from -1 to 1 (values beyond are clipped), which are the
    environment's own bounds; discrete ones are one-hot, and the environment takes the largest.
    """

    count: int
    """N"""
    discrete: bool

    states: npt.NDArray[Any]
    """(N, S), what clips are drawn from (see core.types.Segment.states). A step replaces the array and leaves
    the old one as it is."""
    clip_available: npt.NDArray[np.bool_]
    """(N,): a clip can show the current step. Always true unless the environment has to record pictures."""
    divergences: int
    """Number of simulations that failed and were restarted."""
    varies_starts: bool
    """True if episodes that begin from now on may start turned over, tilted or thrown, in environments that can do so."""
    varied: npt.NDArray[np.bool_]
    """(N,): the current episode has started so."""

    @property
    def observations(self) -> Observations:
        """(N, o), input of the networks: float32 numbers, or uint8 pixels (see core.tasks.base.Task.pictures).

        A step replaces the array and leaves the old one as it is.
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
