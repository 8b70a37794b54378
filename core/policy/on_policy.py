"""What the policy optimizers share: preparing a batch, moments of the observations, checks, and their state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import Config
from core.errors import NotFiniteError
from core.events import RolloutBatchReady
from core.nn.optimizers import load_optimizer, optimizer_arrays
from core.nn.running_stats import RunningMeanStd
from core.policy.actor_critic import ActorCritic, Parameters
from core.policy.gae import advantages, following_values
from core.policy.return_scaling import ReturnScaling
from core.policy.value_calibration import ValueCalibration
from core.types import Float32


@dataclass(frozen=True)
class UpdateReport:
    """What one part of an update did. kl: how far the policy has moved from the one it started from."""

    kl: float
    entropy: float
    value_loss: float


@dataclass(frozen=True)
class TrainingBatch:
    """A batch of B = T * N steps as an optimizer wants it.

    inputs (B, o) normalized observations, or pixels as they came; actions (B, a); log_probs (B,) under the policy that
    acted (PPO: under the present one); advantages (B,) to mean 0 and std 1, before PPO weighs them; values (B,) of the
    inputs; returns (B,): what they should have been
    parameters: the distributions of the inputs, where they came with the values at no cost, with gradients as those
    """

    inputs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    values: Tensor
    returns: Tensor
    parameters: Parameters | None = None

    def rows(self, chosen: Tensor) -> TrainingBatch:
        """Those rows, without parameters. Selected: by indexing it takes three times as long."""
        return TrainingBatch(
            self.inputs.index_select(0, chosen),
            self.actions.index_select(0, chosen),
            self.log_probs.index_select(0, chosen),
            self.advantages.index_select(0, chosen),
            self.values.index_select(0, chosen),
            self.returns.index_select(0, chosen),
        )


class OnPolicyOptimizer(ABC):
    """A policy, and how it is improved on the batches that it gathered.

    A new reward snapshot may rescale or flip the reward. Values are learned in units of ReturnScale, which follows the
    rewards; when it moves, the value's last layer is rescaled so that what it says stays the same (van Hasselt et al.
    2016). A value function that no longer fits is brought near by Calibration, before it spoils advantages, and
    learns the rest. Advantages are brought to std 1: the entropy bonus weighs the same whatever the reward.
    """

    values_join = False
    """Whether Prepared.values carry gradients: a forward pass saved for an optimizer that makes one step a batch."""

    def __init__(self, network: ActorCritic, config: Config, rng: np.random.Generator) -> None:
        self.network = network
        self._config = config.policy
        self._planned_steps = config.planned_steps
        self._rng = rng
        self._moments = RunningMeanStd(network.mean.shape[0])
        self._scale = ReturnScaling(config.policy.discount)
        self._calibration = ValueCalibration(config.policy.discount)
        self._gradient = network.train()
        self.optimizer = self._make_optimizer()

    @abstractmethod
    def _make_optimizer(self) -> torch.optim.Optimizer:
        """Over network.weights, or a part of them."""

    @abstractmethod
    def _improve(self, batch: TrainingBatch) -> Iterator[UpdateReport]: ...

    def observe(self, observations: np.ndarray) -> None:
        """Lets the input normalization follow what the policy sees. Pixels have a range of their own."""
        if not self.network.normalizes:
            return
        self._moments.update(observations)
        for tensor, now in ((self.network.mean, self._moments.mean), (self.network.std, self._moments.std)):
            tensor.copy_(torch.as_tensor(now))

    def update(self, batch: RolloutBatchReady) -> Iterator[UpdateReport]:
        """Improves the policy on one batch; yields often, and the caller may stop between.

        Raises NotFiniteError for rewards, gradients or weights that are not finite.
        """
        if not np.isfinite(batch.rewards).all():
            raise NotFiniteError("policy", "the reward")
        self._decay(batch.env_steps)
        with torch.set_grad_enabled(self.values_join):
            prepared = self._prepare(batch)
        yield from self._improve(prepared)

    def _decay(self, env_steps: int) -> None:
        """The step size falls linearly with the steps of the session (A.2)."""
        done = min(1.0, env_steps / self._planned_steps)
        self.optimizer.param_groups[0]["lr"] = self._config.learning_rate * (1 - self._config.decay * done)

    def _prepare(self, batch: RolloutBatchReady) -> TrainingBatch:
        steps, count, size = batch.observations.shape
        device = self.network.device
        stacked = np.concatenate(
            [batch.observations.reshape(-1, size), batch.last_observations, batch.end_observations]
        )
        inputs = self.network.normalize(torch.as_tensor(stacked, device=device))
        rewards = self._scaled(batch)
        parameters, values, now, following = self._evaluate(batch, inputs, rewards)
        gains = advantages(rewards, now, following, batch.ends, self._config.discount, self._config.gae_lambda)
        taken = steps * count
        return TrainingBatch(
            inputs[:taken],
            torch.as_tensor(batch.actions.reshape(taken, -1), device=device),
            torch.as_tensor(batch.log_probs.reshape(-1), device=device),
            torch.as_tensor(((gains - gains.mean()) / (gains.std() + 1e-8)).reshape(-1), device=device),
            values[:taken],
            torch.as_tensor((gains + now).reshape(-1), device=device),
            None if parameters is None else tuple(rows[:taken] for rows in parameters),
        )

    def _scaled(self, batch: RolloutBatchReady) -> Float32:
        """(T, N) rewards in the value function's unit, which follows them."""
        before = self._scale.value
        self._scale.update(batch.rewards, batch.ends)
        self.network.rescale_values(before / self._scale.value, 0.0)
        return batch.rewards / np.float32(self._scale.value)

    def _evaluate(
        self, batch: RolloutBatchReady, inputs: Tensor, rewards: Float32
    ) -> tuple[Parameters | None, Tensor, Float32, Float32]:
        """Values of all inputs, once corrected where they no longer fit; those in time, and of what followed.

        Before them the distributions, where the optimizer wants gradients of both and the network shares work.
        """
        parameters, values = self._looked(inputs)
        now, following = _in_time(values, batch)
        correction = self._calibration.judge(rewards, now, following)
        if correction is None:
            return parameters, values, now, following
        self.network.rescale_values(correction.factor, correction.offset)
        parameters, values = self._looked(inputs)
        return parameters, values, *_in_time(values, batch)

    def _looked(self, inputs: Tensor) -> tuple[Parameters | None, Tensor]:
        if self.values_join and self.network.shares:
            return self.network.evaluate(inputs)
        return None, self.network.values(inputs)

    def _descend(self, loss: Tensor) -> None:
        """One step of the optimizer down the loss."""
        self._gradient.zero_()
        loss.backward()
        self._take_step()

    def _take_step(self) -> None:
        """One step of the optimizer, with the gradient's norm clipped."""
        norm = float(self._gradient.norm())
        if not math.isfinite(norm):
            raise NotFiniteError("policy", "the gradient")
        if norm > self._config.max_gradient:
            self._gradient.mul_(self._config.max_gradient / norm)
        self._move()
        self._require_weights()

    def _move(self) -> None:
        self.optimizer.step()

    def _require_weights(self) -> None:
        if not math.isfinite(float(self.network.weights.sum())):
            raise NotFiniteError("policy", "a weight")

    def get_state(self) -> dict[str, Any]:
        kept = {"moments": self._moments.to_array(), "calibration": self._calibration.sums.copy()}
        return {**self.network.to_arrays(), **kept, **self._scale.get_state(), **optimizer_arrays(self.optimizer)}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self.network.load_arrays(arrays)
        self._moments.load_array(arrays["moments"])
        self._calibration.sums = arrays["calibration"].copy()
        self._scale.set_state(arrays)
        load_optimizer(self.optimizer, arrays)


def _in_time(values: Tensor, batch: RolloutBatchReady) -> tuple[Float32, Float32]:
    """Values of observations, last and end observations end to end -> (T, N) values, and those of what followed."""
    steps, count = batch.rewards.shape
    flat = values.detach().cpu().numpy()
    now, last, end = np.split(flat, [steps * count, steps * count + count])
    now = now.reshape(steps, count)
    return now, following_values(now, last, batch.ends, end)
