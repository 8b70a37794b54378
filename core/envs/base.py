"""What every kind of environment is to the rest of the program: N copies of one task, stepped together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from core.types import Float32, Observations


@dataclass(frozen=True)
class Step:
    """What one step of the batch gave.

    observations (N, o): what the networks see next; after an end, of the fresh episode
    true_rewards (N,) float32, nan where the task has none
    ended (N,) bool: the episode reached its length
    end_observations (count of ends, o): what was seen at those ends, before the reset
    finished: (true return, measure) of each episode that ended, as the metrics count episodes
    finished_rows (len(finished),): in which environments
    diverged (N,) bool: the simulation failed in this step and was started anew, so what it shows and pays is made up
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
    """Which environments keep pictures of their steps, where there is no simulator's state to draw clips from later.

    Drawing takes longer than stepping, so it is the first `environments` alone, and of every `one_in` stretches of
    `steps` steps just one, each environment's in turn.
    """

    environments: int
    steps: int
    one_in: int = 1
    offset: int = 0
    """Turns that the first environment is ahead: where others, filmed elsewhere, have the ones before."""

    def rows(self, time: int, count: int) -> npt.NDArray[np.bool_]:
        """(count,) which have their picture taken before step number `time`."""
        row = np.arange(count)
        turn: npt.NDArray[np.bool_] = (time // self.steps + self.offset + row) % self.one_in == 0
        return turn & (row < self.environments)


class VectorEnv(Protocol):
    """N environments. Learners see episodes of a fixed length, or none that ends: any other would tell of the task (A).
    The metrics may count other episodes, such as the games that an emulator played.

    An action is a row of floats: for continuous actions from -1 to 1 (beyond that clipped), the environment's own
    bounds; for discrete ones, one-hot, of which the environment takes the largest.
    """

    count: int
    discrete: bool
    depth: int
    """Parts of an observation, the newest last, of which all but that were the last ones of the observation before: as
    many as pictures in a stack, else 1."""

    @property
    def states(self) -> npt.NDArray[Any]:
        """(N, S) what a clip is drawn from (core.types.Segment.states). Replaced by each step, never changed in
        place."""
        ...

    @property
    def clip_available(self) -> npt.NDArray[np.bool_]:
        """(N,) whose present step may be in a segment: where it can't be drawn later, only those filmed now."""
        ...

    @property
    def divergences(self) -> int:
        """How often a simulation failed and was started anew."""
        ...

    @property
    def observations(self) -> Observations:
        """(N, o) what the networks see now: float32, or uint8 for a task with pictures (core.tasks.base.Task.pictures).

        Its dtype is that of every observation of the environment. Replaced by each step, never changed in place.
        """
        ...

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Of an observation, an action and a row of states."""
        ...

    def step(self, actions: Float32) -> Step: ...
    def close(self) -> None: ...
    def get_state(self) -> dict[str, Any]:
        """Arrays from which set_state goes on, exactly where the simulator allows it."""
        ...

    def set_state(self, arrays: Mapping[str, Any]) -> None: ...
