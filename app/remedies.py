"""What can be done about a stage that failed. Pure; no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config, replaced
from core.errors import Lack

_LEAST_POLICY, _LEAST_REWARD = 64, 8
"""Batches below these make gradients too noisy to learn from, and save no memory worth having."""


@dataclass(frozen=True)
class Remedy:
    """`config` for what is started again; `name` for the button that does it."""

    name: str
    config: Config


def remedy(lack: Lack, config: Config) -> Remedy:
    """With less of what there was not enough of. The session keeps its own numbers: only this run is changed."""
    if lack == Lack.GPU_MEMORY and config.device != "cpu":
        return Remedy("Retry on the CPU", replaced(config, device="cpu"))
    policy = max(_LEAST_POLICY, config.policy.minibatch // 2)
    reward = max(_LEAST_REWARD, config.reward.minibatch // 2)
    smaller = policy < config.policy.minibatch or reward < config.reward.minibatch
    if lack and smaller:
        policy, reward = min(policy, config.policy.minibatch), min(reward, config.reward.minibatch)
        return Remedy(
            "Retry with smaller batches", replaced(config, policy__minibatch=policy, reward__minibatch=reward)
        )
    return Remedy("Restart", config)
