"""Proximal policy optimisation (Schulman et al. 2017): the optimiser for interactive use.

The paper used TRPO; PPO reaches the same in less wall time, and works on a reward that changes for the same reason:
each update stays near the policy that gathered the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import PolicyConfig
from core.errors import NotFiniteError
from core.events import BatchCollected
from core.networks import GaussianActorCritic, Moments
from core.optimisers import load_optimiser, optimiser_arrays
from core.policy.advantages import advantages, following_values


@dataclass(frozen=True)
class UpdateReport:
    """What one epoch of an update did."""

    kl: float
    entropy: float
    value_loss: float


class PPO:
    """A policy and its optimiser."""

    def __init__(self, network: GaussianActorCritic, config: PolicyConfig, rng: np.random.Generator) -> None:
        self.network = network
        self._config = config
        self._rng = rng
        self._moments = Moments(network.mean.shape[0])
        for parameter in network.parameters:
            parameter.requires_grad_(True)
        self.optimiser = torch.optim.Adam(network.parameters, lr=config.learning_rate, eps=1e-5, fused=True)

    def observe(self, observations: np.ndarray) -> None:
        """Lets the input normalisation follow what the policy sees."""
        self._moments.update(observations)
        self.network.mean = torch.as_tensor(self._moments.mean, dtype=torch.float32, device=self.network.device)
        self.network.std = torch.as_tensor(self._moments.std, dtype=torch.float32, device=self.network.device)

    def update(self, batch: BatchCollected) -> Iterator[UpdateReport]:
        """Improves the policy on one batch, yielding after each epoch; the caller may stop between them."""
        if not np.isfinite(batch.rewards).all():
            raise NotFiniteError("policy", "the reward")
        inputs, actions, old, advantage, returns = self._prepare(batch)
        for _ in range(self._config.epochs):
            order = torch.as_tensor(self._rng.permutation(len(inputs)))
            sums = np.zeros(2)
            parts = order.split(self._config.minibatch)
            for part in parts:
                sums += self._step(inputs[part], actions[part], old[part], advantage[part], returns[part])
            kl, value_loss = sums / len(parts)
            yield UpdateReport(float(kl), float(self.network.entropy().detach()), float(value_loss))
            if kl > self._config.target_kl:
                return

    @torch.no_grad()
    def _prepare(self, batch: BatchCollected) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Flat inputs, actions, old log probabilities, normalised advantages and value targets."""
        steps, count, size = batch.observations.shape
        stacked = np.concatenate(
            [batch.observations.reshape(-1, size), batch.last_observations, batch.end_observations]
        )
        inputs = self.network.normalise(torch.as_tensor(stacked, device=self.network.device))
        values = self.network.values(inputs).cpu().numpy()
        now, last, end = np.split(values, [steps * count, steps * count + count])
        now = now.reshape(steps, count)
        following = following_values(now, last, batch.ends, end)
        scaled = batch.rewards * (1 - self._config.discount)  # so that values stay near 1 whatever the discount
        gains = advantages(scaled, now, following, batch.ends, self._config.discount, self._config.gae_lambda)
        returns = torch.as_tensor(gains + now).reshape(-1)
        advantage = (gains - gains.mean()) / (gains.std() + 1e-8)
        actions = torch.as_tensor(batch.actions.reshape(steps * count, -1))
        old = torch.as_tensor(batch.log_probs).reshape(-1)
        device = self.network.device
        flat = (inputs[: steps * count], actions, old, torch.as_tensor(advantage).reshape(-1), returns)
        return tuple(t.to(device) for t in flat)  # type: ignore[return-value]

    def _step(
        self, inputs: Tensor, actions: Tensor, old: Tensor, advantage: Tensor, returns: Tensor
    ) -> tuple[float, float]:
        """One gradient step; returns the approximate KL divergence and the value loss."""
        network, config = self.network, self._config
        change = network.log_probs(network.means(inputs), actions) - old
        ratio = change.exp()
        bounded = ratio.clamp(1 - config.clip, 1 + config.clip)
        gain = torch.minimum(ratio * advantage, bounded * advantage).mean()
        value_loss = 0.5 * (network.values(inputs) - returns).square().mean()
        loss = value_loss - gain - config.entropy_bonus * network.entropy()
        self.optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(network.parameters, config.max_gradient)
        if not torch.isfinite(norm):
            raise NotFiniteError("policy", "the gradient")
        self.optimiser.step()
        with torch.no_grad():
            kl = float((ratio - 1 - change).mean())
        return kl, float(value_loss.detach())

    def get_state(self) -> dict[str, Any]:
        return {**self.network.to_arrays(), "moments": self._moments.to_array(), **optimiser_arrays(self.optimiser)}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self.network.load_arrays(arrays)
        self._moments.load_array(arrays["moments"])
        load_optimiser(self.optimiser, arrays)
