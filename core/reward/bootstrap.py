"""Hold-out and bootstrap sample of each ensemble member, updated one preference at a time (paper 2.2.3).

Of D preferences, a member holds out round(share * D) (1/e in the paper), and each of its D draws is uniform over the
others. Each draw is a reservoir of size one: a preference that is new, or that leaves the hold-out, replaces it with
probability 1/n, n being the number of preferences not held out. So draws stay uniform while most of them stay the same,
and a fit in progress need not start over.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.nn.state import require_array


class Bootstrap:
    """Hold-outs and bootstrap draws of M members over preferences 0..D-1.

    holdout: (M, D) bool, the preferences on which a member is validated and not trained
    """

    def __init__(self, members: int, holdout: float, rng: np.random.Generator) -> None:
        self._share = holdout
        self._rng = rng
        self._keys = np.zeros((members, 0))
        """(M, D) random numbers; the smallest ones of a row determine its hold-out."""
        self._draws = np.zeros((members, 0), np.int64)
        """(M, D) indices of drawn preferences; -1 for a draw that must be repeated."""
        self.holdout = np.zeros((members, 0), np.bool_)

    @property
    def size(self) -> int:
        return self._keys.shape[1]

    @property
    def counts(self) -> np.ndarray:
        """(M, D) int64: how often each member drew each preference; each row sums to D."""
        return np.stack([np.bincount(row, minlength=self.size) for row in self._draws]) if self.size else self._draws

    def add(self, index: int) -> None:
        """Insert a preference before `index`, or at the end if `index` is `size`; later ones are shifted."""
        members = len(self._keys)
        self._keys = np.insert(self._keys, [index], self._rng.random((members, 1)), axis=1)
        shifted = self._draws + (self._draws >= index)
        self._draws = np.append(shifted, np.full((members, 1), -1), axis=1)
        self._update_draws(np.insert(self.holdout, [index], True, axis=1))

    def remove(self, index: int) -> None:
        """Remove a preference; later ones are shifted."""
        self._keys = np.delete(self._keys, index, axis=1)
        self._draws = np.where(self._draws == index, -1, self._draws - (self._draws > index))[:, :-1]
        self._update_draws(np.delete(self.holdout, index, axis=1))

    def _update_draws(self, unavailable: np.ndarray) -> None:
        """Update hold-outs, and repeat the draws that become invalid.

        unavailable (M, D) bool: preferences that a member could not draw before, as they were held out or are new
        """
        self._update_holdout()
        for member, fresh in enumerate(unavailable & ~self.holdout):
            draws = self._draws[member]
            if not len(draws):
                continue
            invalid = (draws < 0) | self.holdout[member, draws]
            available = np.flatnonzero(~self.holdout[member])
            for index in np.flatnonzero(fresh):
                draws[~invalid & (self._rng.random(len(draws)) < 1 / len(available))] = index
            draws[invalid] = self._rng.choice(available, int(invalid.sum()))

    def _update_holdout(self) -> None:
        """Hold out the preferences with the smallest keys, but never all of them."""
        held_out = min(round(self._share * self.size), self.size - 1)
        ranks = self._keys.argsort(axis=1).argsort(axis=1)
        self.holdout = ranks < held_out

    def get_state(self) -> dict[str, Any]:
        """Return keys (M, D) float64 and draws (M, D) int64."""
        return {"keys": self._keys, "draws": self._draws}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Restore the state from `get_state`; other entries are ignored. Raises KeyError or ValueError for a wrong array."""
        members = len(self._keys)
        self._keys = require_array(arrays["keys"], np.float64, members, -1)
        self._draws = require_array(arrays["draws"], np.int64, members, self._keys.shape[1])
        self.holdout = np.zeros_like(self._keys, np.bool_)
        self._update_draws(self.holdout)  # repeats the draws of preferences that are held out now but were not before
