"""Fitting the ensemble: all members in one batched computation, resumable, open to new answers while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.errors import NotFiniteError
from core.optimisers import load_optimiser, optimiser_arrays
from core.records import Preference
from core.reward.ensemble import RewardEnsemble
from core.reward.loss import cross_entropy, next_l2, squared_error
from core.reward.resampling import Resampling

_CHUNK = 256
"""Preferences validated at once: bounds the memory of a long session."""


@dataclass(frozen=True)
class FitReport:
    """Losses per member of one epoch (M,), nan where nothing is held out; accuracy on held-out preferences."""

    train_loss: np.ndarray
    validation_loss: np.ndarray
    accuracy: float


class RewardFit:
    """Preferences as tensors, and the optimiser of the ensemble."""

    def __init__(
        self, ensemble: RewardEnsemble, config: RewardConfig, rng: np.random.Generator, device: torch.device
    ) -> None:
        self.ensemble = ensemble
        self._config = config
        self._on_returns = config.target == "returns"
        self._rng = rng
        self._device = device
        self.resampling = Resampling(config.members, config.holdout, rng)
        self._moments: list[np.ndarray] = []
        """(2, inputs) of each preference: mean and variance of its inputs."""
        self._ids: list[int] = []
        self._inputs = torch.zeros(0)
        self._mu = torch.zeros(0)
        self._returns = torch.zeros(0)
        self._room = 0
        for parameter in ensemble.network.parameters:
            parameter.requires_grad_(True)
        self.optimiser = torch.optim.Adam(ensemble.network.parameters, lr=config.learning_rate, fused=True)
        self.l2 = torch.full((config.members,), config.l2)

    @property
    def count(self) -> int:
        return len(self._ids)

    def add(self, preference: Preference) -> None:
        """Takes in an answer; 'can't tell' is not trained on (2.2.2)."""
        mu = preference.choice.mu
        if mu is None:
            return
        if self._on_returns and preference.returns is None:
            raise ValueError(f"answer {preference.id} tells no returns to fit to")
        sides = [preference.query.left, preference.query.right]
        pair = np.stack([np.concatenate([s.observations, s.actions], axis=1) for s in sides])
        self._append(pair, mu[0], preference.returns or (0.0, 0.0))
        self._ids.append(preference.id)
        self.resampling.add()
        if self._config.latest and self.count > self._config.latest:
            self.remove(self._ids[0])

    def _append(self, pair: np.ndarray, mu: float, returns: tuple[float, float]) -> None:
        """Keeps (2, k, inputs) in arrays that grow by doubling."""
        if self.count == self._room:
            self._room = max(64, 2 * self._room)
            self._inputs = self._grown(self._inputs, pair.shape)
            self._mu, self._returns = self._grown(self._mu, ()), self._grown(self._returns, (2,))
        self._inputs[self.count], self._mu[self.count] = torch.as_tensor(pair), mu
        self._returns[self.count] = torch.tensor(returns)
        self._moments.append(np.stack([pair.mean((0, 1), np.float64), pair.var((0, 1), np.float64)]))

    def _grown(self, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
        grown = torch.zeros((self._room, *shape), device=self._device)
        if self.count:
            grown[: self.count] = tensor
        return grown

    def remove(self, preference_id: int) -> None:
        """Forgets an answer that was taken back; one that was never trained on is no matter."""
        if preference_id not in self._ids:
            return
        index = self._ids.index(preference_id)
        self._ids.pop(index)
        self._moments.pop(index)
        for tensor in (self._inputs, self._mu, self._returns):
            tensor[index : self.count] = tensor[index + 1 : self.count + 1].clone()
        self.resampling.remove(index)

    def epochs(self, count: int) -> Iterator[FitReport]:
        """Runs so many epochs, yielding after each; needs at least one preference."""
        self._follow_moments()
        for _ in range(count):
            train = self._train_epoch()
            validation, accuracy = self._validate()
            self.l2 = next_l2(
                self.l2,
                validation,
                train,
                self._config.ratio_low,
                self._config.ratio_high,
                self._config.l2_rate,
            )
            yield FitReport(train.numpy(), validation.numpy(), accuracy)

    def _follow_moments(self) -> None:
        """Mean and deviation of the inputs of the preferences kept, and of nothing else: withdrawing one undoes it.

        All have as many rows, so the variance is the mean of theirs plus that of their means. At least 1e-3, so that an
        input that never moves is not blown up.
        """
        means, variances = np.stack(self._moments, axis=1)
        std = np.sqrt(np.maximum(variances.mean(axis=0) + means.var(axis=0), 1e-6))
        self.ensemble.mean = torch.as_tensor(means.mean(axis=0), dtype=torch.float32, device=self._device)
        self.ensemble.std = torch.as_tensor(std, dtype=torch.float32, device=self._device)

    def _train_epoch(self) -> Tensor:
        """One pass over each member's draws, the repeats as weights. Returns the training loss (M,)."""
        indices, weights = self._shuffled_draws()
        total = torch.zeros(self.ensemble.members)
        width = self._config.minibatch
        for start in range(0, indices.shape[1], width):
            chosen, share = indices[:, start : start + width], weights[:, start : start + width]
            loss = (self._losses(chosen) * share).sum(1)
            self._step((loss / share.sum(1).clamp(min=1)).sum())
            total += loss.detach().cpu()
        return total / weights.sum(1).cpu()

    def _shuffled_draws(self) -> tuple[Tensor, Tensor]:
        """(M, U) preferences in a fresh order for each member, and how often each was drawn; U evens the rows out."""
        counts = self.resampling.counts
        order = self._rng.permuted(np.tile(np.arange(self.count), (len(counts), 1)), axis=1)
        shuffled = np.take_along_axis(counts, order, 1)
        drawn_first = np.argsort(shuffled == 0, axis=1, kind="stable")
        width = int((counts > 0).sum(1).max())
        order = np.take_along_axis(order, drawn_first, 1)[:, :width]
        weights = np.take_along_axis(shuffled, drawn_first, 1)[:, :width]
        device = self._device
        return torch.as_tensor(order, device=device), torch.as_tensor(weights, dtype=torch.float32, device=device)

    def _losses(self, indices: Tensor) -> Tensor:
        """(M, B) preferences -> (M, B) loss of each under its member, with dropout."""
        left, right = self._sums(indices, self._drop if self._config.dropout else None)
        return self._loss(left, right, indices)

    def _loss(self, left: Tensor, right: Tensor, indices: Tensor) -> Tensor:
        """(M, B) summed rewards -> the loss of each preference: cross-entropy, or squared error (3.3, target)."""
        if self._on_returns:
            return squared_error(left, right, self._returns[indices])
        return cross_entropy(left, right, self._mu[indices], self._config.error_rate)

    def _sums(self, indices: Tensor, drop: Callable[[Tensor], Tensor] | None = None) -> tuple[Tensor, Tensor]:
        members, batch = indices.shape
        inputs = (self._inputs[indices] - self.ensemble.mean) / self.ensemble.std
        rewards = self.ensemble.network(inputs.reshape(members, -1, inputs.shape[-1]), drop)
        sums = rewards.reshape(members, batch, 2, -1).sum(-1)
        if not torch.isfinite(sums).all():
            raise NotFiniteError("reward fit", "the predicted reward")
        return sums[..., 0], sums[..., 1]

    def _drop(self, hidden: Tensor) -> Tensor:
        """Leaves out hidden units and scales the others up (A.2), by the generator that is saved with the state."""
        kept = 1 - self._config.dropout
        mask = self._rng.random(tuple(hidden.shape), np.float32) < kept
        return hidden * torch.as_tensor(mask / np.float32(kept), device=self._device)

    def _step(self, loss: Tensor) -> None:
        """One gradient step on loss plus each member's weight decay."""
        if not torch.isfinite(loss):
            raise NotFiniteError("reward fit", "the loss")
        self.optimiser.zero_grad()
        decay = sum((self.l2.to(self._device) * w.square().sum((1, 2))).sum() for w in self.ensemble.network.weights)
        (loss + decay).backward()
        if not all(p.grad is not None and torch.isfinite(p.grad).all() for p in self.ensemble.network.parameters):
            raise NotFiniteError("reward fit", "the gradient")
        self.optimiser.step()

    @torch.no_grad()
    def _validate(self) -> tuple[Tensor, float]:
        """(M,) loss on each member's hold-out, and the share of held-out choices ranked as the labeller did."""
        held = torch.as_tensor(self.resampling.holdout, device=self._device)
        losses, right, judged = torch.zeros(len(held)), 0.0, 0.0
        for start in range(0, self.count, _CHUNK):
            part = held[:, start : start + _CHUNK]
            indices = torch.arange(start, start + part.shape[1], device=self._device).expand(len(held), -1)
            left, second = self._sums(indices)
            mu = self._mu[indices]
            losses += (self._loss(left, second, indices) * part).sum(1).cpu()
            clear = part & (mu != 0.5)
            right += float(((left > second) == (mu > 0.5))[clear].sum())
            judged += float(clear.sum())
        count = held.sum(1).cpu()
        return torch.where(count > 0, losses / count.clamp(min=1), torch.nan), right / judged if judged else np.nan

    def get_state(self) -> dict[str, np.ndarray]:
        arrays = {f"resampling_{n}": a for n, a in self.resampling.get_state().items()}
        arrays |= {f"ensemble_{n}": a for n, a in self.ensemble.to_arrays().items()}
        arrays |= {"l2": self.l2.numpy(), "ids": np.array(self._ids, np.int64)}
        return arrays | optimiser_arrays(self.optimiser)

    def set_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restores all but the preferences, which come from the store and must have been added.

        Answers older than the newest one of then that were no longer kept are dropped: newer ones had taken their place
        (A.2), even if those were withdrawn since.
        """
        self.ensemble.load_arrays({n.removeprefix("ensemble_"): a for n, a in arrays.items() if "ensemble_" in n})
        self.l2 = torch.as_tensor(arrays["l2"])
        kept = [int(i) for i in arrays["ids"]]
        for gone in sorted(set(self._ids) - set(kept)):
            if gone < max(kept, default=0):
                self.remove(gone)
        self.resampling.set_state({n.removeprefix("resampling_"): a for n, a in arrays.items()})
        for index in reversed(range(len(kept))):
            if kept[index] not in self._ids:
                self.resampling.remove(index)
        while self.resampling.size < self.count:
            self.resampling.add()
        load_optimiser(self.optimiser, arrays)
