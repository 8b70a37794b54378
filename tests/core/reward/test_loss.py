"""The preference model and its loss (paper 2.2.3)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from core.reward.loss import cross_entropy, next_l2, preference_probability, sparsity_gradient, squared_error


def probability(difference: float, error_rate: float = 0.1) -> float:
    left = torch.tensor([difference], dtype=torch.float64)
    return float(preference_probability(left, torch.zeros_like(left), error_rate))


def loss_and_slope(difference: float, mu: float, error_rate: float = 0.1) -> tuple[float, float]:
    left = torch.tensor([difference], requires_grad=True)
    loss = cross_entropy(left, torch.zeros(1), torch.tensor([mu]), error_rate)
    (slope,) = torch.autograd.grad(loss.sum(), left)
    return float(loss.detach()), float(slope)


@pytest.mark.parametrize(
    ("difference", "expected"),
    [(0.0, 0.5), (1.0, 0.70795), (-1.0, 0.29205), (100.0, 0.95), (-100.0, 0.05), (1e30, 0.95)],
)
def test_one_answer_in_ten_is_assumed_to_be_a_guess(difference: float, expected: float) -> None:
    assert probability(difference) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(("mu", "expected"), [(1.0, -math.log(0.70795)), (0.0, -math.log(0.29205))])
def test_the_loss_is_the_cross_entropy_of_the_choice(mu: float, expected: float) -> None:
    assert loss_and_slope(1.0, mu)[0] == pytest.approx(expected, abs=1e-4)


def test_the_gradient_vanishes_if_the_model_is_certainly_wrong() -> None:
    _, mildly_wrong = loss_and_slope(2.0, mu=0.0)
    wrong_loss, surely_wrong = loss_and_slope(40.0, mu=0.0)
    assert mildly_wrong > 0.3
    assert surely_wrong == pytest.approx(0.0, abs=1e-6)
    assert wrong_loss == pytest.approx(-math.log(0.05), abs=1e-3)


def test_without_errors_the_gradient_never_vanishes_and_nothing_overflows() -> None:
    for difference in (40.0, 1e4, 1e30):
        loss, slope = loss_and_slope(difference, mu=0.0, error_rate=0.0)
        assert loss == pytest.approx(difference)
        assert slope == pytest.approx(1.0)


@pytest.mark.parametrize("error_rate", [0.0, 0.1, 1e-9])
@pytest.mark.parametrize("difference", [-1e30, -1e4, 0.0, 1e4, 1e30])
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
def test_loss_and_gradient_are_finite_however_far_apart(error_rate: float, difference: float, mu: float) -> None:
    loss, slope = loss_and_slope(difference, mu, error_rate)
    assert math.isfinite(loss) and math.isfinite(slope)


def test_a_tie_pulls_both_sides_together() -> None:
    assert loss_and_slope(0.0, mu=0.5) == (pytest.approx(math.log(2)), pytest.approx(0.0, abs=1e-7))
    assert loss_and_slope(1.0, mu=0.5)[1] > 0.05
    assert loss_and_slope(-1.0, mu=0.5)[1] < -0.05


def adapted(ratio: float, start: float = 1e-3) -> float:
    l2: Tensor = next_l2(torch.tensor([start]), torch.tensor([ratio]), torch.ones(1), 1.1, 1.5, 1.25)
    return float(l2)


@pytest.mark.parametrize(
    ("ratio", "factor"),
    [(1.6, 1.25), (math.inf, 1.25), (1.5, 1.0), (1.3, 1.0), (1.1, 1.0), (1.0, 0.8), (0.2, 0.8), (math.nan, 1.0)],
)
def test_weight_decay_goes_up_when_overfitting_and_down_when_underfitting(ratio: float, factor: float) -> None:
    assert adapted(ratio) == pytest.approx(1e-3 * factor)


def test_weight_decay_that_does_not_change_may_be_of_any_size() -> None:
    for start in (1e-9, 20.0):
        kept = next_l2(torch.tensor([start]), torch.tensor([2.0]), torch.ones(1), 1.1, 1.5, 1.0)
        assert float(kept) == pytest.approx(start)


def test_the_target_loss_is_the_mean_squared_error_of_both_returns() -> None:
    left, right = torch.tensor([1.0, 2.0]), torch.tensor([0.0, -1.0])
    returns = torch.tensor([[1.0, 3.0], [0.0, -1.0]])
    assert squared_error(left, right, returns).tolist() == [4.5, 2.0]


def test_weight_decay_stays_above_zero() -> None:
    l2 = torch.tensor([1e-3])
    for _ in range(200):
        l2 = next_l2(l2, torch.zeros(1), torch.ones(1), 1.1, 1.5, 2.0)
    assert float(l2) > 0


def test_each_input_is_pulled_towards_zero_alike_whatever_its_weight() -> None:
    weights = torch.tensor([[[3.0, 4.0], [0.03, 0.04], [0.0, 0.0]]], requires_grad=True)  # one member, three inputs
    (expected,) = torch.autograd.grad(0.5 * weights.norm(dim=2).sum(), weights)
    assert sparsity_gradient(weights.detach(), 0.5).numpy() == pytest.approx(expected.numpy())
    assert expected.numpy() == pytest.approx(np.array([[[0.3, 0.4], [0.3, 0.4], [0.0, 0.0]]]))
