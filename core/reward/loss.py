"""The preference model, its loss and the adaptation of the weight decay, as pure functions of tensors."""

import math

import torch
from torch import Tensor


def preference_probability(left: Tensor, right: Tensor, error_rate: float) -> Tensor:
    """P[left is preferred] from predicted returns of one shape (equation 1 with the 10% of 2.2.3).

    With probability error_rate the labeller answers at random, so P is within [error_rate/2, 1 - error_rate/2].
    """
    return (1 - error_rate) * torch.sigmoid(left - right) + error_rate / 2


def cross_entropy(left: Tensor, right: Tensor, mu: Tensor, error_rate: float) -> Tensor:
    """Loss of each preference (...), from predicted returns left, right (...) and the choice's weight on left, mu (...).

    mu is 1 for left, 0 for right and .5 for a tie.
    """
    if error_rate < 1e-3:  # P or 1 - P could round to 0, with an infinite logarithm
        preferred, other = _log_probability(left - right, error_rate), _log_probability(right - left, error_rate)
        return -(mu * preferred + (1 - mu) * other)
    probability = preference_probability(left, right, error_rate)
    return -(mu * torch.log(probability) + (1 - mu) * torch.log1p(-probability))


def _log_probability(difference: Tensor, error_rate: float) -> Tensor:
    """Logarithm of P for any difference of predicted returns (...), without underflow."""
    meant = torch.nn.functional.logsigmoid(difference) + math.log1p(-error_rate)
    guessed = math.log(error_rate / 2) if error_rate else -math.inf
    return torch.logaddexp(meant, torch.full_like(meant, guessed))


def squared_error(left: Tensor, right: Tensor, returns: Tensor) -> Tensor:
    """Loss of each preference (...) in the target ablation (3.3): mean over both segments.

    left, right (...): predicted returns; returns (..., 2): true returns of left and right
    """
    return ((left - returns[..., 0]).square() + (right - returns[..., 1]).square()) / 2


def sparsity_gradient(weights: Tensor, penalty: float) -> Tensor:
    """Gradient of `penalty` times the norm of the weights of each input, for a first layer (M, inputs, hidden).

    However much an input weighs, its pull towards 0 is the same, so that a predictor uses the few inputs on which the
    answers depend: the group lasso (Yuan and Lin, Model selection and estimation in regression with grouped variables,
    2006).
    """
    return penalty * weights / weights.norm(dim=2, keepdim=True).clamp(min=1e-6)


def next_l2(l2: Tensor, validation: Tensor, training: Tensor, low: float, high: float, rate: float) -> Tensor:
    """Weight decay (M,) for the next epoch, from each member's validation and training losses (M,) (2.2.3).

    It is multiplied by `rate` if their ratio is above `high`, and divided by it if the ratio is below `low`. It stays
    as it is for a ratio of nan (nothing held out yet), and at 0, which means no weight decay.
    """
    ratio = validation / training
    factor = torch.ones_like(l2)
    factor[ratio > high] = rate
    factor[ratio < low] = 1 / rate
    return torch.where((l2 > 0) & (factor != 1), (l2 * factor).clamp(1e-8, 10), l2)
