"""Proximal policy optimization (Schulman et al. 2017): the default optimizer for robots.

The paper used TRPO. PPO learns as well in less wall-clock time, and suits a changing reward for the same reason: each
update stays near the policy that it started from.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from core.nn.minibatches import minibatches
from core.nn.optimizers import Adam
from core.nn.threads import Both, two_threads
from core.policy.on_policy import OnPolicyOptimizer, TrainingBatch, flat
from core.policy.policy_network import Distribution

_MAX_WEIGHT = 2.0
"""Largest weight of a step taken by an earlier policy, so that rare steps do not dominate a batch."""
_MAX_LOG_RATIO = 80.0
"""Largest logarithm of a ratio. An overflow to infinity (from 88 on) would make the gradient NaN even if clipped."""


class PPO(OnPolicyOptimizer):
    """Several passes of minibatch gradient steps on the clipped objective; yields after each pass."""

    def _make_optimizer(self) -> Adam:
        return Adam([self.network.weights], self.config.learning_rate, epsilon=1e-5)

    def _improve(self, batch: TrainingBatch) -> Iterator[None]:
        if self.config.lag:
            batch = self.reweight(batch)
        with two_threads() as both:
            for _ in range(self.config.epochs):
                order = torch.as_tensor(self._rng.permutation(len(batch.inputs)), device=batch.inputs.device)
                parts = minibatches(len(order), self.config.minibatch)
                kl = np.mean([self.gradient_step(batch.rows(order[part]), both) for part in parts])
                yield
                if kl > self.config.target_kl:
                    return

    @torch.no_grad()
    def reweight(self, batch: TrainingBatch) -> TrainingBatch:
        """Treat a batch of an earlier policy as one of the current policy, by importance weights on its advantages.

        Clipping limits how far this update moves the current policy. If it were measured from the earlier policy, the
        update in between would use up the limit (a Hopper then learned 20% less). Actions that the current policy takes
        more often count more (Hilton et al., Batch size-invariance for policy optimization, 2022).
        """
        log_probs = self.network.log_probs(self.network.distribution(batch.inputs), batch.actions)
        weights = (log_probs - batch.log_probs).exp().clamp(max=_MAX_WEIGHT)
        return replace(batch, log_probs=log_probs, advantages=batch.advantages * weights)

    def gradient_step(self, batch: TrainingBatch, both: Both) -> float:
        """Take one gradient step on a minibatch. Returns the approximate KL divergence from the policy before the update.

        The gradients of two halves of the rows are computed in two threads.
        """
        halves = torch.arange(len(batch.inputs), device=batch.inputs.device).tensor_split(2)
        (first, first_kl), (second, second_kl) = both(
            lambda: self._gradient_of_half(batch.rows(halves[0]), len(batch.inputs)),
            lambda: self._gradient_of_half(batch.rows(halves[1]), len(batch.inputs)),
        )
        torch.add(first, second, out=self._gradient)
        self._take_step()
        return first_kl + second_kl

    def _gradient_of_half(self, half: TrainingBatch, count: int) -> tuple[Tensor, float]:
        """Return the gradient (P,) and approximate KL of some rows of a minibatch, weighted by their share of its rows.

        count: number of rows of the minibatch
        """
        if not len(half.inputs):
            return torch.zeros_like(self._gradient), 0.0
        share = len(half.inputs) / count
        distribution, values = self.network.evaluate(half.inputs)
        policy_loss, kl = self._policy_loss(half, distribution)
        loss = (policy_loss + value_loss(values, half.returns)) * share
        return flat(torch.autograd.grad(loss, self.network.parameter_views)), kl * share

    def _policy_loss(self, batch: TrainingBatch, distribution: Distribution) -> tuple[Tensor, float]:
        """Return the policy loss, a scalar of clipped objective and entropy bonus, and the approximate KL."""
        network, config = self.network, self.config
        log_ratio = network.log_probs(distribution, batch.actions) - batch.log_probs
        assert log_ratio.shape == batch.advantages.shape == (len(batch.inputs),)
        objective, kl = clipped_objective(log_ratio, batch.advantages, config.clip)
        return -objective - config.entropy_bonus * network.entropy(distribution), float(kl)


def value_loss(values: Tensor, returns: Tensor) -> Tensor:
    """Return half the mean squared error of values (B,), a scalar."""
    assert values.shape == returns.shape
    return 0.5 * (values - returns).square().mean()


def clipped_objective(log_ratio: Tensor, advantages: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """Return PPO's objective (equation 7) and the approximate KL divergence (Schulman's k3), as scalars.

    log_ratio (B,): change of each action's log probability in this update; advantages (B,)
    """
    ratio = log_ratio.masked_fill(log_ratio > _MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()  # NaN stays and is detected
    objective = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    return objective, (ratio.detach() - 1 - log_ratio.detach()).mean()
