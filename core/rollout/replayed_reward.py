"""The reward of replayed steps: predicted by the newest predictors, with the bonuses of the moment, or the true one."""

from __future__ import annotations

import torch
from torch import Tensor

from core.config import Config
from core.events import Arrays, RolloutBatchReady
from core.nn.device import device_for
from core.nn.state import load_state_arrays, state_arrays
from core.policy.replay import Replay, Transitions
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.rollout.exploration import log_distances

_SAMPLE, _NOVELTY_SAMPLE = 8192, 320
"""Number of replayed steps over which the reward is normalized, and of those with which novelty compares.

With fewer than 320, torch finds the fifth nearest of them by another algorithm, which takes longer.
"""
_TINY = 1e-8


class PredictedReward:
    """The mean of the standardized members, with standard deviation 1, plus bonuses for disagreement and for novelty.

    Normalization is over the whole memory, so that the scale does not change when the policy narrows. A batch carries the
    weights of both bonuses.
    """

    def __init__(self, config: Config) -> None:
        ensemble = build_ensemble(config, device_for(config))
        assert isinstance(ensemble, RewardEnsemble)
        self._ensemble = ensemble

    def load(self, weights: Arrays) -> None:
        load_state_arrays(self._ensemble, weights)

    @torch.no_grad()
    def rescale(self, replay: Replay, batch: RolloutBatchReady) -> None:
        self._bonus, self._novelty = batch.bonus, batch.novelty
        steps = replay.spread(_SAMPLE)
        raw = self._raw(steps)
        self._means, self._stds = raw.mean(1, keepdim=True), raw.std(1, keepdim=True, correction=0).clamp_min(_TINY)
        self._std = ((raw - self._means) / self._stds).mean(0).std(correction=0).clamp_min(_TINY)
        if self._novelty:
            self._place = steps.observations.mean(0), steps.observations.std(0, correction=0).clamp_min(1e-3)
            self._others = self._placed(replay.spread(_NOVELTY_SAMPLE).observations)

    @torch.no_grad()
    def __call__(self, steps: Transitions) -> Tensor:
        members = (self._raw(steps) - self._means) / self._stds
        reward: Tensor = members.mean(0) / self._std
        if self._bonus:
            reward = reward + self._bonus * members.std(0, correction=0)
        if self._novelty:
            distances = log_distances(self._placed(steps.observations), self._others)
            deviation = distances.std(correction=0).clamp_min(_TINY)
            reward = reward + self._novelty * (distances - distances.mean()) / deviation
        return reward

    def _raw(self, steps: Transitions) -> Tensor:
        """Return each member's predictions (M, B)."""
        ensemble, inputs = self._ensemble, steps.observations
        if ensemble.see_actions:
            inputs = torch.cat([inputs, steps.actions], dim=1)
        return ensemble.raw(inputs)

    def _placed(self, observations: Tensor) -> Tensor:
        mean, std = self._place
        return (observations - mean) / std

    def get_state(self) -> Arrays:
        return state_arrays(self._ensemble)


class TrueReward:
    """The batches' own rewards, with mean 0 and standard deviation 1 over the whole memory: for the baseline alone."""

    def rescale(self, replay: Replay, batch: RolloutBatchReady) -> None:
        rewards = replay.spread(_SAMPLE).rewards
        self._mean, self._std = rewards.mean(), rewards.std(correction=0).clamp_min(_TINY)

    def __call__(self, steps: Transitions) -> Tensor:
        return (steps.rewards - self._mean) / self._std
