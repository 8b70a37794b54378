"""Soft actor-critic (Haarnoja et al. 2018): an off-policy optimizer, which learns from all steps that are still kept.

It is not in the paper. On-policy optimizers see each step once, with the reward of that moment. Here the rewards of old steps
are predicted anew for each minibatch, so that every answer changes the worth of all steps (PEBBLE, Lee et al. 2021), and what
the robot did once is not forgotten.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from core.config import Config
from core.errors import NotFiniteError
from core.events import REPLAY_PREFIX, RolloutBatchReady, without_prefix
from core.nn.optimizers import Adam
from core.nn.running_stats import RunningMeanStd
from core.nn.stacked_mlp import StackedMLP
from core.nn.state import load_state_arrays, require_array, state_arrays
from core.nn.threads import Both, two_threads
from core.policy.replay import Replay, Transitions
from core.policy.squashed_policy import SquashedPolicy
from core.preferences.schedule import exploration_share
from core.seeding import seed_for

_FIRST_TEMPERATURE = 0.2
_EXPLORED_FALL = 1.0
"""Nats by which the entropy of each action falls as the reward for novelty fades."""
_FINAL_FALL, _FALLEN_AT = 2.0, 0.4
"""Nats by which that entropy has fallen at the end, and the learning rate's scale at which it has fallen that far."""
_STEPS_PER_YIELD = 16
"""Gradient steps between two yields, at which the caller may stop or pause."""
_CRITICS, _TARGETS = "critic_", "target_"
"""Prefixes of the critics' and target critics' weights in the state."""


class ReplayedReward(Protocol):
    """The reward of replayed steps, which may change with each batch."""

    def rescale(self, replay: Replay, batch: RolloutBatchReady) -> None:
        """Choose scale and bonuses for the gradient steps that follow a batch, which is in the memory already."""

    def __call__(self, steps: Transitions) -> Tensor:
        """Return the rewards (B,) of B steps."""


class SAC:
    """Improves a squashed policy with two critics, their slowly following targets and an adapted temperature.

    Episodes have a fixed length, so values are those of endless ones. The temperature, which weights the policy's entropy
    against the reward, keeps the entropy at config.target_entropy for each action, and lower once the reward for novelty has
    faded and while the learning rate falls: a policy that has explored acts better with less noise.
    """

    def __init__(
        self, network: SquashedPolicy, config: Config, rng: np.random.Generator, reward: ReplayedReward
    ) -> None:
        """Create an optimizer of the network's weights, which are changed in place. rng: draws minibatches and noise"""
        self.network = network
        self.config = config.policy
        self._rng, self._reward = rng, reward
        self._first_novelty = config.reward.novelty * exploration_share(config)
        sizes = network.mean.shape[0], network.action_size
        start = torch.Generator().manual_seed(seed_for(config.seed, "critics"))
        self._critics = StackedMLP(2, sum(sizes), config.policy.hidden, start, network.device)
        self._target_critics = copy.deepcopy(self._critics).requires_grad_(False)
        self._fixed_critics = copy.deepcopy(self._critics).requires_grad_(False)
        """The critics in the same memory, but without gradients, for the policy's gradient."""
        for fixed, weights in zip(self._fixed_critics.parameters(), self._critics.parameters(), strict=True):
            fixed.data = weights.data
        first = torch.full((1,), math.log(_FIRST_TEMPERATURE), device=network.device)
        self._log_temperature = first.requires_grad_(True)
        self.replay = Replay(config.policy.replay, *sizes, network.device)
        self._moments = RunningMeanStd(sizes[0])
        network.enable_gradients()
        learned = [network.weights, *self._critics.parameters(), self._log_temperature]
        self._optimizer = Adam(learned, config.policy.learning_rate)

    def observe(self, observations: np.ndarray) -> None:
        """Update the input normalization with observations (..., o)."""
        self._moments.update(observations)
        self.network.set_moments(self._moments)

    def update(self, batch: RolloutBatchReady) -> Iterator[None]:
        """Improve the policy after a batch; yields after each part, so that the caller may pause.

        Raises NotFiniteError for rewards or weights that are not finite.
        """
        if not np.isfinite(batch.rewards).all():
            raise NotFiniteError("policy", "the reward")
        self.replay.add(batch)
        self._reward.rescale(self.replay, batch)
        self._optimizer.learning_rate = self.config.learning_rate * batch.learning_rate_scale
        explored = 1 - batch.novelty / self._first_novelty if self._first_novelty else 0.0
        finished = min(1.0, (1 - batch.learning_rate_scale) / (1 - _FALLEN_AT))
        fall = max(_EXPLORED_FALL * explored, _FINAL_FALL * finished)
        entropy = (self.config.target_entropy - fall) * self.network.action_size
        with two_threads() as both:
            for number in range(max(1, round(batch.rewards.size / self.config.steps_per_gradient))):
                self._improve(both, entropy)
                if number % _STEPS_PER_YIELD == _STEPS_PER_YIELD - 1:
                    yield None
        if not all(math.isfinite(float(weights.detach().sum())) for weights in self._optimizer.parameters):
            raise NotFiniteError("policy", "a weight")

    def _improve(self, both: Both, entropy: float) -> None:
        """Take one gradient step on a minibatch, with policy, critics and temperature at the same time.

        The gradients of the critics and of the policy are computed in two threads. entropy: of all actions together, to keep
        """
        network, count = self.network, self.config.minibatch
        steps, mask = self.replay.draw(self._rng, count, self.config.return_steps)
        drawn = self._rng.standard_normal((2, count, network.action_size), np.float32)
        noise = torch.as_tensor(drawn, device=network.device)
        observations = network.normalize(steps.observations[:count])
        temperature = float(self._log_temperature.detach().exp())
        self._optimizer.zero_gradients()
        _, log_prob = both(
            lambda: self._critic_gradient(steps, mask, observations, noise[0], temperature, entropy),
            lambda: self._policy_gradient(observations, noise[1], temperature),
        )
        surplus = log_prob + entropy
        self._log_temperature.grad = torch.full_like(self._log_temperature, -surplus)
        self._optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(
                [*self._target_critics.parameters()], [*self._critics.parameters()], self.config.target_rate
            )

    def _critic_gradient(
        self,
        steps: Transitions,
        mask: Tensor,
        observations: Tensor,
        noise: Tensor,
        temperature: float,
        entropy: float,
    ) -> None:
        """Add the gradient of the critics' squared error from the rewards of each run plus the value of what follows it.

        Only the excess of entropy over the entropy to keep is rewarded. Otherwise all values would contain that of a hundred
        steps with that entropy, and would have to be learned anew whenever the temperature changes.
        """
        network, (length, count) = self.network, mask.shape
        with torch.no_grad():
            lengths = mask.sum(0).long()
            after = steps.following.view(length, count, -1)[lengths - 1, torch.arange(count)]
            following = network.normalize(after)
            actions, log_probs = network.squash(network.distribution(following), noise)
            values = _q_values(self._target_critics, following, actions).amin(0) - temperature * (log_probs + entropy)
            discounts = self.config.discount ** torch.arange(length + 1, device=network.device)
            rewards = self._reward(steps).view(length, count) * mask
            targets = discounts[:-1] @ rewards + discounts[lengths] * values
        (_q_values(self._critics, observations, steps.actions[:count]) - targets).square().sum(0).mean().backward()

    def _policy_gradient(self, observations: Tensor, noise: Tensor, temperature: float) -> float:
        """Add the gradient of the policy's loss, and return the mean log probability of its actions."""
        actions, log_probs = self.network.squash(self.network.distribution(observations), noise)
        (temperature * log_probs - _q_values(self._fixed_critics, observations, actions).amin(0)).mean().backward()
        return float(log_probs.detach().mean())

    def get_state(self) -> dict[str, Any]:
        """Return weights, moments, optimizer state and replay memory as arrays, without the random generator."""
        arrays = {**state_arrays(self.network), **self._optimizer.get_state(), **self.replay.get_state()}
        for prefix, network in ((_CRITICS, self._critics), (_TARGETS, self._target_critics)):
            arrays |= {f"{prefix}{name}": array for name, array in state_arrays(network).items()}
        temperature = self._log_temperature.detach().cpu().numpy().copy()
        return {**arrays, "moments": self._moments.to_array(), "log_temperature": temperature}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Restore the state from `get_state`. Raises KeyError or ValueError if it does not fit this network.

        Without a replay memory, such as that of a policy from another session, it begins empty.
        """
        load_state_arrays(self.network, arrays)
        for prefix, network in ((_CRITICS, self._critics), (_TARGETS, self._target_critics)):
            load_state_arrays(network, without_prefix(arrays, prefix))
        self._moments.load_array(arrays["moments"])
        with torch.no_grad():
            self._log_temperature.copy_(torch.as_tensor(require_array(arrays["log_temperature"], np.float32, 1)))
        self._optimizer.set_state(arrays)
        if any(name.startswith(REPLAY_PREFIX) for name in arrays):
            self.replay.set_state(arrays)


def _q_values(critics: StackedMLP, observations: Tensor, actions: Tensor) -> Tensor:
    """Return the critics' values (2, B) of actions (B, a) after normalized observations (B, o)."""
    inputs = torch.cat([observations, actions], dim=1)
    values: Tensor = critics(inputs.expand(2, *inputs.shape))
    return values
