"""Writes what the jobs report into the metrics. Its only writer; pure."""

from __future__ import annotations

from core.events import Event, RewardFitted, RolloutReported
from core.metrics import Metrics

TRUE, PREDICTED, CORRELATION = "true return", "predicted return", "correlation"


def train_loss(member: int) -> str:
    return f"train loss {member}"


def validation_loss(member: int) -> str:
    return f"validation loss {member}"


def record(event: Event, metrics: Metrics, env_steps: int) -> None:
    """x is the environment steps taken, in thousands; a fit is dated by the last report before it."""
    x = env_steps / 1000
    match event:
        case RolloutReported():
            metrics.append(TRUE, x, event.true_return)
            metrics.append(PREDICTED, x, event.predicted_return)
            metrics.append(CORRELATION, x, event.correlation)
            for name, value in event.measure.items():
                metrics.append(name, x, value)
        case RewardFitted():
            for member, loss in enumerate(event.train_loss):
                metrics.append(train_loss(member), x, loss)
            for member, loss in enumerate(event.validation_loss):
                metrics.append(validation_loss(member), x, loss)
