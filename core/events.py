"""What jobs yield and receive: small frozen facts in the past tense.

A job is an object with `run()`, a generator that yields these, and `receive(event)`, which takes them. It knows no
thread, process, widget, or file of another stage. core.session.session says which job hears of which event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from core.errors import Lack
from core.types import Float32, Frames, Observations, Preference, Query, Segment

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True)
class JobState:
    """Everything a job needs to go on as if it had never stopped."""

    arrays: Arrays
    values: dict[str, Any]
    """JSON values: counters and the states of random generators."""

    def under(self, prefix: str) -> Arrays:
        """The arrays whose names begin so, without it."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class JobSpec:
    """What a child needs to build its job.

    name: one of core.session.routing.JOBS, 'clips', 'previews', 'film' or 'play'; config: Config.to_dict()
    """

    name: str
    config: dict[str, Any]
    state: JobState | None = None


class Job(Protocol):
    """A generator of events with an inbox. One that has nothing to save inherits get_state and set_state."""

    def run(self) -> Iterator[Event | None]: ...
    def receive(self, event: Event) -> None: ...

    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None:
        """Continues from what `get_state` returned."""
        return


@dataclass(frozen=True)
class Waited(Event):
    """A job has nothing to do until something arrives. `reason` is shown to the person."""

    job: str
    reason: str


@dataclass(frozen=True)
class RolloutBatchReady(Event):
    """T steps of N environments, for the policy. There is no field for the true reward: none must reach it.

    observations (T, N, o), actions (T, N, a), log_probs (T, N): under the policy that acted
    rewards (T, N): what the policy is to maximise
    ends (T, N) bool: the fixed-length episode ended with this step
    end_observations (count of ends, o): what followed each end before the reset, in order of time, then environment
    last_observations (N, o): what followed the last step
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


@dataclass(frozen=True)
class RolloutReported(Event):
    """Measures of the last batch and the last finished episodes; nan where there is none yet."""

    env_steps: int
    seconds: float
    """Wall time that collecting the batch took."""
    batch_steps: int
    episodes: int
    true_return: float
    predicted_return: float
    measure: dict[str, float]
    correlation: float
    """Pearson's, between predicted and true reward of the batch."""
    divergences: int
    """How often in the session a simulation failed and was started anew."""


@dataclass(frozen=True)
class QueryOffered(Event):
    query: Query


@dataclass(frozen=True)
class PreferenceAdded(Event):
    preference: Preference


@dataclass(frozen=True)
class PreferenceWithdrawn(Event):
    """The labeller took an answer back."""

    preference_id: int


@dataclass(frozen=True)
class PreferenceChanged(Event):
    """The labeller chose otherwise later. `preference` has its number of before and the new choice."""

    preference: Preference


@dataclass(frozen=True)
class JudgementRequested(Event):
    """Say what the newest reward snapshot thinks of every answer that it may be fitted to. `token` comes back."""

    token: int


@dataclass(frozen=True)
class AnswersJudged(Event):
    """generation 0 and no answers: there is no snapshot yet.

    ids (n,) of the preferences that the reward is fitted to now; left (n,): P[left is preferred] by the snapshot of
    that generation, the mean over its members, without the labeller's errors.
    """

    token: int
    generation: int
    ids: npt.NDArray[np.int64]
    left: Float32


@dataclass(frozen=True)
class AnswersReplayed(Event):
    """Sent once to reward and rollout at the start, after the PreferenceAdded of every answer in the store.

    waiting: queries that the labeller has before him still, from a rollout that was started again since
    """

    waiting: tuple[Query, ...] = ()


@dataclass(frozen=True)
class RewardPublished(Event):
    """A reward snapshot. generation counts up from 1."""

    generation: int
    weights: Arrays


@dataclass(frozen=True)
class RewardFitted(Event):
    """One round of fitting. Losses are per member, nan where a member holds nothing out."""

    generation: int
    preferences: int
    train_loss: tuple[float, ...]
    validation_loss: tuple[float, ...]
    l2: tuple[float, ...]
    accuracy: float
    """Share of held-out preferences (without ties) that the members rank as the labeller did."""
    seconds: float
    """What it took, without other jobs' turns; of a round that was resumed, since then."""


@dataclass(frozen=True)
class PolicyPublished(Event):
    """A policy snapshot. version counts the updates made."""

    version: int
    weights: Arrays
    env_steps: int | None = None
    """Of the session, when the last batch that it has learned from ended; None where that is not known any more."""
    waiting: int = 0
    """Batches that it still has to learn from."""


@dataclass(frozen=True)
class PolicyUpdated(Event):
    version: int
    env_steps: int
    kl: float
    entropy: float
    value_loss: float
    epochs: int
    seconds: float


@dataclass(frozen=True)
class ClipsRequested(Event):
    """Draw these segments. `token` comes back with the frames."""

    token: int
    segments: tuple[Segment, ...]
    size: int
    fps: float


@dataclass(frozen=True)
class ClipsRendered(Event):
    token: int
    clips: tuple[Frames, ...]


@dataclass(frozen=True)
class PreviewRequested(Event):
    """Draw a moment of this task, for whoever looks through the catalogue."""

    task: str


@dataclass(frozen=True)
class PreviewDrawn(Event):
    task: str
    frames: Frames


@dataclass(frozen=True)
class PreviewRefused(Event):
    """The task can't be drawn. `sentence` says why."""

    task: str
    sentence: str


@dataclass(frozen=True)
class DemonstrationRecorded(Event):
    """An episode of the present policy, for the live view.

    segment: all of it but its last step; predicted (k,): the normalized predicted reward of each step, (0,) before the
    first reward; measure: the task's own figures of the whole episode
    """

    segment: Segment
    predicted: Float32
    env_steps: int
    measure: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplayRequested(Event):
    """Let a policy with these weights act for an episode without noise, and draw that. `token` comes back."""

    token: int
    weights: Arrays
    size: int
    fps: float


@dataclass(frozen=True)
class ReplayRendered(Event):
    """As DemonstrationRecorded, drawn."""

    token: int
    clip: Frames
    predicted: Float32
    measure: dict[str, float]


@dataclass(frozen=True)
class ReplayRefused(Event):
    """That policy can't be shown; `reason` is one sentence."""

    token: int
    reason: str


@dataclass(frozen=True)
class FilmRequested(Event):
    """Make a film of the policies kept in this session's folder.

    before_after: the untrained and the present policy side by side, rather than how it learned
    height: of the picture in pixels, a multiple of 18; the width is 16/9 of it
    """

    folder: str
    target: str
    before_after: bool = False
    height: int = 720


@dataclass(frozen=True)
class FilmProgressed(Event):
    """`share` of the film is made, from 0 to 1."""

    share: float


@dataclass(frozen=True)
class FilmMade(Event):
    """The film is at `target`. `note`: a sentence about what had to be left out, or ''."""

    target: str
    note: str


@dataclass(frozen=True)
class StateRequested(Event):
    """Every job answers with its StateSaved at its next boundary. `number` names the checkpoint."""

    number: int


@dataclass(frozen=True)
class StateSaved(Event):
    job: str
    number: int
    state: JobState = field(repr=False)


@dataclass(frozen=True)
class Paused(Event):
    """Sent to a child's loop, not to its job: hold still (or go on) at the next boundary."""

    on: bool


@dataclass(frozen=True)
class Failed(Event):
    """A job raised. `text` is for the log; `summary` one sentence for the person."""

    job: str
    summary: str
    text: str
    lack: Lack = Lack.NOTHING
    """Of what there was not enough, if that was why: the job can be started again with less."""
    error: Exception | None = field(default=None, repr=False, compare=False)
    """The exception, in a form that another process can raise."""


@dataclass(frozen=True)
class Logged(Event):
    """A child logged something; level as in the logging module."""

    job: str
    level: int
    text: str


@dataclass(frozen=True)
class ControlsHeld(Event):
    """What the person who plays a game holds down, until the next of these."""

    left: bool = False
    right: bool = False
    up: bool = False
    down: bool = False
    fire: bool = False


@dataclass(frozen=True)
class GameShown(Event):
    """A moment of the game that the person plays. pixels: (210, 160, 3) uint8, RGB, with the score."""

    pixels: npt.NDArray[np.uint8]
    score: int
    lives: int
    """0 in games without."""
