"""Networks of the members, and the combination of their predictions to one reward (paper 2.2.3, A)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.config import RewardConfig
from core.nn.state import state_arrays
from core.reward.ensemble import RewardEnsemble
from core.reward.normalization import WINDOW_STEPS, RunningWindow, disagreement_std, normalize_reward
from tests.core.builders import segment


def test_the_normalized_reward_matches_a_calculation_by_hand() -> None:
    raw = np.array([[0.0, 2.0, 1.0, 1.0], [30.0, 10.0, 50.0, 30.0]], np.float32)
    # centred: [-1 1 0 0] of std sqrt(1/2), and [0 -20 20 0] of std sqrt(200); the mean of the two scaled
    # is [-1 0 1 0] / sqrt(2), of std 1/2
    assert normalize_reward(raw, 1.0) == pytest.approx(np.array([-1, 0, 1, 0]) * np.sqrt(2), abs=1e-6)
    assert normalize_reward(raw, 0.05) == pytest.approx(np.array([-1, 0, 1, 0]) * np.sqrt(2) * 0.05, abs=1e-7)


def test_a_constant_member_has_no_effect_and_opposite_members_give_zero() -> None:
    varied = np.array([0.0, 1.0, 2.0, 5.0], np.float32)
    reward = normalize_reward(np.stack([varied, np.full(4, 7.0, np.float32)]), 1.0)
    assert reward == pytest.approx(normalize_reward(varied[None], 1.0), abs=1e-6)
    assert (normalize_reward(np.full((3, 6), 4.2, np.float32), 1.0) == 0).all()
    assert (normalize_reward(np.stack([varied, -varied]), 1.0) == 0).all()


def ensemble(seed: int, members: int = 3, **settings: Any) -> RewardEnsemble:
    generator = torch.Generator().manual_seed(seed)
    return RewardEnsemble(19, RewardConfig(members=members, hidden=8, **settings), generator)


def test_each_member_is_the_two_layer_network_of_the_paper() -> None:
    made, one = ensemble(0), segment(1)
    arrays = state_arrays(made)
    x = inputs = np.concatenate([one.observations, one.actions], axis=1)
    for layer in range(3):
        x = x @ arrays[f"network.weights.{layer}"][1] + arrays[f"network.biases.{layer}"][1]
        x = np.where(x > 0, x, 0.01 * x) if layer < 2 else x
    assert made.predict(one.observations, one.actions)[1] == pytest.approx(x[:, 0], abs=1e-6)
    assert made.segment_returns(torch.as_tensor(inputs)[None])[1, 0].item() == pytest.approx(
        x.sum(), abs=1e-5
    )  # as in training


def test_inputs_are_clipped_at_five_standard_deviations() -> None:
    made, one = ensemble(0), segment(1)
    made.std = torch.full((19,), 2.0)
    near, far, farther = (one.observations.copy() for _ in range(3))
    near[:, 0], far[:, 0], farther[:, 0] = 9.0, 10.0, 1000.0
    assert (made.predict(far, one.actions) == made.predict(farther, one.actions)).all()
    assert (made.predict(far, one.actions) != made.predict(near, one.actions)).any()


def test_the_untrained_returns_of_a_clip_are_small() -> None:
    """Otherwise the initial weights would determine everything that the answers do not cover."""
    one, full = segment(1), ensemble(0, last_layer_scale=1.0)
    returns = ensemble(0).predict(one.observations, one.actions).sum(-1)
    assert returns == pytest.approx(0.02 * full.predict(one.observations, one.actions).sum(-1), rel=1e-4)


def test_predictors_of_observations_alone_give_a_state_one_reward_whatever_the_action() -> None:
    settings = {"inputs": "observation", "hidden": 8}
    one, other = segment(1), segment(2)
    made = RewardEnsemble(one.observations.shape[1], RewardConfig(**settings), torch.Generator().manual_seed(0))
    predicted = made.predict(one.observations, one.actions)
    assert (predicted == made.predict(one.observations, other.actions)).all() and predicted.std() > 0
    assert (
        ensemble(0).predict(one.observations, one.actions) != ensemble(0).predict(one.observations, other.actions)
    ).any()


def test_disagreement_is_the_deviation_of_the_members_standardized_rewards() -> None:
    raw = np.array([[0.0, 2.0, 1.0, 1.0], [30.0, 10.0, 50.0, 30.0]], np.float32)
    # standardized: [-1 1 0 0] * sqrt(2) and [0 -1 1 0] * sqrt(2); the std of two values is half their difference
    assert disagreement_std(raw) == pytest.approx(np.array([1, 2, 1, 0]) / np.sqrt(2), abs=1e-6)
    assert disagreement_std(raw * np.array([[1], [100]], np.float32)) == pytest.approx(disagreement_std(raw), abs=1e-6)
    assert not disagreement_std(raw[:1]).any()


BATCH = (5, 16)


def raw(seed: int, shape: tuple[int, ...] = BATCH, scale: float = 3.0) -> np.ndarray:
    return (7 + scale * np.random.default_rng(seed).standard_normal((2, *shape))).astype(np.float32)


def test_a_large_batch_is_normalized_by_itself() -> None:
    window = RunningWindow(2)
    window.normalized(raw(0), 1.0)
    large = raw(1, (WINDOW_STEPS // 16, 16))
    assert np.array_equal(window.normalized(large, 0.05), normalize_reward(large, 0.05))


def test_an_uneventful_batch_is_not_scaled_up() -> None:
    window = RunningWindow(2)
    for seed in range(25):
        window.normalized(raw(seed), 1.0)
    dull = window.normalized(raw(99, scale=0.01), 1.0)
    assert np.abs(dull).max() < 0.2
    assert np.abs(normalize_reward(raw(99, scale=0.01), 1.0)).max() > 1.5  # alone it would be scaled up


def test_the_whole_window_has_the_requested_deviation() -> None:
    window = RunningWindow(2)
    parts = [window.normalized(raw(seed), 0.05) for seed in range(300)]
    assert window.raw.shape == (2, WINDOW_STEPS)
    assert np.concatenate(parts[-50:]).std() == pytest.approx(0.05, rel=0.1)
    assert np.concatenate(parts[-50:]).mean() == pytest.approx(0, abs=0.005)


def test_another_snapshot_starts_a_new_window() -> None:
    window = RunningWindow(2)
    window.normalized(raw(0), 1.0)
    window.forget()
    assert np.array_equal(window.normalized(raw(1), 1.0), normalize_reward(raw(1), 1.0))
