"""Actor-critic networks: action distributions and values of observations, for continuous and discrete actions.

A discrete action is a one-hot row of float32 throughout the program; the environment takes its argmax.
"""

import math
from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor

from core.config import PolicyConfig
from core.nn.stacked_mlp import CPU
from core.policy.policy_network import Distribution, PolicyNetwork


class ActorCritic(PolicyNetwork):
    """A policy network with a value function, which is its own or shares layers with the policy.

    value_parameters: views like policy_parameters. Parameters that policy and value share count as the policy's.
    """

    def __init__(self, observation_size: int, policy: list[Tensor], value: list[Tensor], device: torch.device) -> None:
        """observation_size: length of `mean` and `std`; policy, value: initial parameters."""
        super().__init__(observation_size, policy, device, value)
        self.value_parameters = self.parameter_views[len(policy) :]
        self.policy_size = sum(tensor.numel() for tensor in policy)

    def values(self, normalized: Tensor) -> Tensor:
        """Return the values (B,) of normalized observations (B, o)."""
        return _tanh_network(normalized, self.value_parameters).squeeze(-1)

    def evaluate(self, normalized: Tensor) -> tuple[Distribution, Tensor]:
        """Return the distributions and values (B,) of normalized observations (B, o); shared layers are computed once."""
        return self.distribution(normalized), self.values(normalized)

    @torch.no_grad()
    def rescale_values(self, factor: float, offset: float) -> None:
        """Change the value function's last layer so that each value becomes factor * value + offset."""
        weight, bias = self.value_parameters[-2:]
        weight.mul_(factor)
        bias.mul_(factor).add_(offset)

    @abstractmethod
    def log_probs(self, distribution: Distribution, actions: Tensor) -> Tensor:
        """Return the log probabilities, or log densities, (B,) of actions (B, a)."""

    @abstractmethod
    def entropy(self, distribution: Distribution) -> Tensor:
        """Return the mean entropy over the rows, a scalar, in nats."""

    @abstractmethod
    def kl(self, old: Distribution, new: Distribution) -> Tensor:
        """Return the mean over the rows of the divergence KL(old || new), a scalar, in nats."""


class GaussianActorCritic(ActorCritic):
    """Continuous actions: independent Gaussians, with standard deviations that do not depend on the observation.

    Distribution: means (B, a), logarithms of the standard deviations (a,)
    """

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        hidden: int,
        initial_std: float,
        generator: torch.Generator,
        device: torch.device = CPU,
    ) -> None:
        log_std = torch.full((action_size,), math.log(initial_std))
        policy, value = _tanh_networks(observation_size, action_size, hidden, generator)
        super().__init__(observation_size, [*policy, log_std], value, device)
        self.log_normalizer = 0.5 * math.log(2 * math.pi) * action_size
        """Constant term of the negative log density."""

    def distribution(self, normalized: Tensor) -> Distribution:
        *layers, log_std = self.policy_parameters
        return _tanh_network(normalized, layers), log_std

    def log_probs(self, distribution: Distribution, actions: Tensor) -> Tensor:
        means, log_std = distribution
        deviations = (actions - means) * torch.exp(-log_std)
        return -0.5 * deviations.square().sum(-1) - (log_std.sum() + self.log_normalizer)

    def entropy(self, distribution: Distribution) -> Tensor:
        _, log_std = distribution
        return log_std.sum() + self.log_normalizer + 0.5 * log_std.numel()

    def kl(self, old: Distribution, new: Distribution) -> Tensor:
        (old_means, old_log_std), (new_means, new_log_std) = old, new
        squared_distance = ((old_means - new_means) * torch.exp(-new_log_std)).square().sum(-1).mean()
        variance_ratio = torch.exp(2 * (old_log_std - new_log_std))
        return (new_log_std - old_log_std + 0.5 * (variance_ratio - 1)).sum() + 0.5 * squared_distance

    def sample(self, distribution: Distribution, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        means, log_std = distribution
        if rng is None:
            return means, self.log_probs(distribution, means)
        drawn = rng.standard_normal(tuple(means.shape), np.float32)
        noise = torch.as_tensor(drawn, device=self.device)
        squares = torch.as_tensor(np.einsum("ba,ba->b", drawn, drawn), device=self.device)  # a tenth of torch's time
        log_density = squares.mul_(-0.5).sub_(log_std.sum() + self.log_normalizer)
        return torch.addcmul(means, log_std.exp(), noise), log_density


class Categorical(ActorCritic):
    """Discrete actions as one-hot rows, for any network. Distribution: log probabilities (B, a)."""

    def log_probs(self, distribution: Distribution, actions: Tensor) -> Tensor:
        return (distribution[0] * actions).sum(-1)

    def entropy(self, distribution: Distribution) -> Tensor:
        (logs,) = distribution
        return -(logs.exp() * logs).sum(-1).mean()

    def kl(self, old: Distribution, new: Distribution) -> Tensor:
        return (old[0].exp() * (old[0] - new[0])).sum(-1).mean()

    def sample(self, distribution: Distribution, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        (logs,) = distribution
        scores = logs
        if rng is not None:  # Gumbel-max trick: the largest of log probabilities plus Gumbel noise is a sample
            scores = logs + torch.as_tensor(rng.gumbel(size=tuple(logs.shape)), device=self.device)
        best = scores.argmax(-1, keepdim=True)
        return torch.zeros_like(logs).scatter_(-1, best, 1.0), logs.gather(-1, best).squeeze(-1)


class CategoricalActorCritic(Categorical):
    """Discrete actions from vector observations, by two separate tanh networks."""

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        hidden: int,
        generator: torch.Generator,
        device: torch.device = CPU,
    ) -> None:
        policy, value = _tanh_networks(observation_size, action_size, hidden, generator)
        super().__init__(observation_size, policy, value, device)

    def distribution(self, normalized: Tensor) -> Distribution:
        return (torch.log_softmax(_tanh_network(normalized, self.policy_parameters), dim=-1),)


def actor_critic(
    observation_size: int,
    action_size: int,
    discrete: bool,
    config: PolicyConfig,
    generator: torch.Generator,
    device: torch.device = CPU,
) -> ActorCritic:
    """Return the untrained network for vector observations and this kind of actions. action_size: width of an action row"""
    if discrete:
        return CategoricalActorCritic(observation_size, action_size, config.hidden, generator, device)
    return GaussianActorCritic(observation_size, action_size, config.hidden, config.initial_std, generator, device)


def linear(inputs: int, outputs: int, gain: float, generator: torch.Generator) -> list[Tensor]:
    """Return an orthogonal weight (inputs, outputs) and a bias (outputs,) of zeros."""
    weight = torch.nn.init.orthogonal_(torch.empty(outputs, inputs), gain, generator=generator)
    return [weight.t().contiguous(), torch.zeros(outputs)]


def three_layers(inputs: int, hidden: int, outputs: int, gain: float, generator: torch.Generator) -> list[Tensor]:
    """Return two hidden layers and the last one, whose gain is given, as alternating weights and biases."""
    hidden_gain = math.sqrt(2)
    first = linear(inputs, hidden, hidden_gain, generator)
    return [*first, *linear(hidden, hidden, hidden_gain, generator), *linear(hidden, outputs, gain, generator)]


def _tanh_networks(
    inputs: int, outputs: int, hidden: int, generator: torch.Generator
) -> tuple[list[Tensor], list[Tensor]]:
    """Return three layers for the policy and three for the value function, as in PPO's reference implementation."""
    policy, value = (three_layers(inputs, hidden, *last, generator) for last in ((outputs, 0.01), (1, 1.0)))
    return policy, value


def _tanh_network(x: Tensor, layers: list[Tensor]) -> Tensor:
    """Map x (B, inputs) to outputs (B, outputs), with tanh after each layer but the last.

    layers: alternating weights and biases
    """
    for i in range(0, len(layers) - 2, 2):
        x = torch.tanh(torch.addmm(layers[i + 1], x, layers[i]))
    weight, bias = layers[-2:]
    if weight.shape[1] == 1:
        return torch.addmm(bias, x, weight)
    # For 2 to 8 outputs, the product with a contiguous transposed weight, and its gradient, is 4x faster on the CPU.
    return torch.nn.functional.linear(x, weight.t().contiguous(), bias)
