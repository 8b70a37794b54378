"""Generalized advantages (paper A.1), and PPO's clipping, early end and lag."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.policy.gae import advantages, after_each_step
from core.policy.ppo import clipped_objective
from tests.core.policy_toys import improve, one_step, optimizer


def column(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)[:, None]


def test_the_sum_stops_at_an_episodes_end_and_includes_its_value() -> None:
    ends = np.array([[False], [False], [True], [False]])
    result = advantages(column(1, 2, 2, 3), column(10, 20, 20, 30), column(20, 30, 100, 40), ends, 0.5, 0.5)
    # deltas 1 + 10 - 10, 2 + 15 - 20, 2 + 50 - 20 and 3 + 20 - 30, carried back by 1/4; a time limit is no failure,
    # so the 100 that followed count
    assert result[:, 0].tolist() == [1 - 3 / 4 + 32 / 16, -3 + 32 / 4, 32, -7]


def test_the_following_value_is_the_next_row_or_the_one_before_the_reset() -> None:
    values = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    ends = np.array([[False, True], [True, False], [False, True]])
    result = after_each_step(values, np.array([7, 8], np.float32), ends, np.array([20, 10, 60], np.float32))
    assert result.tolist() == [[3, 20], [10, 6], [7, 60]]


def test_the_clipped_objective_matches_the_paper() -> None:
    """Beyond the clip only gradients that bring an action back count (Schulman et al. 2017, eq. 7)."""
    log_ratio, gains = torch.linspace(-0.6, 0.6, 24).requires_grad_(), torch.tensor([1.0, -2.0, 0.5]).repeat(8)
    ratio = log_ratio.exp()
    objective, kl = clipped_objective(log_ratio, gains, 0.2)
    plain = torch.minimum(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
    assert torch.allclose(objective, plain)
    gradients = [torch.autograd.grad(value, log_ratio, retain_graph=True)[0] for value in (objective, plain)]
    assert torch.allclose(*gradients) and (gradients[0] == 0).any() and gradients[0].any()
    assert torch.allclose(kl, (ratio - 1 - log_ratio).mean())


def test_a_ratio_that_overflows_is_clipped_and_nan_is_not_hidden() -> None:
    log_ratio = torch.tensor([100.0, 0.0, torch.nan]).requires_grad_()
    objective, _ = clipped_objective(log_ratio, torch.ones(3), 0.2)
    (gradient,) = torch.autograd.grad(objective, log_ratio)
    assert gradient[:2].tolist() == pytest.approx([0, 1 / 3]) and gradient[2].isnan()


def test_the_passes_end_when_the_policy_has_moved_far() -> None:
    made = optimizer("ppo", epochs=4)
    assert improve(made, one_step(made.network, 0)) == 4
    made = optimizer("ppo", epochs=50, target_kl=1e-2, learning_rate=0.003)
    batch = one_step(made.network, 0)
    inputs = made.network.normalize(torch.as_tensor(batch.observations[0]))
    with torch.no_grad():
        old = tuple(p.clone() for p in made.network.distribution(inputs))
    moved = []
    for _ in made.update(batch):
        with torch.no_grad():
            moved.append(float(made.network.kl(old, made.network.distribution(inputs))))
    assert 2 < len(moved) < 50
    assert max(moved[:-2]) < 1e-2 < moved[-1]  # the last pass is the first whose mean is above the limit


def test_steps_of_an_earlier_policy_are_weighted_by_the_ratio_of_probabilities() -> None:
    ppo = optimizer("ppo", lag=1)
    old = one_step(ppo.network, 1)
    improve(ppo, one_step(ppo.network, 0))
    with torch.no_grad():
        batch = ppo.prepare(old)
        log_probs = ppo.network.log_probs(ppo.network.distribution(batch.inputs), batch.actions)
    reweighted = ppo.reweight(batch)
    ratio = np.exp((log_probs - batch.log_probs).numpy())
    assert ratio.max() > 1.05 and ratio.min() < 0.95
    assert reweighted.log_probs.numpy() == pytest.approx(log_probs.numpy())
    assert reweighted.advantages.numpy() == pytest.approx(batch.advantages.numpy() * ratio.clip(max=2), rel=1e-5)
