"""Proximal policy optimisation (Schulman et al. 2017): the optimiser for interactive use.

The paper used TRPO; PPO reaches the same in less wall time, and works on a reward that changes for the same reason:
each update stays near the policy that gathered the data.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from core.policy.base import OnPolicyOptimiser, Prepared, UpdateReport


class PPO(OnPolicyOptimiser):
    """Several passes of gradient steps, each bounded by clipping; one report a pass."""

    def _make_optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([self.network.weights], lr=self._config.learning_rate, eps=1e-5, fused=True)

    def _improve(self, batch: Prepared) -> Iterator[UpdateReport]:
        for _ in range(self._config.epochs):
            order = torch.as_tensor(self._rng.permutation(len(batch.inputs)))
            parts = order.split(self._config.minibatch)
            steps = np.array([self._step(batch, part) for part in parts])
            kl, entropy, value_loss = steps.mean(axis=0).tolist()
            yield UpdateReport(kl, entropy, value_loss)
            if kl > self._config.target_kl:
                return

    def _step(self, batch: Prepared, part: Tensor) -> tuple[float, float, float]:
        """One gradient step; returns the approximate KL divergence, the entropy and the value loss."""
        network, config = self.network, self._config
        inputs, advantage = batch.inputs[part], batch.advantages[part]
        parameters, values = network.judged(inputs)
        change = network.log_probs(parameters, batch.actions[part]) - batch.log_probs[part]
        ratio = change.exp()
        bounded = ratio.clamp(1 - config.clip, 1 + config.clip)
        gain = torch.minimum(ratio * advantage, bounded * advantage).mean()
        value_loss = 0.5 * (values - batch.returns[part]).square().mean()
        entropy = network.entropy(parameters)
        self._descend(value_loss - gain - config.entropy_bonus * entropy)
        with torch.no_grad():
            kl = (ratio - 1 - change).mean()
        return float(kl), float(entropy.detach()), float(value_loss.detach())
