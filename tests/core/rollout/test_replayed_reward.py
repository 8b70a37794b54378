"""The reward of replayed steps: predicted anew, normalized over the whole memory, with bonuses; or the true one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.config import replaced
from core.envs.spaces import spaces
from core.events import RolloutBatchReady
from core.nn.stacked_mlp import CPU
from core.nn.state import state_arrays
from core.policy.replay import Replay
from core.reward.ensemble import build_ensemble
from core.reward.normalization import disagreement_std, normalize_reward
from core.rollout.replayed_reward import PredictedReward, TrueReward
from tests.core.builders import tiny

CONFIG = replaced(tiny(), policy__algorithm="sac", reward__members=3)
STEPS, COUNT = 20, 30


def batch() -> RolloutBatchReady:
    size, actions = (getattr(spaces(CONFIG), name) for name in ("observations", "actions"))
    rng = np.random.default_rng(0)
    seen = rng.normal(1, 2, (STEPS + 1, COUNT, size)).astype(np.float32)
    drawn = rng.uniform(-1, 1, (STEPS, COUNT, actions)).astype(np.float32)
    zeros, none = np.zeros((STEPS, COUNT), np.float32), np.zeros((STEPS, COUNT), np.bool_)
    return RolloutBatchReady(0, 0, seen[:-1], drawn, zeros, seen[:-1, :, 0], none, seen[:0, 0], seen[-1])


def memory(given: RolloutBatchReady) -> Replay:
    made = Replay(10_000, given.observations.shape[2], given.actions.shape[2], CPU)
    made.add(given)
    return made


def predicted(bonus: float = 0.0, novelty: float = 0.0, seed: int = 0) -> np.ndarray:
    """Return the rewards of all steps of a batch with these weights, by an ensemble of this seed."""
    given = replace(batch(), bonus=bonus, novelty=novelty)
    reward, steps = PredictedReward(CONFIG), memory(given)
    reward.load(state_arrays(build_ensemble(replaced(CONFIG, seed=seed), CPU)))
    reward.rescale(steps, given)
    rewards: np.ndarray = reward(steps.spread(STEPS * COUNT)).numpy()
    return rewards


def test_the_members_are_normalized_over_the_memory_as_over_a_batch() -> None:
    raw = build_ensemble(replaced(CONFIG, seed=0), CPU).predict(batch().observations, batch().actions)
    assert predicted() == pytest.approx(normalize_reward(raw, 1.0).ravel(), abs=1e-4)
    assert predicted(bonus=0.5) - predicted() == pytest.approx(0.5 * disagreement_std(raw).ravel(), abs=1e-4)


def test_a_new_snapshot_changes_the_rewards_of_old_steps() -> None:
    assert np.corrcoef(predicted(), predicted(seed=1))[0, 1] < 0.9


def test_steps_far_from_the_others_are_novel() -> None:
    bonus = predicted(novelty=1.0) - predicted()
    seen = batch().observations.reshape(STEPS * COUNT, -1)
    distance = np.square((seen - seen.mean(0)) / seen.std(0)).sum(1)
    assert bonus.mean() == pytest.approx(0, abs=1e-4) and bonus.std() == pytest.approx(1, abs=1e-2)
    assert np.corrcoef(bonus, distance)[0, 1] > 0.8


def test_the_true_reward_is_normalized_over_the_memory() -> None:
    reward, steps = TrueReward(), memory(batch())
    reward.rescale(steps, batch())
    rewards = reward(steps.spread(STEPS * COUNT))
    assert rewards.mean().item() == pytest.approx(0, abs=1e-5) and rewards.std().item() == pytest.approx(1, abs=1e-2)
    assert torch.corrcoef(torch.stack([rewards, torch.as_tensor(batch().rewards.ravel())]))[0, 1] > 0.999
