"""The preference model, its loss and the adaptation of the weight decay, as pure functions of tensors."""

import math

import torch
from torch import Tensor


def preference_probability(left: Tensor, right: Tensor, error_rate: float) -> Tensor:
    """Return P[left is preferred] from predicted returns of the same shape (equation 1 with the 10% of 2.2.3).

    With probability error_rate the labeller answers at random, so P is in [error_rate/2, 1 - error_rate/2].
    """
    return (1 - error_rate) * torch.sigmoid(left - right) + error_rate / 2


def cross_entropy(left: Tensor, right: Tensor, mu: Tensor, error_rate: float) -> Tensor:
    """Return the loss of each preference (...).

    left, right: predicted returns (...); mu: (...), the choice's weight on left: 1 for left, 0 for right, .5 for a tie
    """
    if error_rate < 1e-3:  # P or 1 - P could round to 0, with an infinite logarithm
        preferred, other = _log_probability(left - right, error_rate), _log_probability(right - left, error_rate)
        return -(mu * preferred + (1 - mu) * other)
    probability = preference_probability(left, right, error_rate)
    return -(mu * torch.log(probability) + (1 - mu) * torch.log1p(-probability))


def _log_probability(difference: Tensor, error_rate: float) -> Tensor:
    """Return the logarithm of P for differences of predicted returns (...), without underflow."""
    meant = torch.nn.functional.logsigmoid(difference) + math.log1p(-error_rate)
    guessed = math.log(error_rate / 2) if error_rate else -math.inf
    return torch.logaddexp(meant, torch.full_like(meant, guessed))


def squared_error(left: Tensor, right: Tensor, returns: Tensor) -> Tensor:
    """Return the loss of each preference (...) in the target ablation (3.3): the mean over both segments.

    left, right (...): predicted returns; returns (..., 2): true returns of left and right
    """
    return ((left - returns[..., 0]).square() + (right - returns[..., 1]).square()) / 2


def sparsity_gradient(weights: Tensor, penalty: float) -> Tensor:
    """Return the gradient of `penalty` times the sum of the norms of each input's weights.

    The pull towards 0 is the same for large and small weights, so that a predictor uses only the few inputs on which the
    answers depend: the group lasso (Yuan and Lin, Model selection and estimation in regression with grouped variables,
    2006).

    weights: (M, inputs, hidden) of a first layer
    """
    return penalty * weights / weights.norm(dim=2, keepdim=True).clamp(min=1e-6)


def next_l2(l2: Tensor, validation: Tensor, training: Tensor, low: float, high: float, rate: float) -> Tensor:
    """Return the weight decay (M,) for the next epoch, from each member's validation and training losses (M,) (2.2.3).

    It is multiplied by `rate` if the ratio of the losses is above `high`, and divided by `rate` if it is below `low`. It
    is unchanged if the ratio is NaN (nothing held out yet), or if it is 0 (no weight decay).
    """
    ratio = validation / training
    factor = torch.ones_like(l2)
    factor[ratio > high] = rate
    factor[ratio < low] = 1 / rate
    return torch.where((l2 > 0) & (factor != 1), (l2 * factor).clamp(1e-8, 10), l2)
