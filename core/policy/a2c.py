"""Advantage actor-critic (Mnih et al. 2016, in synchronous form): the paper's optimizer for Atari (A.2).

One gradient step on each small batch. The paper says Adam, with numbers (alpha = .99, epsilon = 1e-5) that are those
of RMSprop; it is RMSprop here, as in Mnih et al.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from core.nn.optimizers import RMSprop
from core.policy.on_policy import OnPolicyOptimizer, TrainingBatch, UpdateReport


class A2C(OnPolicyOptimizer):
    """With gae_lambda 1, the advantages are n-step returns above the value, n being the steps of a batch.

    A batch that the present policy did not gather (config.policy.lag) is weighted by the ratio of probabilities;
    otherwise that ratio is 1, and its gradient the policy's.
    """

    values_join = True

    optimizer: RMSprop

    def _make_optimizer(self) -> RMSprop:
        config = self._config
        weights = [self.network.weights]
        return RMSprop(weights, lr=config.learning_rate, alpha=config.rms_decay, eps=config.rms_epsilon)

    def _move(self) -> None:
        self.optimizer.take_step()

    def _improve(self, batch: TrainingBatch) -> Iterator[UpdateReport]:
        network = self.network
        parameters = batch.parameters or network.distribution(batch.inputs)
        change = network.log_probs(parameters, batch.actions) - batch.log_probs
        ratio = change.exp()
        entropy = network.entropy(parameters)
        value_loss = 0.5 * (batch.values - batch.returns).square().mean()
        self._descend(value_loss - (ratio * batch.advantages).mean() - self._config.entropy_bonus * entropy)
        with torch.no_grad():
            kl = (ratio - 1 - change).mean()
        yield UpdateReport(float(kl), float(entropy.detach()), float(value_loss.detach()))
