"""The preference model and its loss: pure functions of tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def preference_probability(left: Tensor, right: Tensor, error_rate: float) -> Tensor:
    """P[left is preferred], from summed rewards of any one shape (equation 1 with the 10% of 2.2.3).

    The labeller answers at random with probability error_rate, so P never leaves [error_rate/2, 1 - error_rate/2].
    """
    return (1 - error_rate) * torch.sigmoid(left - right) + error_rate / 2


def cross_entropy(left: Tensor, right: Tensor, mu: Tensor, error_rate: float) -> Tensor:
    """Loss of each preference: left, right (...) summed rewards, mu (...) the labeller's weight on left."""
    if error_rate < 1e-3:  # P or 1 - P may round to 0, whose logarithm is infinite
        preferred, other = _log_probability(left - right, error_rate), _log_probability(right - left, error_rate)
        return -(mu * preferred + (1 - mu) * other)
    probability = preference_probability(left, right, error_rate)
    return -(mu * torch.log(probability) + (1 - mu) * torch.log1p(-probability))


def _log_probability(difference: Tensor, error_rate: float) -> Tensor:
    """log P, whatever the difference of the summed rewards."""
    meant = torch.nn.functional.logsigmoid(difference) + math.log1p(-error_rate)
    guessed = math.log(error_rate / 2) if error_rate else -math.inf
    return torch.logaddexp(meant, torch.full_like(meant, guessed))


def squared_error(left: Tensor, right: Tensor, returns: Tensor) -> Tensor:
    """Loss of each preference in the target ablation (3.3), the mean over both segments.

    left, right (...) summed rewards; returns (..., 2) true ones of left and right.
    """
    return ((left - returns[..., 0]).square() + (right - returns[..., 1]).square()) / 2


def next_l2(l2: Tensor, validation: Tensor, training: Tensor, low: float, high: float, rate: float) -> Tensor:
    """Weight decay of the next epoch: up while validation/training loss is above the band, down while below it.

    A ratio that is nan (nothing held out yet) leaves it as it is, and so does a weight decay of 0, which means none.
    """
    ratio = validation / training
    factor = torch.ones_like(l2)
    factor[ratio > high] = rate
    factor[ratio < low] = 1 / rate
    return torch.where(l2 > 0, (l2 * factor).clamp(1e-8, 10), l2)
