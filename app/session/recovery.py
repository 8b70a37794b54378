"""What can be done about a stage that failed. Pure; no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config, replaced
from core.errors import Lack
from core.events import Failed

_LEAST_POLICY, _LEAST_REWARD = 64, 8
"""Batches below these make gradients too noisy to learn from, and save no memory worth having."""


@dataclass(frozen=True)
class RecoveryAction:
    """`config` for what is started again; `name` for the button that does it."""

    name: str
    config: Config


def remedy(failure: Failed, config: Config) -> RecoveryAction:
    """With less of what this stage had not enough of. The session keeps its own numbers: only this run is changed."""
    if failure.lack == Lack.GPU_MEMORY and config.device != "cpu":
        return RecoveryAction("Retry on the CPU", replaced(config, device="cpu"))
    smaller = _smaller_batches(failure.job, config) if failure.lack else {}
    return (
        RecoveryAction("Retry with smaller batches", replaced(config, **smaller))
        if smaller
        else RecoveryAction("Restart", config)
    )


def _smaller_batches(job: str, config: Config) -> dict[str, int]:
    """Of the stage that failed, where it has some that can shrink: A2C takes whole batches."""
    if job == "reward":
        batch, least = config.reward.minibatch, _LEAST_REWARD
    elif job == "policy" and config.policy.algorithm != "a2c":
        batch, least = config.policy.minibatch, _LEAST_POLICY
    else:
        return {}
    return {f"{job}__minibatch": max(least, batch // 2)} if batch > least else {}
