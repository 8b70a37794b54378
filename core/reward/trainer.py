"""Fitting the ensemble: all members in one batched computation, resumable, open to new answers while it runs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.errors import NotFiniteError
from core.nn.optimizers import load_optimizer, optimizer_arrays
from core.nn.threads import Both, two_threads
from core.reward.bootstrap import Bootstrap
from core.reward.dataset import make_dataset
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.reward.loss import cross_entropy, next_l2, squared_error
from core.types import Preference


@dataclass(frozen=True)
class FitReport:
    """Losses per member of one epoch (M,), nan where nothing is held out; accuracy on held-out preferences."""

    train_loss: np.ndarray
    validation_loss: np.ndarray
    accuracy: float


class ValidationTotals:
    """Sums over held-out preferences: losses (M,), choices ranked rightly, choices that are no ties."""

    def __init__(self, members: int) -> None:
        self.losses = torch.zeros(members)
        self.right = self.clear = 0.0

    def add(self, other: ValidationTotals) -> None:
        self.losses += other.losses
        self.right += other.right
        self.clear += other.clear


class RewardTrainer:
    """Preferences as tensors, and the optimizer of the ensemble."""

    def __init__(
        self,
        ensemble: RewardEnsemble | ImageEnsemble,
        config: RewardConfig,
        rng: np.random.Generator,
        device: torch.device,
    ) -> None:
        self.ensemble = ensemble
        self._pairs = make_dataset(ensemble, config, device)
        self._config = config
        self._on_returns = config.target == "returns"
        self._rng = rng
        self._device = device
        self.resampling = Bootstrap(config.members, config.holdout, rng)
        self._ids: list[int] = []
        self._mu = torch.zeros(0)
        self._returns = torch.zeros(0)
        self._room = 0
        self._evicted = -1
        """Number of the newest answer that had to give way where only the latest are kept: none up to it comes back."""
        self._in_epoch = False
        self._later: list[Callable[[], None]] = []
        for parameter in ensemble.network.parameters:
            parameter.requires_grad_(True)
        self.optimizer = torch.optim.Adam(ensemble.network.parameters, lr=config.learning_rate, fused=True)
        self.l2 = torch.full((config.members,), config.l2)

    @property
    def count(self) -> int:
        return len(self._ids)

    @property
    def chunk(self) -> int:
        """Preferences that are judged at once."""
        return self._pairs.chunk

    def add(self, preference: Preference) -> None:
        """Takes in an answer, or the other choice of one that was changed; 'can't tell' is not trained on (2.2.2).

        Nothing starts over: what it shares with the one before, hold-outs and draws, stays.
        """
        if self._in_epoch:
            self._later.append(lambda: self.add(preference))
            return
        if preference.id <= self._evicted:
            return
        mu, index = preference.choice.mu, bisect_left(self._ids, preference.id)
        if mu is None:
            self.remove(preference.id)
        elif preference.id in self._ids[index : index + 1]:
            self._mu[index] = mu[0]
        else:
            self._insert(index, preference, mu[0])

    def _insert(self, index: int, preference: Preference, mu: float) -> None:
        """At its place in the order of their numbers, which is the one that a resumed session gives them in."""
        if self._on_returns and preference.returns is None:
            raise ValueError(f"answer {preference.id} tells no returns to fit to")
        self._pairs.insert(index, preference)
        self._make_room(index)
        self._mu[index], self._returns[index] = mu, torch.tensor(preference.returns or (0.0, 0.0))
        self._ids.insert(index, preference.id)
        self.resampling.add(index)
        if self._config.max_labels and self.count > self._config.max_labels:
            self._evicted = self._ids[0]
            self.remove(self._evicted)

    def _make_room(self, index: int) -> None:
        """For one more at this place, in arrays that grow by doubling; those after it move down."""
        if self.count == self._room:
            self._room = max(64, 2 * self._room)
            self._mu, self._returns = self._grown(self._mu, ()), self._grown(self._returns, (2,))
        for tensor in (self._mu, self._returns):
            tensor[index + 1 : self.count + 1] = tensor[index : self.count].clone()

    def _grown(self, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
        grown = torch.zeros((self._room, *shape), device=self._device)
        if self.count:
            grown[: self.count] = tensor
        return grown

    def remove(self, preference_id: int) -> None:
        """Forgets an answer that was taken back; one that was never trained on is no matter."""
        if self._in_epoch:
            self._later.append(lambda: self.remove(preference_id))
            return
        if preference_id not in self._ids:
            return
        index = self._ids.index(preference_id)
        self._ids.pop(index)
        self._pairs.remove(index)
        for tensor in (self._mu, self._returns):
            tensor[index : self.count] = tensor[index + 1 : self.count + 1].clone()
        self.resampling.remove(index)

    @torch.no_grad()
    def preference_probabilities(
        self, ids: Sequence[int], ensemble: RewardEnsemble | ImageEnsemble
    ) -> dict[int, float]:
        """What any ensemble makes of these preferences, by number: P[left is preferred], the mean over the members.

        Without the labeller's errors. Those that are no longer kept are left out.
        """
        wanted = set(ids)
        rows = {key: index for index, key in enumerate(self._ids) if key in wanted}
        sums = self._pairs.segment_returns(list(rows.values()), ensemble)
        left = torch.sigmoid(sums[..., 0] - sums[..., 1]).mean(0)
        return dict(zip(rows, left.tolist(), strict=True))

    def epochs(self, count: int) -> Iterator[FitReport | None]:
        """Runs so many epochs, yielding a report after each; needs at least one preference.

        None, within an epoch, is a moment at which the caller may stop or hand in answers: those join the next epoch.
        """
        with two_threads() as both:
            for _ in range(count):
                self._in_epoch = True
                try:
                    train = yield from self._train_epoch(both)
                    validation, accuracy = yield from self._validate(both)
                finally:
                    self._in_epoch = False
                self._adapt_l2(validation, train)
                self._catch_up()
                yield FitReport(train.numpy(), validation.numpy(), accuracy)
                if not self.count:
                    return

    def _catch_up(self) -> None:
        """Takes in what arrived during the epoch."""
        changes, self._later = self._later, []
        for change in changes:
            change()

    def _adapt_l2(self, validation: Tensor, train: Tensor) -> None:
        config = self._config
        self.l2 = next_l2(self.l2, validation, train, config.ratio_low, config.ratio_high, config.l2_rate)

    def _train_epoch(self, both: Both) -> Generator[None, None, Tensor]:
        """One pass over each member's draws, the repeats as weights. Returns the training loss (M,)."""
        self._pairs.prepare()
        indices, weights = self._shuffled_draws()
        total = torch.zeros(self.ensemble.members)
        width = self._config.minibatch
        for start in range(0, indices.shape[1], width):
            total += self._step(indices[:, start : start + width], weights[:, start : start + width], both)
            yield None
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

    def _step(self, chosen: Tensor, share: Tensor, both: Both) -> Tensor:
        """One gradient step on preferences (M, B) weighed by share (M, B), plus each member's weight decay.

        Returns each member's weighted loss (M,), summed.
        """
        drawn = share.sum(1, keepdim=True).clamp(min=1)
        half = -(-chosen.shape[1] // 2)
        one, other = [self._pairs.training_pass(self._rng) for _ in range(2)]  # here, so that draws have an order
        first, second = both(
            lambda: self._gradients(chosen[:, :half], share[:, :half] / drawn, one),
            lambda: self._gradients(chosen[:, half:], share[:, half:] / drawn, other),
        )
        self._pairs.update_moments([one, other])
        losses = first[0] + second[0]
        if not torch.isfinite(losses).all():
            raise NotFiniteError("reward fit", "the loss")
        self._descend([left + right for left, right in zip(first[1], second[1], strict=True)])
        return (losses * drawn[:, 0]).cpu()

    def _gradients(self, chosen: Tensor, share: Tensor, training_pass: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Each member's weighted loss (M,), and the gradients of their sum."""
        left, right = self._sums(chosen, training_pass)
        losses = (self._loss(left, right, chosen) * share).sum(1)
        return losses.detach(), torch.autograd.grad(losses.sum(), self.ensemble.network.parameters)

    def _descend(self, gradients: list[Tensor]) -> None:
        if not all(torch.isfinite(gradient).all() for gradient in gradients):
            raise NotFiniteError("reward fit", "the gradient")
        network = self.ensemble.network
        decay = 2 * self.l2.to(self._device)  # times the weights: the derivative of l2 |w|^2
        for weight, gradient in zip(network.weights, gradients[: len(network.weights)], strict=True):
            gradient += decay.view(-1, *[1] * (weight.ndim - 1)) * weight.detach()
        for parameter, gradient in zip(network.parameters, gradients, strict=True):
            parameter.grad = gradient.contiguous()  # or the fused step takes one element's for another's
        self.optimizer.step()

    def _loss(self, left: Tensor, right: Tensor, indices: Tensor) -> Tensor:
        """(M, B) summed rewards -> the loss of each preference: cross-entropy, or squared error (3.3, target)."""
        if self._on_returns:
            return squared_error(left, right, self._returns[indices])
        return cross_entropy(left, right, self._mu[indices], self._config.error_rate)

    def _sums(self, indices: Tensor, training_pass: Any = None) -> tuple[Tensor, Tensor]:
        """(M, B) preferences -> each member's sums over the left segments and over the right ones."""
        sums = self._pairs.segment_sums(indices, training_pass)
        if not torch.isfinite(sums).all():
            raise NotFiniteError("reward fit", "the predicted reward")
        left, right = sums.unbind(-1)
        return left, right

    def _validate(self, both: Both) -> Generator[None, None, tuple[Tensor, float]]:
        """(M,) loss on each member's hold-out, and the share of held-out choices ranked as the labeller did."""
        held = np.nonzero(self.resampling.holdout)[1].reshape(self.ensemble.members, -1)  # as many in each row
        if not held.size:
            return torch.full((len(held),), torch.nan), math.nan
        indices = torch.as_tensor(held, device=self._device)
        half = -(-held.shape[1] // 2)
        totals = ValidationTotals(len(held)), ValidationTotals(len(held))
        lanes = [part.split(self._pairs.chunk, dim=1) for part in (indices[:, :half], indices[:, half:])]
        for parts in zip_longest(*lanes, fillvalue=indices[:, :0]):
            found = both(lambda: self._judged(parts[0]), lambda: self._judged(parts[1]))  # noqa: B023 - called at once
            for total, judgement in zip(totals, found, strict=True):
                total.add(judgement)
            yield None
        right, clear = totals[0].right + totals[1].right, totals[0].clear + totals[1].clear
        return (totals[0].losses + totals[1].losses) / held.shape[1], right / clear if clear else math.nan

    @torch.no_grad()
    def _judged(self, indices: Tensor) -> ValidationTotals:
        """Of held-out preferences (M, B)."""
        result = ValidationTotals(len(indices))
        if indices.numel():
            left, second = self._sums(indices)
            mu = self._mu[indices]
            result.losses += self._loss(left, second, indices).sum(1).cpu()
            result.right += float(((left > second) == (mu > 0.5))[mu != 0.5].sum())
            result.clear += float((mu != 0.5).sum())
        return result

    @property
    def ids(self) -> tuple[int, ...]:
        """Numbers of the preferences, in order."""
        return tuple(self._ids)

    def knows_all_of(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether the state is one of just these preferences with just these choices."""
        same = self._ids == [int(i) for i in arrays["ids"]]
        return same and np.array_equal(self._mu[: self.count].cpu().numpy(), arrays.get("mu", []))

    def get_state(self) -> dict[str, np.ndarray]:
        arrays = {f"resampling_{n}": a for n, a in self.resampling.get_state().items()}
        arrays |= {f"ensemble_{n}": a for n, a in self.ensemble.to_arrays().items()}
        arrays |= {"l2": self.l2.numpy(), "ids": np.array(self._ids, np.int64)}
        arrays["mu"] = self._mu[: self.count].cpu().numpy().copy()
        arrays["evicted"] = np.array(self._evicted)
        return arrays | optimizer_arrays(self.optimizer)

    def set_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restores all but the preferences, which come from the store and must have been added.

        Where only the latest are kept, answers older than those of then are dropped: newer ones had taken their place
        (A.2), even if those were withdrawn since.
        """
        self.ensemble.load_arrays({n.removeprefix("ensemble_"): a for n, a in arrays.items() if "ensemble_" in n})
        self.l2 = torch.as_tensor(arrays["l2"])
        kept = [int(i) for i in arrays["ids"]]
        known = set(kept)
        self._evicted = max(self._evicted, int(arrays["evicted"]))
        for gone in [key for key in self._ids if key <= self._evicted]:
            self.remove(gone)
        self.resampling.set_state({n.removeprefix("resampling_"): a for n, a in arrays.items()})
        for index in reversed(range(len(kept))):
            if kept[index] not in self._ids:
                self.resampling.remove(index)
        for index, key in enumerate(self._ids):  # answered since, or changed from what is not trained on
            if key not in known:
                self.resampling.add(index)
        load_optimizer(self.optimizer, arrays)
