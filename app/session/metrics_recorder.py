"""Records the jobs' reports in the metrics. Pure."""

import math
from collections.abc import Mapping

import numpy as np

from app.labelling.progress import Progress
from core.events import DemonstrationRecorded, Event, JobState, RewardFitted, RolloutReported
from core.metrics import CAPACITY, Metrics, Series
from core.session.job_states import kept_reward
from core.types import Float32

TRUE, PREDICTED, CORRELATION = "true return", "predicted return", "correlation"
PREDICTED_REWARD, TRUE_REWARD = "predicted reward", "true reward"
"""Series of one episode."""
LABELS, AGREEMENT, SPEED = "labels", "agreement", "steps per second"
TRAIN_LOSS, VALIDATION_LOSS, LOSS_RATIO = "train loss", "validation loss", "loss ratio"
L2 = "weight decay"
"""The coefficient."""

_OWN = (CORRELATION, LABELS, AGREEMENT)
"""Series whose names may also be names of a behaviour's figures."""


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


def resume_figures(states: Mapping[str, JobState], metrics: Metrics, progress: Progress) -> None:
    """Show the figures of a checkpoint before the first report: they are those from which training continues.

    Later points of the metrics are dropped.
    """
    values = states["rollout"].values if "rollout" in states else {}
    steps, agreement, weight = (values.get(name) for name in ("env_steps", "agreement", "agreement_weight"))
    if not isinstance(steps, int):
        return
    metrics.rewind(steps / 1000)
    known = agreement / weight if isinstance(agreement, float) and isinstance(weight, float) and weight else math.nan
    thousands, returns = metrics.snapshot(PREDICTED)
    batches = zip((1000 * thousands).round().astype(int).tolist(), returns.tolist(), strict=True)
    best = float(np.fmax.reduce([known, *metrics.snapshot(AGREEMENT)[1]]))
    progress.resumed(steps, known, best, kept_reward(states) is not None, batches)


def record_labels(metrics: Metrics, progress: Progress) -> None:
    metrics.append(LABELS, progress.env_steps / 1000, progress.labels)


def episode_metrics(event: DemonstrationRecorded, step_seconds: float) -> Metrics:
    """Return the rewards of one episode of the policy, acting without noise, over the seconds from its start.

    Predicted rewards are missing before the first reward fit, true ones if the task has none. Only every second step of
    a long episode is kept, or every third, and so on.
    """
    true = event.segment.true_rewards
    if true is None or not np.isfinite(true).any():
        true = np.empty(0, np.float32)
    metrics, rewards = Metrics(), {PREDICTED_REWARD: event.predicted, TRUE_REWARD: true}
    metrics.set_series({name: _episode_series(series, step_seconds) for name, series in rewards.items()})
    return metrics


def _episode_series(rewards: Float32, step_seconds: float) -> Series:
    """rewards: (k,)"""
    seconds, known = step_seconds * np.arange(len(rewards)), np.where(np.isfinite(rewards), rewards, math.nan)
    return Series.from_points(np.column_stack([seconds, known])[:: 1 + len(rewards) // CAPACITY], 1)
