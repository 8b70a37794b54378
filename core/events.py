"""Events that jobs yield and receive: small frozen records of facts, named in the past tense.

A job depends on no thread, process, widget, or file of another stage. core.session.routing defines which job receives
which event.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import Lack
from core.types import Float32, Observations, Preference, Query, Segment

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Event:
    """Base of all events."""


def without_prefix(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names start with `prefix`, keyed by the rest of the name."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class JobState:
    """State from which a job resumes exactly."""

    arrays: Arrays
    values: dict[str, Any]
    """JSON values: counters and the states of random generators."""

    def under(self, prefix: str) -> Arrays:
        """Return the arrays whose names start with `prefix`, keyed by the rest of the name."""
        return without_prefix(self.arrays, prefix)


ENSEMBLE_PREFIX = "ensemble_"
"""Prefix of the ensemble's own weights in the reward's state; outside a round, they are the weights published last."""
REPLAY_PREFIX, BATCH_PREFIX = "replay_", "batch_"
"""Prefixes of the replay memory's arrays and of the waiting batches' in the policy's state."""


@dataclass(frozen=True)
class JobSpec:
    """Description from which a child process builds its job.

    name: name of the job, a key of core.jobs.KINDS
    config: Config.to_dict(); empty for a job that needs no config
    """

    name: str
    config: dict[str, Any]
    state: JobState | None = None


class Job(ABC):
    """One stage of training, or a service such as drawing clips."""

    turn_over: bool = False
    """True if a longer piece of work should be interrupted for the other jobs' turns (core.headless.lockstep)."""

    @abstractmethod
    def run(self) -> Iterator[Event | None]:
        """Yield events; None marks a point at which the job may be paused or given events."""

    @abstractmethod
    def receive(self, event: Event) -> None:
        """Receive an event; called between two steps of `run`."""

    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None:
        """Restore the state from `get_state`."""
        return

    def close(self) -> None:
        """Release the processes and simulators that the job holds."""
        return


@dataclass(frozen=True)
class Waited(Event):
    """Report of a job that can't continue until an event arrives. The window shows the rollout's `reason`."""

    job: str
    reason: str


@dataclass(frozen=True)
class RolloutBatchReady(Event):
    """T steps of N environments, for the policy. No field holds the true reward: the policy must never see it.

    observations (T, N, o), actions (T, N, a), log_probs (T, N): under the policy that acted
    rewards (T, N): the reward to maximize
    ends (T, N) bool: the fixed-length episode ended with this step
    end_observations (number of ends, o): the observation after each end, before the reset; by time, then environment
    last_observations (N, o): the observation after the last step
    bonus, novelty: weights of the rewards for disagreement and novelty, for SAC, which predicts the rewards of old steps
        anew; with other optimizers, `rewards` contains both
    """

    policy_version: int
    env_steps: int
    observations: Observations
    actions: Float32
    log_probs: Float32
    rewards: Float32
    ends: npt.NDArray[np.bool_]
    end_observations: Observations
    last_observations: Observations
    learning_rate_scale: float = 1.0
    bonus: float = 0.0
    novelty: float = 0.0


@dataclass(frozen=True)
class RolloutReported(Event):
    """Measures of the latest batch and the latest finished episodes; NaN if there are none."""

    env_steps: int
    batch_steps: int
    true_return: float
    predicted_return: float
    measure: dict[str, float]
    correlation: float
    """Pearson correlation of predicted and true reward in the batch."""
    divergences: int
    """Number of simulations that failed and were restarted, in the whole session."""
    agreement: float = math.nan
    """Share of pairs of new segments on which all members agree, over the last few hundred pairs."""
    finishing: float | None = None
    """Progress, 0 to 1, of the finish that a human has requested; None if none is in progress."""


@dataclass(frozen=True)
class QueryOffered(Event):
    """A query that is ready for a labeller."""

    query: Query


@dataclass(frozen=True)
class PreferenceAdded(Event):
    """An answer to a query."""

    preference: Preference


@dataclass(frozen=True)
class PreferenceWithdrawn(Event):
    """An answer that the labeller took back."""

    preference_id: int


@dataclass(frozen=True)
class PreferenceChanged(Event):
    """An earlier answer that the labeller changed. `preference` has its old ID and the new choice."""

    preference: Preference


@dataclass(frozen=True)
class QueryWithdrawn(Event):
    """A prepared query that is no longer worth asking. It is dropped unless it is on screen."""

    query_id: int


@dataclass(frozen=True)
class HoldChanged(Event):
    """Request to hold training until the next answer, or (`on` is False) to continue without answers."""

    on: bool


@dataclass(frozen=True)
class FinishRequested(Event):
    """Request to finish training, that is, to take its last steps. The next answer ends the finish."""


@dataclass(frozen=True)
class RewardRequested(Event):
    """Request to publish the latest snapshot again, if there is one: a job that was restarted may lack it."""


@dataclass(frozen=True)
class PredictionsRequested(Event):
    """Request for predictions of all answers that the reward is fitted to. The reply has `token`."""

    token: int


@dataclass(frozen=True)
class AnswersPredicted(Event):
    """Predictions of the latest snapshot for the preferences that the reward is fitted to.

    generation: number of snapshots so far, of which this is the latest; 0 if there is none yet, and then no preferences
    ids (n,), left (n,): preference ids, and the mean over the members of P[left is preferred], without the error rate
    """

    token: int
    generation: int
    ids: npt.NDArray[np.int64]
    left: Float32


@dataclass(frozen=True)
class AnswersReplayed(Event):
    """End of the replay of all stored preferences to the reward and rollout jobs. Sent once, at the start.

    waiting: queries that the labeller still has, offered by a rollout job that has been restarted since
    undone: queries of answers that were undone and can be restored
    """

    waiting: tuple[Query, ...] = ()
    undone: tuple[Query, ...] = ()


@dataclass(frozen=True)
class RewardPublished(Event):
    """A new reward snapshot."""

    weights: Arrays


@dataclass(frozen=True)
class RewardFitted(Event):
    """Result of a round of fitting. Losses are per member; the validation loss is NaN without held-out answers."""

    preferences: int
    train_loss: tuple[float, ...]
    validation_loss: tuple[float, ...]
    l2: tuple[float, ...]


@dataclass(frozen=True)
class PolicyPublished(Event):
    """A new policy snapshot. `version` is the number of updates made."""

    version: int
    weights: Arrays
    env_steps: int = 0
    """Environment steps of the session at the end of the last batch learned from."""
    waiting: int = 0
    """Number of batches not learned from yet."""


@dataclass(frozen=True)
class DemonstrationRecorded(Event):
    """An episode of the newest policy, for the live view.

    segment: the episode without its last step
    predicted (k,): normalized predicted reward of each step; (0,) before the first snapshot
    measure: the task's own figures for the whole episode
    signals: a robot's signals by name, (k,) each
    """

    segment: Segment
    predicted: Float32
    env_steps: int
    measure: dict[str, float] = field(default_factory=dict)
    signals: dict[str, Float32] = field(default_factory=dict)


@dataclass(frozen=True)
class StateRequested(Event):
    """Request for a job's state at its next boundary; the reply is StateSaved. number: number of the checkpoint"""

    number: int


@dataclass(frozen=True)
class StateSaved(Event):
    """A job's state, for the checkpoint `number`."""

    job: str
    number: int
    state: JobState = field(repr=False)


@dataclass(frozen=True)
class Paused(Event):
    """Request to the loop of a child process, not to its job, to pause or continue at the next boundary."""

    on: bool


@dataclass(frozen=True)
class Failed(Event):
    """Exception that a job raised. `text` is for the log; `summary` is one sentence for the user."""

    job: str
    summary: str
    text: str
    lack: Lack = Lack.NOTHING
    """Resource that was exhausted or missing, if that was the cause: the job may be restarted so that it needs less."""
    error: Exception | None = field(default=None, repr=False, compare=False)
    """The exception, in a form that another process can raise."""


@dataclass(frozen=True)
class Logged(Event):
    """Message that a child process logged; `level` as in the logging module."""

    job: str
    level: int
    text: str
