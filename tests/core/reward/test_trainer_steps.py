"""One gradient step of the reward fit against the same loss written out (paper 2.2.1-2.2.3)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from core.reward.trainer import RewardTrainer
from core.types import Choice, Preference
from tests.core.toy import new_fit, shuffled, toy_preferences, train

ANSWERS = 40
"""Of which no member draws more than go into one minibatch."""


def by_hand(fit: RewardTrainer, answers: list[Preference], l2: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The loss of each member (M,): over all its draws, however often one came; and the gradients with its own L2."""
    counts = torch.as_tensor(fit.resampling.counts, dtype=torch.float32)
    sums = fit._pairs.sums(torch.arange(len(answers)).expand(len(counts), -1), None)
    left = torch.sigmoid(sums[..., 0] - sums[..., 1]) * 0.9 + 0.05
    chosen = torch.where(torch.tensor([p.choice is Choice.LEFT for p in answers]), left, 1 - left)
    losses = (-chosen.log() * counts).sum(1) / len(answers)
    network = fit.ensemble.network
    decay = sum((l2 * weight.square().flatten(1).sum(1)).sum() for weight in network.weights)
    return losses.detach(), torch.autograd.grad(losses.sum() + decay, network.parameters)


def test_a_step_weighs_each_preference_by_its_draws_and_decays_each_member_by_its_own_l2() -> None:
    fit, answers = new_fit(learning_rate=0.0, minibatch=ANSWERS), toy_preferences(0, ANSWERS)
    train(fit, answers, 0)
    l2 = fit.l2 = torch.tensor([0.0, 0.01, 0.3])
    (report,) = train(fit, [], 1)
    assert fit.resampling.counts.max(axis=1).min() >= 2  # else draws could not be told from preferences
    losses, gradients = by_hand(fit, answers, l2)
    assert report.train_loss == pytest.approx(losses.numpy(), rel=1e-5)
    for parameter, gradient in zip(fit.ensemble.network.parameters, gradients, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.numpy() == pytest.approx(gradient.numpy(), abs=1e-6, rel=1e-4)


def test_each_members_l2_follows_its_own_losses() -> None:
    fit = new_fit(l2_rate=1.2)
    train(fit, shuffled(toy_preferences(0, ANSWERS)), 0)
    apart = 0
    for _ in range(15):
        before = fit.l2.numpy().copy()
        (report,) = train(fit, [], 1)
        ratio = report.validation_loss / report.train_loss
        moved = np.where(ratio > 1.5, 1.2, np.where(ratio < 1.1, 1 / 1.2, 1.0))
        assert fit.l2.numpy() == pytest.approx(before * moved, rel=1e-5)
        apart += len(set(moved)) > 1
    assert apart > 0
