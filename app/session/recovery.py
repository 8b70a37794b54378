"""Messages and remedies for a job that failed. Pure; no Qt."""

import time
from dataclasses import dataclass

from core.config import Config, replaced
from core.errors import Lack
from core.events import Failed

_PARTS = {
    "rollout": "The simulation",
    "reward": "Reward training",
    "policy": "Policy training",
    "clips": "The clip renderer",
}
"""Names of the jobs in messages."""


@dataclass(frozen=True)
class RecoveryAction:
    """Label of the restart button, and the config that the restarted jobs get."""

    name: str
    config: Config


def recovery_action(failure: Failed, config: Config) -> RecoveryAction:
    """Return a restart on the CPU if the job lacked the GPU or its memory; else a plain restart.

    It changes this run only; the session keeps its config.
    """
    if failure.lack in (Lack.GPU, Lack.GPU_MEMORY) and config.device != "cpu":
        return RecoveryAction("Retry on the CPU", replaced(config, device="cpu"))
    return RecoveryAction("Restart", config)


def failure_sentence(failure: Failed) -> str:
    """Return a sentence such as 'Reward training stopped: MemoryError.'"""
    return f"{_PARTS[failure.job]} stopped: {failure.summary.rstrip('.')}."


def saved_work(any_checkpoint: bool, checkpoint_at: float | None) -> str:
    """Return a sentence about the work on disk that stays true while more answers are given.

    any_checkpoint: the session has a checkpoint; checkpoint_at: seconds since the epoch; None before this run's first
    """
    if not any_checkpoint:
        return "All answers were saved; training starts again with them."
    if checkpoint_at is None:
        return "All answers were saved; the last checkpoint is from an earlier run."
    time_of_day = time.strftime("%H:%M:%S", time.localtime(checkpoint_at))
    return f"All answers were saved; the last checkpoint is from {time_of_day}."
