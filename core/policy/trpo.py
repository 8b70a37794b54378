"""Trust region policy optimization (Schulman et al. 2015): the paper's optimizer for the robots (2.2.1, A.1)."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from core.errors import NotFiniteError
from core.nn.minibatches import minibatches
from core.nn.optimizers import Adam
from core.policy.actor_critic import ActorCritic
from core.policy.on_policy import OnPolicyOptimizer, TrainingBatch, flat
from core.policy.ppo import value_loss

_BACKTRACK = 0.8
"""Ratio of successive step lengths in the line search; with 0.5, half of a good step could be lost."""
_TOLERANCE = 1e-10
"""Squared residual at which conjugate gradients stop."""


class TRPO(OnPolicyOptimizer):
    """One policy step within a trust region, found by a line search, then passes of gradient steps on the value function.

    The surrogate and the entropy bonus are maximized together: the paper adds the bonus because a trust region alone
    explores too little under a changing reward (2.2.1, A.1).
    """

    def _make_optimizer(self) -> Adam:
        values = self.network.weights[self.network.policy_size :]
        values.grad = self._gradient[self.network.policy_size :]
        return Adam([values], self.config.learning_rate, epsilon=1e-5)

    def _improve(self, batch: TrainingBatch) -> Iterator[None]:
        self._move_policy(batch)
        yield
        for _ in range(self.config.epochs):
            order = torch.as_tensor(self._rng.permutation(len(batch.inputs)))
            for part in minibatches(len(order), self.config.minibatch):
                rows = order[part]
                self.descend(value_loss(self.network.values(batch.inputs[rows]), batch.returns[rows]))
            yield

    def _move_policy(self, batch: TrainingBatch) -> None:
        """Take one natural gradient step, unless the line search rejects it."""
        network, config = self.network, self.config
        gradient = flat(torch.autograd.grad(self._objective(batch), network.policy_parameters))
        stride = max(1, round(1 / config.curvature_share))
        fisher = fisher_product(network, batch.inputs[::stride], config.damping)
        direction = conjugate_gradients(fisher, gradient, config.conjugate_steps)
        curvature = float(direction @ fisher(direction))
        if not math.isfinite(curvature):
            raise NotFiniteError("policy", "the gradient")
        if curvature > 0:
            self._line_search(batch, direction * math.sqrt(2 * config.max_kl / curvature))

    def _objective(self, batch: TrainingBatch) -> Tensor:
        """Return the surrogate advantage plus entropy bonus, a scalar to be maximized."""
        distribution = self.network.distribution(batch.inputs)
        ratio = (self.network.log_probs(distribution, batch.actions) - batch.log_probs).exp()
        assert ratio.shape == batch.advantages.shape
        return (ratio * batch.advantages).mean() + self.config.entropy_bonus * self.network.entropy(distribution)

    @torch.no_grad()
    def _line_search(self, batch: TrainingBatch, step: Tensor) -> None:
        """Take the largest fraction of `step` (policy_size,) that improves the objective within the KL limit, if any."""
        network = self.network
        weights = network.weights[: network.policy_size]
        start, old = weights.clone(), tuple(p.clone() for p in network.distribution(batch.inputs))
        before = float(self._objective(batch))
        for attempt in range(self.config.line_search):
            torch.add(start, step, alpha=_BACKTRACK**attempt, out=weights)
            kl = float(network.kl(old, network.distribution(batch.inputs)))
            if kl <= self.config.max_kl and float(self._objective(batch)) > before:
                self._require_finite_weights()
                return
        weights.copy_(start)


def fisher_product(network: ActorCritic, inputs: Tensor, damping: float) -> Callable[[Tensor], Tensor]:
    """Return the function that maps v (policy_size,) to (F + damping I) v, F the policy's Fisher matrix for inputs (B, o).

    F is the Hessian of the mean KL divergence from the current policy, at that policy.
    """
    parameters = network.policy_parameters
    distribution = network.distribution(inputs)
    divergence = network.kl(tuple(p.detach() for p in distribution), distribution)
    gradient = flat(torch.autograd.grad(divergence, parameters, create_graph=True))

    def product(vector: Tensor) -> Tensor:
        return flat(torch.autograd.grad(gradient @ vector, parameters, retain_graph=True)) + damping * vector

    return product


def conjugate_gradients(product: Callable[[Tensor], Tensor], right: Tensor, steps: int) -> Tensor:
    """Return an approximate solution x (n,) of A x = right (Hestenes and Stiefel 1952).

    product: function v -> A v, for a positive definite matrix A; steps: largest number of iterations
    """
    solution, residual = torch.zeros_like(right), right.clone()
    direction, squared = right.clone(), float(right @ right)
    for _ in range(steps):
        if squared <= _TOLERANCE:
            break
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0:  # too few steps or no damping: along this direction the divergence does not grow
            break
        length = squared / curvature
        solution.add_(direction, alpha=length)
        residual.sub_(image, alpha=length)
        before, squared = squared, float(residual @ residual)
        direction = residual + (squared / before) * direction
    return solution
