"""Messages and remedies for a job that failed and a folder that is gone. Pure; no Qt."""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.config import Config, replaced
from core.errors import Lack
from core.events import Failed
from core.formatting import pluralize

_SMALLEST_POLICY_BATCH, _SMALLEST_REWARD_BATCH = 64, 8
"""Smaller batches make gradients too noisy, and save little memory."""
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
    """Return a restart that needs less of the resource that the job lacked, if possible; else a plain restart.

    It changes this run only; the session keeps its config.
    """
    if failure.lack in (Lack.GPU, Lack.GPU_MEMORY) and config.device != "cpu":
        return RecoveryAction("Retry on the CPU", replaced(config, device="cpu"))
    batch = smallest = 0
    if failure.lack and failure.job == "reward":
        batch, smallest = config.reward.minibatch, _SMALLEST_REWARD_BATCH
    elif failure.lack and failure.job == "policy" and config.policy.algorithm != "a2c":  # A2C has no minibatches
        batch, smallest = config.policy.minibatch, _SMALLEST_POLICY_BATCH
    if batch <= smallest:
        return RecoveryAction("Restart", config)
    smaller = replaced(config, **{f"{failure.job}__minibatch": max(smallest, batch // 2)})
    return RecoveryAction("Retry with smaller batches", smaller)


def failure_sentence(failure: Failed) -> str:
    """Return a sentence such as 'Reward training stopped: MemoryError.'"""
    return f"{_PARTS[failure.job]} stopped: {failure.summary.rstrip('.')}."


def saved_work(any_checkpoint: bool, checkpoint_at: float | None) -> str:
    """A sentence about the work on disk that stays true while more answers are given.

    any_checkpoint: the session has a checkpoint; checkpoint_at: seconds since the epoch; None before this run's first
    """
    if not any_checkpoint:
        return "All answers are saved; training starts over with them."
    if checkpoint_at is None:
        return "All answers are saved; the last checkpoint is from an earlier run."
    time_of_day = time.strftime("%H:%M:%S", time.localtime(checkpoint_at))
    return f"All answers are saved; the last checkpoint is from {time_of_day}."


def saved_elsewhere(folder: Path, answers: tuple[int, int], policies: tuple[int, int], trained: bool) -> str:
    """Say what was saved in a new folder in place of one that is gone, and what could not be.

    answers, policies: numbers of answers and earlier policies that were saved, and that the session had; trained: its
        training was saved
    """
    parts = [pluralize(answers[0], "answer"), *(["the training"] if trained else [])]
    if policies[0]:
        parts.append(_policies(policies[0]))
    saved = f"Saved {', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]} in {folder}."
    for (kept, known), named in ((answers, partial(pluralize, noun="answer")), (policies, _policies)):
        if kept < known:
            saved += f" {named(known - kept)} {'was' if known - kept == 1 else 'were'} deleted before a copy was made."
    return saved if trained else f"{saved} The training could not be saved: it starts over with these answers."


def _policies(count: int) -> str:
    return f"{count:,} earlier {'policy' if count == 1 else 'policies'}"
