"""Proximal policy optimisation (Schulman et al. 2017): the optimizer for interactive use.

The paper used TRPO; PPO reaches the same in less wall time, and works on a reward that changes for the same reason:
each update stays near the policy that it started from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.nn.threads import Both, two_threads
from core.policy.actor_critic import Parameters
from core.policy.on_policy import OnPolicyOptimizer, TrainingBatch, UpdateReport

_MOST_WEIGHT = 2.0
"""Of a step that an earlier policy took: a rare one is not to outweigh a batch."""
_Told = tuple[float, float, float]
"""Approximate KL divergence, entropy and value loss; of a part of a gradient step what it adds to them."""
_Part = tuple[list[Tensor], _Told]
"""The gradients that it found, and what it tells."""


class PPO(OnPolicyOptimizer):
    """Several passes of gradient steps, each bounded by clipping; one report a pass.

    A gradient step is done in two parts at once: policy and value, or where these share a network two halves of the
    rows.
    """

    def _make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([self.network.weights], lr=self._config.learning_rate, eps=1e-5, fused=True)

    def _improve(self, batch: TrainingBatch) -> Iterator[UpdateReport]:
        if self._config.lag:
            batch = self._caught_up(batch)
        with two_threads() as both:
            for _ in range(self._config.epochs):
                order = torch.as_tensor(self._rng.permutation(len(batch.inputs)), device=batch.inputs.device)
                parts = order.split(self._config.minibatch)
                steps = np.array([self._step(batch.rows(part), both) for part in parts])
                kl, entropy, value_loss = steps.mean(axis=0).tolist()
                yield UpdateReport(kl, entropy, value_loss)
                if kl > self._config.target_kl:
                    return

    @torch.no_grad()
    def _caught_up(self, batch: TrainingBatch) -> TrainingBatch:
        """A batch that an earlier policy gathered, as one of the present's.

        Bounds are put on how far this update moves the present policy: measured from the earlier one, the update in
        between had used them up, and a Hopper learned a fifth less. What the present one does more often than the
        earlier one counts so much more (Hilton et al., Batch size-invariance for policy optimization, 2022).
        """
        now = self.network.log_probs(self.network.distribution(batch.inputs), batch.actions)
        oftener = (now - batch.log_probs).exp().clamp(max=_MOST_WEIGHT)
        return replace(batch, log_probs=now, advantages=batch.advantages * oftener)

    def _step(self, batch: TrainingBatch, both: Both) -> _Told:
        """One gradient step."""
        count = len(batch.inputs)
        if self.network.shares:
            one, other = (batch.rows(rows) for rows in torch.arange(count, device=batch.inputs.device).tensor_split(2))
            first, second = both(lambda: self._judge(one, count), lambda: self._judge(other, count))
            gradients = [left + right for left, right in zip(first[0], second[0], strict=True)]
        else:
            first, second = both(lambda: self._judge_policy(batch), lambda: self._judge_values(batch))
            gradients = first[0] + second[0]
        torch.cat([gradient.reshape(-1) for gradient in gradients], out=self._gradient)
        self._take_step()
        kl, entropy, value_loss = (mine + its for mine, its in zip(first[1], second[1], strict=True))
        return kl, entropy, value_loss

    def _judge(self, batch: TrainingBatch, count: int) -> _Part:
        """Policy and values of some of a gradient step's `count` rows; none of them where there is just one."""
        if not len(batch.inputs):
            return [torch.zeros_like(leaf) for leaf in self.network.leaves], (0.0, 0.0, 0.0)
        share = len(batch.inputs) / count
        parameters, values = self.network.evaluate(batch.inputs)
        loss, kl, entropy = self._policy_loss(batch, parameters)
        value_loss = _value_loss(batch, values)
        gradients = torch.autograd.grad((loss + value_loss) * share, self.network.leaves)
        return list(gradients), (kl * share, entropy * share, float(value_loss.detach()) * share)

    def _judge_policy(self, batch: TrainingBatch) -> _Part:
        loss, kl, entropy = self._policy_loss(batch, self.network.distribution(batch.inputs))
        return list(torch.autograd.grad(loss, self.network.policy_leaves)), (kl, entropy, 0.0)

    def _judge_values(self, batch: TrainingBatch) -> _Part:
        loss = _value_loss(batch, self.network.values(batch.inputs))
        return list(torch.autograd.grad(loss, self.network.value_leaves)), (0.0, 0.0, float(loss.detach()))

    def _policy_loss(self, batch: TrainingBatch, parameters: Parameters) -> tuple[Tensor, float, float]:
        """With the entropy's bonus and the penalty for action_bound_penalty; the approximate KL divergence, and the entropy."""
        network, config = self.network, self._config
        advantage = batch.advantages
        change = network.log_probs(parameters, batch.actions) - batch.log_probs
        gain, kl = _Clipped.apply(change, advantage, config.clip)
        entropy = network.entropy(parameters)
        loss = -gain - config.entropy_bonus * entropy
        if config.excess_penalty:
            loss = loss + config.excess_penalty * network.action_bound_penalty(parameters)
        return loss, float(kl), float(entropy.detach())


class _Clipped(torch.autograd.Function):
    """The mean gain, bounded by clipping, of steps that became likelier by exp(change), (B,), and the approximate KL
    divergence. The gradient is written out: of a small network autograd took a tenth of the time for it."""

    @staticmethod
    def forward(context: Any, change: Tensor, advantage: Tensor, clip: float) -> tuple[Tensor, Tensor]:
        ratio = change.exp()
        free = ratio * advantage
        bounded = ratio.clamp(1 - clip, 1 + clip).mul_(advantage)
        context.save_for_backward(torch.where(free > bounded, 0.0, free))  # what is no number stays none, and is seen
        divergence = ratio.sub_(1).sub_(change).mean()
        context.mark_non_differentiable(divergence)
        return torch.minimum(free, bounded).mean(), divergence

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (moves,) = context.saved_tensors
        return moves * (gradients[0] / len(moves)), None, None


def _value_loss(batch: TrainingBatch, values: Tensor) -> Tensor:
    return 0.5 * (values - batch.returns).square().mean()
