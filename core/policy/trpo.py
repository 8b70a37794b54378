"""Trust region policy optimisation (Schulman et al. 2015): the paper's optimizer for the robots (2.2.1, A.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from core.errors import NotFiniteError
from core.policy.actor_critic import ActorCritic
from core.policy.on_policy import OnPolicyOptimizer, TrainingBatch, UpdateReport

_SHORTER = 0.8
"""Each length that the line search tries is this times the one before; halving would throw away half a good step."""
_SOLVED = 1e-10
"""A squared residual below which conjugate gradients stop."""


class TRPO(OnPolicyOptimizer):
    """One step of the policy, as far as the trust region and the line search allow, then passes for the value.

    Surrogate and entropy bonus are improved together: the paper adds the bonus because a trust region alone explores
    too little under a changing reward (2.2.1, A.1).
    """

    def _make_optimizer(self) -> torch.optim.Optimizer:
        values = self.network.weights[self.network.policy_size :]
        values.grad = self._gradient[self.network.policy_size :]
        return torch.optim.Adam([values], lr=self._config.learning_rate, eps=1e-5, fused=True)

    def _improve(self, batch: TrainingBatch) -> Iterator[UpdateReport]:
        kl = self._move_policy(batch)
        with torch.no_grad():
            entropy = float(self.network.entropy(self.network.distribution(batch.inputs)))
        yield UpdateReport(kl, entropy, float((batch.values - batch.returns).square().mean()) / 2)
        for _ in range(self._config.epochs):
            order = torch.as_tensor(self._rng.permutation(len(batch.inputs)))
            parts = order.split(self._config.minibatch)
            loss = sum(self._fit_values(batch, part) for part in parts) / len(parts)
            yield UpdateReport(kl, entropy, loss)

    def _fit_values(self, batch: TrainingBatch, part: Tensor) -> float:
        loss = 0.5 * (self.network.values(batch.inputs[part]) - batch.returns[part]).square().mean()
        self._descend(loss)
        return float(loss.detach())

    def _move_policy(self, batch: TrainingBatch) -> float:
        """One natural gradient step; returns how far it moved the policy, 0 where the line search rejected it."""
        network, config = self.network, self._config
        gradient = _flat(torch.autograd.grad(self._objective(batch), network.policy_leaves))
        stride = max(1, round(1 / config.curvature_share))
        fisher = fisher_product(network, batch.inputs[::stride], config.damping)
        direction = conjugate_gradients(fisher, gradient, config.conjugate_steps)
        bent = float(direction @ fisher(direction))
        if not math.isfinite(bent):
            raise NotFiniteError("policy", "the gradient")
        if bent <= 0:
            return 0.0
        return self._search(batch, direction * math.sqrt(2 * config.max_kl / bent))

    def _objective(self, batch: TrainingBatch) -> Tensor:
        """What the policy step is to raise."""
        parameters = self.network.distribution(batch.inputs)
        ratio = (self.network.log_probs(parameters, batch.actions) - batch.log_probs).exp()
        return (ratio * batch.advantages).mean() + self._config.entropy_bonus * self.network.entropy(parameters)

    @torch.no_grad()
    def _search(self, batch: TrainingBatch, step: Tensor) -> float:
        """Takes the longest of the step's shortenings that gains and keeps within the limit, or none at all."""
        network = self.network
        weights = network.weights[: network.policy_size]
        start, old = weights.clone(), tuple(p.clone() for p in network.distribution(batch.inputs))
        before = float(self._objective(batch))
        for shortening in range(self._config.line_search):
            torch.add(start, step, alpha=_SHORTER**shortening, out=weights)
            kl = float(network.kl(old, network.distribution(batch.inputs)))
            if kl <= self._config.max_kl and float(self._objective(batch)) > before:
                self._require_weights()
                return kl
        weights.copy_(start)
        return 0.0


def fisher_product(network: ActorCritic, inputs: Tensor, damping: float) -> Callable[[Tensor], Tensor]:
    """v (P,) -> (F + damping I) v, where F is the Hessian at 0 of the mean KL divergence from the present policy."""
    leaves = network.policy_leaves
    parameters = network.distribution(inputs)
    divergence = network.kl(tuple(p.detach() for p in parameters), parameters)
    slope = _flat(torch.autograd.grad(divergence, leaves, create_graph=True))

    def product(vector: Tensor) -> Tensor:
        return _flat(torch.autograd.grad(slope @ vector, leaves, retain_graph=True)) + damping * vector

    return product


def conjugate_gradients(product: Callable[[Tensor], Tensor], right: Tensor, steps: int) -> Tensor:
    """x with product(x) near `right`, for a product with a positive definite matrix (Hestenes and Stiefel 1952)."""
    solution, residual = torch.zeros_like(right), right.clone()
    direction, squared = right.clone(), float(right @ right)
    for _ in range(steps):
        if squared <= _SOLVED:
            break
        image = product(direction)
        length = squared / float(direction @ image)
        solution.add_(direction, alpha=length)
        residual.sub_(image, alpha=length)
        before, squared = squared, float(residual @ residual)
        direction = residual + (squared / before) * direction
    return solution


def _flat(tensors: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
