"""Records the jobs' reports in the metrics. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.labelling.progress import Progress
from core.events import DemonstrationRecorded, Event, RewardFitted, RolloutReported
from core.metrics import SHOWN, Metrics, evenly
from core.types import Float32, Float64

TRUE, PREDICTED, CORRELATION = "true return", "predicted return", "correlation"
LABELS, AGREEMENT, SPEED = "labels", "agreement", "steps per second"
TRAIN_LOSS, VALIDATION_LOSS, LOSS_RATIO = "train loss", "validation loss", "loss ratio"
L2 = "weight decay"
"""The coefficient."""


_OWN = (CORRELATION, LABELS, AGREEMENT)
"""Series whose name a behaviour's figure may have, too."""


def of_figure(name: str) -> str:
    """Return the name of the series of a behaviour's figure."""
    return f"figure {name}" if name in _OWN else name


def of_member(figure: str, member: int) -> str:
    return f"{figure} {member}"


def record(event: Event, metrics: Metrics, progress: Progress) -> None:
    """Append the figures of an event.

    x is the environment steps so far, in thousands; a fit is dated by the last report.
    """
    x = progress.env_steps / 1000
    match event:
        case RolloutReported():
            metrics.rewind(x)
            metrics.append(TRUE, x, event.true_return)
            metrics.append(PREDICTED, x, event.predicted_return)
            metrics.append(CORRELATION, x, event.correlation)
            metrics.append(AGREEMENT, x, event.agreement)
            for name, value in event.measure.items():
                metrics.append(of_figure(name), x, value)
            metrics.append(SPEED, x, progress.steps_per_second or math.nan)
            record_labels(metrics, progress)
        case RewardFitted():
            for member, (train, validation) in enumerate(zip(event.train_loss, event.validation_loss, strict=True)):
                metrics.append(of_member(TRAIN_LOSS, member), x, train)
                metrics.append(of_member(VALIDATION_LOSS, member), x, validation)
                metrics.append(of_member(LOSS_RATIO, member), x, validation / train if train > 0 else math.nan)
            for member, coefficient in enumerate(event.l2):
                metrics.append(of_member(L2, member), x, coefficient)


def record_labels(metrics: Metrics, progress: Progress) -> None:
    metrics.append(LABELS, progress.env_steps / 1000, progress.labels)


@dataclass(frozen=True)
class EpisodeRewards:
    """Rewards of one episode of the policy, acting without noise.

    seconds: (k,) float64 from the start of the episode
    predicted: (k,) float32; (0,) before the first reward fit
    true: (k,) float32; (0,) if the task has no true reward
    """

    seconds: Float64
    predicted: Float32
    true: Float32

    PREDICTED, TRUE = "predicted reward", "true reward"

    @staticmethod
    def empty() -> EpisodeRewards:
        return EpisodeRewards(np.empty(0), np.empty(0, np.float32), np.empty(0, np.float32))

    @staticmethod
    def of(event: DemonstrationRecorded, step_seconds: float) -> EpisodeRewards:
        true = event.segment.true_rewards
        if true is None or not np.isfinite(true).any():
            true = np.empty(0, np.float32)
        seconds = step_seconds * np.arange(event.segment.length, dtype=np.float64)
        return EpisodeRewards(seconds, event.predicted, true)

    @property
    def correlation(self) -> float:
        """Pearson's correlation of predicted and true; nan if either is constant or missing."""
        if not 0 < len(self.predicted) == len(self.true):
            return math.nan
        if not self.predicted.std() > 0 or not self.true.std() > 0:
            return math.nan
        return float(np.corrcoef(self.predicted, self.true)[0, 1])

    def snapshot(self, name: str, limit: int = SHOWN) -> tuple[Float64, Float64]:
        """Return a copy like Metrics.snapshot: (n,) float64 seconds and (n,) float64 rewards of at most `limit` steps."""
        y = (self.predicted if name == self.PREDICTED else self.true).astype(np.float64)
        x = self.seconds[: len(y)]
        if len(x) <= limit:
            return x, y
        shown = evenly(len(x), limit)
        return x[shown], y[shown]
