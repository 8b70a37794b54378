"""Base class of the on-policy optimizers: preparation of batches, input normalization, checks for NaN, and saved state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import Config
from core.errors import NotFiniteError
from core.events import RolloutBatchReady
from core.nn.optimizers import Optimizer
from core.nn.running_stats import RunningMeanStd
from core.nn.state import load_state_arrays, require_array, state_arrays
from core.policy.actor_critic import ActorCritic
from core.policy.gae import advantages, after_each_step
from core.policy.policy_network import Distribution
from core.policy.return_scaling import ReturnScaling
from core.policy.value_calibration import ValueCalibration
from core.types import Float32


@dataclass(frozen=True)
class TrainingBatch:
    """A batch of B = T * N steps in the form that optimizers use.

    inputs (B, o): normalized observations, or uint8 pixels; actions (B, a)
    log_probs (B,): log probabilities of the actions under the policy that acted (PPO with a lag: under the current one)
    advantages (B,): standardized to mean 0 and standard deviation 1 (PPO with a lag weights them afterwards)
    values (B,): values of the inputs; returns (B,): their targets, in the value function's unit
    distribution: action distributions for the inputs, for optimizers with differentiable_values; both it and `values`
        then carry gradients
    """

    inputs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    values: Tensor
    returns: Tensor
    distribution: Distribution | None = field(default=None, kw_only=True)

    def rows(self, indices: Tensor) -> TrainingBatch:
        """Return the rows at `indices` (B',), without the distribution. index_select takes a third of indexing's time."""
        columns = self.inputs, self.actions, self.log_probs, self.advantages, self.values, self.returns
        return TrainingBatch(*(column.index_select(0, indices) for column in columns))


class OnPolicyOptimizer(ABC):
    """Improves a policy on the batches that it collected, under a changing reward.

    A new reward snapshot may rescale or flip the reward. Values are learned in units of ReturnScaling, which follows
    the rewards; when the unit changes, the value's last layer is rescaled so that its predictions stay the same (van
    Hasselt et al. 2016). ValueCalibration corrects a value function that no longer fits before advantages are computed
    from it. Advantages are standardized, so that the entropy bonus has the same weight for any reward.
    """

    differentiable_values = False
    """True if the batch's values and distribution carry gradients, which saves a forward pass if there is one gradient step."""

    def __init__(self, network: ActorCritic, config: Config, rng: np.random.Generator) -> None:
        """Create an optimizer of the network's weights, which are changed in place. rng: draws minibatches"""
        self.network = network
        self.config = config.policy
        self.return_scaling = ReturnScaling(config.policy.discount)
        self._rng = rng
        self._moments = RunningMeanStd(network.mean.shape[0])
        self._calibration = ValueCalibration(config.policy.discount)
        self._gradient = network.enable_gradients()
        self.optimizer = self._make_optimizer()

    @abstractmethod
    def _make_optimizer(self) -> Optimizer:
        """Return the optimizer of network.weights or of a part of them."""

    @abstractmethod
    def _improve(self, batch: TrainingBatch) -> Iterator[None]:
        """Improve the network on one batch: the algorithm itself. Yields after each part."""

    def observe(self, observations: np.ndarray) -> None:
        """Update the input normalization with observations (..., o). Images need none."""
        if not self.network.mean.numel():
            return
        self._moments.update(observations)
        self.network.set_moments(self._moments)

    def update(self, batch: RolloutBatchReady) -> Iterator[None]:
        """Improve the policy on one batch; yields after each part, so that the caller may pause.

        Raises NotFiniteError for rewards, gradients or weights that are not finite.
        """
        if not np.isfinite(batch.rewards).all():
            raise NotFiniteError("policy", "the reward")
        self.optimizer.learning_rate = self.config.learning_rate * batch.learning_rate_scale
        with torch.set_grad_enabled(self.differentiable_values):
            training_batch = self.prepare(batch)
        yield from self._improve(training_batch)

    def prepare(self, batch: RolloutBatchReady) -> TrainingBatch:
        """Normalize observations, rewards and advantages of a batch, and evaluate and correct the value function."""
        steps, count, size = batch.observations.shape
        device, taken = self.network.device, steps * count
        observations = np.concatenate(
            [batch.observations.reshape(-1, size), batch.last_observations, batch.end_observations]
        )
        inputs = self.network.normalize(torch.as_tensor(observations, device=device))
        rewards = self.scale_rewards(batch)
        distribution, values = self._evaluate(inputs)
        now, following = _values_in_time(values, batch)
        correction = self._calibration.update(rewards, now, following)
        if correction is not None:
            self.network.rescale_values(*correction)
            distribution, values = self._evaluate(inputs)
            now, following = _values_in_time(values, batch)
        gains = advantages(rewards, now, following, batch.ends, self.config.discount, self.config.gae_lambda)
        assert gains.shape == now.shape == rewards.shape == (steps, count)
        return TrainingBatch(
            inputs[:taken],
            torch.as_tensor(batch.actions.reshape(taken, -1), device=device),
            torch.as_tensor(batch.log_probs.reshape(-1), device=device),
            torch.as_tensor(((gains - gains.mean()) / (gains.std() + 1e-8)).reshape(-1), device=device),
            values[:taken],
            torch.as_tensor((gains + now).reshape(-1), device=device),
            distribution=distribution and tuple(part[:taken] if part.ndim > 1 else part for part in distribution),
        )

    def scale_rewards(self, batch: RolloutBatchReady) -> Float32:
        """Update the value function's unit, rescale the values to it, and return the rewards (T, N) in this unit."""
        before = self.return_scaling.value
        self.return_scaling.update(batch.rewards, batch.ends)
        self.network.rescale_values(before / self.return_scaling.value, 0.0)
        return batch.rewards / np.float32(self.return_scaling.value)

    def _evaluate(self, inputs: Tensor) -> tuple[Distribution | None, Tensor]:
        """Return the values (B,) of inputs (B, o), and their distributions if they carry gradients, else None."""
        return self.network.evaluate(inputs) if self.differentiable_values else (None, self.network.values(inputs))

    def descend(self, loss: Tensor) -> None:
        """Take one gradient step on the loss. Raises NotFiniteError for a gradient or weight that is not finite."""
        self._gradient.zero_()
        loss.backward()
        self._take_step()

    def _take_step(self) -> None:
        """Take one step of the optimizer by the gradient vector, whose norm is clipped to config.max_gradient."""
        norm = float(self._gradient.norm())
        if not math.isfinite(norm):
            raise NotFiniteError("policy", "the gradient")
        if norm > self.config.max_gradient:
            self._gradient.mul_(self.config.max_gradient / norm)
        self.optimizer.step()
        self._require_finite_weights()

    def _require_finite_weights(self) -> None:
        if not math.isfinite(float(self.network.weights.sum())):
            raise NotFiniteError("policy", "a weight")

    def get_state(self) -> dict[str, Any]:
        """Return weights, moments and optimizer state as arrays, without the random generator, which the caller owns."""
        moments = {"moments": self._moments.to_array(), "calibration": self._calibration.sums.copy()}
        scaling, optimizer = self.return_scaling.get_state(), self.optimizer.get_state()
        return {**state_arrays(self.network), **moments, **scaling, **optimizer}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Restore the state from `get_state`. Raises KeyError or ValueError if it does not fit this network."""
        load_state_arrays(self.network, arrays)
        self._moments.load_array(arrays["moments"])
        self._calibration.sums = require_array(arrays["calibration"], np.float64, 6)
        self.return_scaling.set_state(arrays)
        self.optimizer.set_state(arrays)


def flat(tensors: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _values_in_time(values: Tensor, batch: RolloutBatchReady) -> tuple[Float32, Float32]:
    """Return the values (T, N) of a batch's observations, and the values (T, N) after each step.

    values: values of the observations, the last observations and the end observations, concatenated in this order
    """
    steps, count = batch.rewards.shape
    array = values.detach().cpu().numpy()
    now, last, end = np.split(array, [steps * count, steps * count + count])
    now = now.reshape(steps, count)
    return now, after_each_step(now, last, batch.ends, end)
