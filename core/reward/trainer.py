"""Training of the reward ensemble: all members in one batched computation, resumable, with preferences added meanwhile."""

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.config import RewardConfig
from core.errors import NotFiniteError
from core.events import ENSEMBLE_PREFIX, without_prefix
from core.nn.minibatches import minibatches
from core.nn.optimizers import Adam
from core.nn.state import load_state_arrays, require_array, state_arrays
from core.nn.threads import Both, two_threads
from core.reward.bootstrap import Bootstrap
from core.reward.dataset import make_dataset
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.reward.loss import cross_entropy, next_l2, sparsity_gradient, squared_error
from core.types import Preference

_BOOTSTRAP = "bootstrap_"


@dataclass(frozen=True)
class EpochReport:
    """Losses of each member in one epoch, (M,) float32; the validation loss is NaN without held-out preferences."""

    train_loss: np.ndarray
    validation_loss: np.ndarray


class RewardTrainer:
    """Trains an ensemble on the preferences added so far, in epochs of minibatch gradient steps (Adam).

    Each member has its own bootstrap sample and hold-out (2.2.3) and its own weight decay, adapted after each epoch so
    that the ratio of validation to training loss stays between config.ratio_low and config.ratio_high (2.2.3).

    ensemble: trained in place; bootstrap: draws and hold-outs, in the order of the preferences
    l2: (M,) float32, weight decay of each member
    """

    def __init__(
        self,
        ensemble: RewardEnsemble | ImageEnsemble,
        config: RewardConfig,
        rng: np.random.Generator,
        device: torch.device,
    ) -> None:
        self.ensemble = ensemble
        self.dataset = make_dataset(ensemble, config, device)
        self.bootstrap = Bootstrap(config.members, config.holdout, rng)
        self.l2 = torch.full((config.members,), config.l2)
        self._parameters = list(ensemble.network.parameters())
        self.optimizer = Adam(self._parameters, config.learning_rate)
        self._config, self._rng, self._device = config, rng, device
        self._ids: list[int] = []
        """Ids of the preferences in the dataset, ascending; the lists below have the same order."""
        self._mu: list[float] = []
        """Each choice's weight on the left segment."""
        self._returns: list[tuple[float, float]] = []
        """True returns of left and right in the target ablation (3.3); zeros otherwise."""
        self._evicted = -1
        """Largest id removed because of config.max_labels; preferences up to it are not added again."""
        self._in_epoch = False
        self._deferred: list[Callable[[], None]] = []

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(self._ids)

    @property
    def count(self) -> int:
        return len(self._ids)

    def add(self, preference: Preference) -> None:
        """Add a preference, or replace the choice of one with the same id, without restarting the training.

        "Can't tell" is not trained on (2.2.2). Takes effect after the current epoch. Raises ValueError if the returns are
        the target, but the preference has none.
        """
        if self._in_epoch:
            self._deferred.append(lambda: self.add(preference))
            return
        if preference.id <= self._evicted:
            return
        mu, index = preference.choice.mu, bisect_left(self._ids, preference.id)
        if mu is None:
            self.remove(preference.id)
        elif preference.id in self._ids[index : index + 1]:
            self._mu[index] = mu[0]
        else:
            if self._config.target == "returns" and preference.returns is None:
                raise ValueError(f"preference {preference.id} has no returns to train on")
            self.dataset.insert(index, preference)
            self.bootstrap.add(index)
            self._ids.insert(index, preference.id)
            self._mu.insert(index, mu[0])
            self._returns.insert(index, preference.returns or (0.0, 0.0))
            if self._config.max_labels and self.count > self._config.max_labels:
                self._evicted = self._ids[0]
                self.remove(self._evicted)

    def remove(self, preference_id: int) -> None:
        """Remove a preference, if it is in the dataset. Takes effect after the current epoch."""
        if self._in_epoch:
            self._deferred.append(lambda: self.remove(preference_id))
            return
        if preference_id not in self._ids:
            return
        index = self._ids.index(preference_id)
        self.dataset.remove(index)
        self.bootstrap.remove(index)
        for values in (self._ids, self._mu, self._returns):
            values.pop(index)

    def epochs(self, count: int) -> Iterator[EpochReport | None]:
        """Train for `count` epochs and yield a report after each. There must be at least one preference.

        Also yields None within an epoch; the caller may then pause, or add and remove preferences. Ends early if no
        preferences are left. Raises NotFiniteError before a prediction, loss or gradient that is not finite reaches
        the weights.
        """
        config = self._config
        with two_threads() as both:
            for _ in range(count):
                self._in_epoch = True
                try:
                    training_loss = yield from self._train_epoch(both)
                    validation_loss = yield from self._validate()
                finally:
                    self._in_epoch = False
                self.l2 = next_l2(
                    self.l2, validation_loss, training_loss, config.ratio_low, config.ratio_high, config.l2_rate
                )
                deferred, self._deferred = self._deferred, []
                for change in deferred:
                    change()
                yield EpochReport(training_loss.numpy(), validation_loss.numpy())
                if not self.count:
                    return

    def _train_epoch(self, both: Both) -> Generator[None, None, Tensor]:
        """Train on each member's draws once, with repeated draws as weights. Returns the training loss (M,)."""
        self.dataset.prepare()
        indices, weights = self._shuffled_draws()
        targets = self._targets()
        total = torch.zeros(self.ensemble.members)
        for minibatch in minibatches(indices.shape[1], self._config.minibatch):
            total += self._gradient_step(indices[:, minibatch], weights[:, minibatch], targets, both)
            yield None
        return total / weights.sum(1).cpu()

    def _shuffled_draws(self) -> tuple[Tensor, Tensor]:
        """Return indices of preferences (M, U) int64 in a random order for each member, and how often each was drawn (M, U).

        U is the largest number of different preferences that a member drew; shorter rows end with weights of 0.
        """
        counts = self.bootstrap.counts
        order = self._rng.permuted(np.tile(np.arange(self.count), (len(counts), 1)), axis=1)
        shuffled = np.take_along_axis(counts, order, 1)
        drawn_first = np.argsort(shuffled == 0, axis=1, kind="stable")
        width = int((counts > 0).sum(1).max())
        order = np.take_along_axis(order, drawn_first, 1)[:, :width]
        weights = np.take_along_axis(shuffled, drawn_first, 1)[:, :width]
        device = self._device
        return torch.as_tensor(order, device=device), torch.as_tensor(weights, dtype=torch.float32, device=device)

    def _targets(self) -> Tensor:
        """Return the targets: choices as mu (D,), or true returns (D, 2)."""
        values = self._returns if self._config.target == "returns" else self._mu
        return torch.tensor(values, dtype=torch.float32, device=self._device)

    def _gradient_step(self, indices: Tensor, weights: Tensor, targets: Tensor, both: Both) -> Tensor:
        """Take one gradient step on preferences (M, B) with weights (M, B), plus weight decay and the penalty on inputs.

        The gradient is computed in two threads, each for half of the columns. Returns each member's weighted sum of losses
        (M,).
        """
        total_weight = weights.sum(1, keepdim=True).clamp(min=1)
        shares, half = weights / total_weight, -(-indices.shape[1] // 2)
        passes = [
            self.dataset.training_pass(self._rng) for _ in range(2)
        ]  # before the threads start, for a fixed order
        first, second = both(
            lambda: self._loss_and_gradients(indices[:, :half], shares[:, :half], targets, passes[0]),
            lambda: self._loss_and_gradients(indices[:, half:], shares[:, half:], targets, passes[1]),
        )
        self.dataset.update_moments(passes)
        losses = first[0] + second[0]
        if not torch.isfinite(losses).all():
            raise NotFiniteError("reward fit", "the loss")
        gradients = [one + other for one, other in zip(first[1], second[1], strict=True)]
        if not all(torch.isfinite(gradient).all() for gradient in gradients):
            raise NotFiniteError("reward fit", "the gradient")
        decay = 2 * self.l2.to(self._device)  # the derivative of l2 * weight^2 is 2 * l2 * weight
        for weight, gradient in zip(self.ensemble.network.weights, gradients, strict=False):  # weights come first
            gradient += decay.view(-1, *[1] * (weight.ndim - 1)) * weight.detach()
        if self._config.sparsity:
            first_layer = self.ensemble.network.weights[0].detach()
            gradients[0] += sparsity_gradient(first_layer, self._config.sparsity / self.count)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient.contiguous()  # Adam's fused step assumes equal memory layouts
        self.optimizer.step()
        return (losses * total_weight[:, 0]).cpu()

    def _loss_and_gradients(
        self, indices: Tensor, weights: Tensor, targets: Tensor, training_pass: Any
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return each member's weighted loss (M,) on preferences (M, B), and the gradients of the sum of the losses.

        weights: (M, B)
        """
        left, right = self._predicted_returns(indices, training_pass)
        losses = (self._losses(left, right, targets[indices]) * weights).sum(1)
        assert losses.shape == (len(indices),)
        return losses.detach(), torch.autograd.grad(losses.sum(), self._parameters)

    def _losses(self, left: Tensor, right: Tensor, targets: Tensor) -> Tensor:
        """Return losses (M, B). left, right: predicted returns (M, B); targets: (M, B) or (M, B, 2)"""
        if self._config.target == "returns":
            return squared_error(left, right, targets)
        return cross_entropy(left, right, targets, self._config.error_rate)

    def _predicted_returns(self, indices: Tensor, training_pass: Any = None) -> tuple[Tensor, Tensor]:
        """Return each member's predicted returns of the left and of the right segments of preferences (M, B), (M, B) each."""
        returns = self.dataset.member_returns(indices, training_pass)
        assert returns.shape == (*indices.shape, 2)
        if not torch.isfinite(returns).all():
            raise NotFiniteError("reward fit", "the predicted reward")
        left, right = returns.unbind(-1)
        return left, right

    def _validate(self) -> Generator[None, None, Tensor]:
        """Return the mean loss (M,) on each member's hold-out; NaN if nothing is held out."""
        held_out = np.nonzero(self.bootstrap.holdout)[1].reshape(self.ensemble.members, -1)  # equally many in each row
        if not held_out.size:
            return torch.full((len(held_out),), torch.nan)
        indices, targets = torch.as_tensor(held_out, device=self._device), self._targets()
        total = torch.zeros(len(held_out))
        for part in indices.split(self.dataset.chunk, dim=1):
            total += self._validation_losses(part, targets)
            yield None
        return total / held_out.shape[1]

    @torch.no_grad()
    def _validation_losses(self, indices: Tensor, targets: Tensor) -> Tensor:
        """Return the summed losses (M,) of held-out preferences (M, B)."""
        left, right = self._predicted_returns(indices)
        return self._losses(left, right, targets[indices]).sum(1).cpu()

    @torch.no_grad()
    def preference_probabilities(
        self, ids: Sequence[int], ensemble: RewardEnsemble | ImageEnsemble
    ) -> dict[int, float]:
        """Return P[left is preferred] by id, averaged over the members of any ensemble, without the labeller's errors.

        Ids of preferences not in the dataset are left out. Pass at most `dataset.chunk` ids at a time to limit memory.
        """
        requested = set(ids)
        rows = {key: index for index, key in enumerate(self._ids) if key in requested}
        returns = self.dataset.predicted_returns(list(rows.values()), ensemble)
        probabilities = torch.sigmoid(returns[..., 0] - returns[..., 1]).mean(0)
        return dict(zip(rows, probabilities.tolist(), strict=True))

    def matches(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Return whether a saved state has exactly the current preferences and choices."""
        return self._ids == arrays["ids"].tolist() and self._mu == arrays["mu"].tolist()

    def get_state(self) -> dict[str, np.ndarray]:
        """Return ensemble, draws, weight decay and optimizer as arrays, without segments and the random generator."""
        arrays = {f"{_BOOTSTRAP}{name}": array for name, array in self.bootstrap.get_state().items()}
        arrays |= {f"{ENSEMBLE_PREFIX}{name}": array for name, array in state_arrays(self.ensemble).items()}
        arrays |= {"l2": self.l2.numpy(), "ids": np.array(self._ids, np.int64), "mu": np.array(self._mu, np.float32)}
        arrays["evicted"] = np.array(self._evicted)
        return arrays | self.optimizer.get_state()

    def set_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the state from `get_state`, after the preferences of the store have been added.

        Preferences that had been removed because of config.max_labels are removed again, even if newer ones were
        withdrawn since (A.2). Raises KeyError or ValueError if the state does not fit.
        """
        load_state_arrays(self.ensemble, without_prefix(arrays, ENSEMBLE_PREFIX))
        self.l2 = torch.as_tensor(require_array(arrays["l2"], np.float32, len(self.l2)))
        saved_ids = [int(i) for i in arrays["ids"]]
        self._evicted = max(self._evicted, int(arrays["evicted"]))
        for evicted in [key for key in self._ids if key <= self._evicted]:
            self.remove(evicted)
        self.bootstrap.set_state(without_prefix(arrays, _BOOTSTRAP))
        current, saved = set(self._ids), set(saved_ids)
        for index in reversed(range(len(saved_ids))):
            if saved_ids[index] not in current:
                self.bootstrap.remove(index)
        for index, key in enumerate(self._ids):  # added since, or changed from "can't tell"
            if key not in saved:
                self.bootstrap.add(index)
        self.optimizer.set_state(arrays)
