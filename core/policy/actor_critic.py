"""Policies with a value function: what acts and what the optimizers improve, whatever the actions are.

A discrete action is a one-hot row of float32 throughout the program; the environment takes its argmax.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.config import PolicyConfig
from core.events import Arrays
from core.nn.stacked_mlp import CPU

Parameters = tuple[Tensor, ...]
"""Of the distributions that B actions are drawn from; what they are is each network's own affair."""
OBSERVATION_LIMIT = 10.0
"""Normalised observations are kept within so many standard deviations."""

_SMALL = 2048
"""Fewer numbers than these torch.tanh has done before numpy is called."""


class ActorCritic(ABC):
    """A distribution of actions and a value for each observation.

    All weights lie in one vector, `weights` (P,), those of the policy before those of the value: to clip, move, compare
    and restore them is one operation each, which is most of the cost of a small update. Observations are normalized
    by `mean` and `std` (o,), which travel with the weights; pictures are not, and those are empty then.
    """

    shares = False
    """Whether distributions and values share work, which `evaluate` then does once."""

    def __init__(
        self, observations: int, actor: list[Tensor], extra: list[Tensor], critic: list[Tensor], device: torch.device
    ) -> None:
        """observations: numbers that `mean` and `std` have; actor, extra and critic: weights as they start."""
        tensors = [*actor, *extra, *critic]
        self.device = device
        self.weights = torch.cat([tensor.reshape(-1) for tensor in tensors]).to(device)
        self.leaves = _views(self.weights, tensors)
        self._actor, self._critic = self.leaves[: len(actor)], self.leaves[-len(critic) :]
        self._extra = self.leaves[len(actor) : -len(critic)]
        self.policy_size = self.weights.numel() - sum(tensor.numel() for tensor in critic)
        self.mean = torch.zeros(observations, device=device)
        self.std = torch.ones(observations, device=device)

    @property
    def policy_leaves(self) -> list[Tensor]:
        return [*self._actor, *self._extra]

    @property
    def value_leaves(self) -> list[Tensor]:
        """Of the value alone; where work is shared, that counts as the policy's."""
        return self._critic

    def train(self) -> Tensor:
        """From now on backward() adds to the vector (P,) that is returned and that is `weights.grad` as well."""
        gradient = torch.zeros_like(self.weights)
        for leaf, part in zip(self.leaves, _views(gradient, self.leaves), strict=True):
            leaf.requires_grad_(True)
            leaf.grad = part
        self.weights.grad = gradient
        return gradient

    @property
    def normalizes(self) -> bool:
        """Whether `mean` and `std` are to follow the observations."""
        return self.mean.numel() > 0

    def normalize(self, observations: Tensor) -> Tensor:
        return (observations - self.mean).div_(self.std).clamp_(-OBSERVATION_LIMIT, OBSERVATION_LIMIT)

    def values(self, normalized: Tensor) -> Tensor:
        """(B, o) -> (B,)."""
        return _tanh_network(normalized, self._critic).squeeze(-1)

    def evaluate(self, normalized: Tensor) -> tuple[Parameters, Tensor]:
        """distribution and values at once, for networks in which they share work (`shares`)."""
        return self.distribution(normalized), self.values(normalized)

    @torch.no_grad()
    def rescale_values(self, factor: float, offset: float) -> None:
        """From now on each value is factor * value + offset, exactly."""
        weight, bias = self._critic[-2:]
        weight.mul_(factor)
        bias.mul_(factor).add_(offset)

    @abstractmethod
    def distribution(self, normalized: Tensor) -> Parameters:
        """(B, o) -> the distributions that the actions are drawn from."""

    @abstractmethod
    def log_probs(self, parameters: Parameters, actions: Tensor) -> Tensor:
        """(B,) log probability, or log density, of the actions (B, a)."""

    @abstractmethod
    def entropy(self, parameters: Parameters) -> Tensor:
        """() Mean over the rows."""

    @abstractmethod
    def action_bound_penalty(self, parameters: Parameters) -> Tensor:
        """() Mean over the rows of the squares by which mean actions go beyond -1 and 1, where there are such limits.

        Far beyond them noise changes nothing that the motors do, so nothing more is learned of what they could do.
        """

    @abstractmethod
    def kl(self, old: Parameters, new: Parameters) -> Tensor:
        """() Mean over the rows of the divergence KL(old || new)."""

    @abstractmethod
    def sample(self, parameters: Parameters, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        """Actions (B, a) and their (B,) log probabilities; the likeliest actions where there is no rng."""

    def to_arrays(self) -> Arrays:
        named = {"weights": self.weights, "mean": self.mean, "std": self.std}
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in named.items()}

    @torch.no_grad()
    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, tensor in (("weights", self.weights), ("mean", self.mean), ("std", self.std)):
            tensor.copy_(torch.as_tensor(arrays[name]))


class GaussianActorCritic(ActorCritic):
    """Continuous actions: independent Gaussians, whose deviations depend on no observation.

    Parameters: means (B, a), logarithms of the deviations (a,).
    """

    def __init__(
        self,
        observations: int,
        actions: int,
        hidden: int,
        initial_std: float,
        generator: torch.Generator,
        device: torch.device = CPU,
    ) -> None:
        log_std = torch.full((actions,), math.log(initial_std))
        actor, critic = _tanh_networks(observations, actions, hidden, generator)
        super().__init__(observations, actor, [log_std], critic, device)
        self.constant = 0.5 * math.log(2 * math.pi) * actions
        """Of the log density: what depends neither on means nor on deviations."""

    @property
    def log_std(self) -> Tensor:
        return self._extra[0]

    def distribution(self, normalized: Tensor) -> Parameters:
        return _tanh_network(normalized, self._actor), self.log_std

    def log_probs(self, parameters: Parameters, actions: Tensor) -> Tensor:
        means, log_std = parameters
        found: Tensor = _LogDensity.apply(means, log_std, actions, self.constant)
        return found

    def entropy(self, parameters: Parameters) -> Tensor:
        _, log_std = parameters
        return log_std.sum() + self.constant + 0.5 * log_std.numel()

    def action_bound_penalty(self, parameters: Parameters) -> Tensor:
        means, _ = parameters
        return (means.abs() - 1).clamp_min(0).square().sum(-1).mean()

    def kl(self, old: Parameters, new: Parameters) -> Tensor:
        (old_means, old_log), (new_means, new_log) = old, new
        apart = ((old_means - new_means) * torch.exp(-new_log)).square().sum(-1).mean()
        spread = torch.exp(2 * (old_log - new_log)) - 1
        return (new_log - old_log + 0.5 * spread).sum() + 0.5 * apart

    def sample(self, parameters: Parameters, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        means, log_std = parameters
        if rng is None:
            return means, self.log_probs(parameters, means)
        drawn = rng.standard_normal(tuple(means.shape), np.float32)
        noise = torch.as_tensor(drawn, device=self.device)
        squares = torch.as_tensor(np.einsum("ba,ba->b", drawn, drawn), device=self.device)  # a tenth of torch's time
        log_density = squares.mul_(-0.5).sub_(log_std.sum() + self.constant)
        return torch.addcmul(means, log_std.exp(), noise), log_density


class Categorical(ActorCritic):
    """Discrete actions, as one-hot rows, whatever the network. Parameters: log probabilities (B, a)."""

    def log_probs(self, parameters: Parameters, actions: Tensor) -> Tensor:
        return (parameters[0] * actions).sum(-1)

    def entropy(self, parameters: Parameters) -> Tensor:
        (logs,) = parameters
        return -(logs.exp() * logs).sum(-1).mean()

    def action_bound_penalty(self, parameters: Parameters) -> Tensor:
        return torch.zeros((), device=self.device)

    def kl(self, old: Parameters, new: Parameters) -> Tensor:
        return (old[0].exp() * (old[0] - new[0])).sum(-1).mean()

    def sample(self, parameters: Parameters, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        (logs,) = parameters
        scores = logs
        if rng is not None:  # the largest of logs plus Gumbel noise is drawn with just these probabilities
            scores = logs + torch.as_tensor(rng.gumbel(size=tuple(logs.shape)), device=self.device)
        best = scores.argmax(-1, keepdim=True)
        return torch.zeros_like(logs).scatter_(-1, best, 1.0), logs.gather(-1, best).squeeze(-1)


class CategoricalActorCritic(Categorical):
    """By separate tanh networks."""

    def __init__(
        self,
        observations: int,
        actions: int,
        hidden: int,
        generator: torch.Generator,
        device: torch.device = CPU,
    ) -> None:
        actor, critic = _tanh_networks(observations, actions, hidden, generator)
        super().__init__(observations, actor, [], critic, device)

    def distribution(self, normalized: Tensor) -> Parameters:
        return (torch.log_softmax(_tanh_network(normalized, self._actor), dim=-1),)


def actor_critic(
    observations: int,
    actions: int,
    discrete: bool,
    config: PolicyConfig,
    generator: torch.Generator,
    device: torch.device = CPU,
) -> ActorCritic:
    """The untrained network for that kind of actions; `actions` is the width of an action's row."""
    if discrete:
        return CategoricalActorCritic(observations, actions, config.hidden, generator, device)
    return GaussianActorCritic(observations, actions, config.hidden, config.initial_std, generator, device)


def _views(vector: Tensor, like: list[Tensor]) -> list[Tensor]:
    """The vector's parts in the shapes of `like`; they share its memory, and autograd takes them for leaves."""
    parts = vector.split([tensor.numel() for tensor in like])
    return [part.view(tensor.shape).detach() for part, tensor in zip(parts, like, strict=True)]


def _tanh_networks(
    observations: int, outputs: int, hidden: int, generator: torch.Generator
) -> tuple[list[Tensor], list[Tensor]]:
    """Of the policy and of the value."""
    actor = _tanh_layers(observations, hidden, outputs, 0.01, generator)
    return actor, _tanh_layers(observations, hidden, 1, 1.0, generator)


def _tanh_layers(inputs: int, hidden: int, outputs: int, last_gain: float, generator: torch.Generator) -> list[Tensor]:
    """Weights and biases in turn; orthogonal, as PPO's reference code has them."""
    tensors: list[Tensor] = []
    for a, b, gain in ((inputs, hidden, math.sqrt(2)), (hidden, hidden, math.sqrt(2)), (hidden, outputs, last_gain)):
        weight = torch.nn.init.orthogonal_(torch.empty(b, a), gain, generator=generator)
        tensors += [weight.t().contiguous(), torch.zeros(b)]
    return tensors


class _LogDensity(torch.autograd.Function):
    """Of independent Gaussians, (B,). Its gradient is written out: by autograd it took as long as a layer of 64."""

    @staticmethod
    def forward(context: Any, means: Tensor, log_std: Tensor, actions: Tensor, constant: float) -> Tensor:
        steep = torch.exp(-log_std)
        apart = (actions - means).mul_(steep)  # in standard deviations
        context.save_for_backward(apart, steep)
        return apart.square().sum(-1).mul_(-0.5).sub_(log_std.sum() + constant)

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        apart, steep = context.saved_tensors
        (gradient,) = gradients
        weighed = apart * gradient[:, None]
        return weighed * steep, (weighed * apart).sum(0) - gradient.sum(), None, None


class _NumpyTanh(torch.autograd.Function):
    """On the CPU numpy takes a tenth of torch's time for it (6 us and 70 us for 512 x 64), as exactly."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        y = torch.from_numpy(np.tanh(x.detach().numpy()))
        context.save_for_backward(y)
        return y

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        (y,) = context.saved_tensors
        return torch.ops.aten.tanh_backward(gradients[0], y)


def _tanh(x: Tensor) -> Tensor:
    if x.device.type != "cpu" or x.numel() < _SMALL:
        return torch.tanh(x)
    return _NumpyTanh.apply(x)


def _tanh_network(x: Tensor, layers: list[Tensor]) -> Tensor:
    for i in range(0, len(layers) - 2, 2):
        x = _tanh(torch.addmm(layers[i + 1], x, layers[i]))
    weight, bias = layers[-2:]
    if weight.shape[1] == 1:
        return torch.addmm(bias, x, weight)
    # With the weights' other layout: of 2 to 8 columns the CPU's product, and its gradient's, takes four times as long
    # in the one that they have.
    return torch.nn.functional.linear(x, weight.t().contiguous(), bias)
