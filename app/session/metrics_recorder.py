"""Writes what the jobs report into the metrics. Their only writer; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.labelling.progress import Progress
from core.events import DemonstrationRecorded, Event, RewardFitted, RolloutReported
from core.metrics import SHOWN, Metrics
from core.types import Float32, Float64

TRUE, PREDICTED, CORRELATION = "true return", "predicted return", "correlation"
LABELS, SCHEDULE, SPEED = "labels", "labels due", "steps per second"


def train_loss(member: int) -> str:
    return f"train loss {member}"


def validation_loss(member: int) -> str:
    return f"validation loss {member}"


def loss_ratio(member: int) -> str:
    """Validation loss over training loss."""
    return f"loss ratio {member}"


def weight_decay(member: int) -> str:
    """The L2 coefficient."""
    return f"weight decay {member}"


def record(event: Event, metrics: Metrics, progress: Progress) -> None:
    """x is the environment steps taken, in thousands; a fit is dated by the last report before it."""
    x = progress.env_steps / 1000
    match event:
        case RolloutReported():
            metrics.rewind(x)
            _record_rollout(event, metrics, x)
            metrics.append(SPEED, x, progress.steps_per_second or math.nan)
            record_labels(metrics, progress)
        case RewardFitted():
            _record_fit(event, metrics, x)


def record_labels(metrics: Metrics, progress: Progress) -> None:
    """Answers given, and those that the schedule wants by now."""
    x = progress.env_steps / 1000
    metrics.append(LABELS, x, progress.labels)
    metrics.append(SCHEDULE, x, progress.due)


def _record_rollout(event: RolloutReported, metrics: Metrics, x: float) -> None:
    metrics.append(TRUE, x, event.true_return)
    metrics.append(PREDICTED, x, event.predicted_return)
    metrics.append(CORRELATION, x, event.correlation)
    for name, value in event.measure.items():
        metrics.append(name, x, value)


def _record_fit(event: RewardFitted, metrics: Metrics, x: float) -> None:
    for member, (train, validation) in enumerate(zip(event.train_loss, event.validation_loss, strict=True)):
        metrics.append(train_loss(member), x, train)
        metrics.append(validation_loss(member), x, validation)
        metrics.append(loss_ratio(member), x, validation / train if train > 0 else math.nan)
    for member, coefficient in enumerate(event.l2):
        metrics.append(weight_decay(member), x, coefficient)


@dataclass(frozen=True)
class EpisodeRewards:
    """One episode of the policy acting without noise: what was predicted for each step, and what was true.

    predicted (k,), or (0,) before the first reward; true (k,), or (0,) where the task has none
    """

    seconds: Float64
    predicted: Float32
    true: Float32
    env_steps: int = 0

    PREDICTED, TRUE = "predicted reward", "true reward"

    @staticmethod
    def none() -> EpisodeRewards:
        """Before the first was recorded."""
        return EpisodeRewards(np.empty(0), np.empty(0, np.float32), np.empty(0, np.float32))

    @staticmethod
    def of(event: DemonstrationRecorded, step_seconds: float) -> EpisodeRewards:
        true = event.segment.true_rewards
        if true is None or not np.isfinite(true).any():
            true = np.empty(0, np.float32)
        return EpisodeRewards(
            step_seconds * np.arange(event.segment.length, dtype=np.float64), event.predicted, true, event.env_steps
        )

    @property
    def correlation(self) -> float:
        """Pearson's; nan where one of the two never changes or there is none."""
        if not 0 < len(self.predicted) == len(self.true):
            return math.nan
        if not self.predicted.std() > 0 or not self.true.std() > 0:
            return math.nan
        return float(np.corrcoef(self.predicted, self.true)[0, 1])

    def names(self) -> tuple[str, ...]:
        return (self.PREDICTED, self.TRUE)

    def snapshot(self, name: str, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """As of Metrics: seconds from the start, and the reward of each step."""
        y = (self.predicted if name == self.PREDICTED else self.true).astype(np.float64)
        x = self.seconds[: len(y)]
        if len(x) <= limit:
            return x, y
        shown = np.linspace(0, len(x) - 1, limit).round().astype(np.int64)
        return x[shown], y[shown]
