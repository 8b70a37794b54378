"""Which preferences each member trains on: its own hold-out, and its own bootstrap of the rest (2.2.3).

Both are kept up one answer at a time, so that a running fit needs no new start: of D preferences a member holds out
round(D/e), and its D draws are each uniform over the others. A draw is a reservoir of size one: a new preference
(or one that leaves the hold-out) takes it over with probability 1/n, so that each draw stays uniform while most stay
put.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class Bootstrap:
    """Hold-outs and bootstrap draws of M members over preferences 0..D-1."""

    def __init__(self, members: int, holdout: float, rng: np.random.Generator) -> None:
        self._share = holdout
        self._rng = rng
        self._keys = np.zeros((members, 0))
        self._draws = np.zeros((members, 0), np.int64)
        self.holdout = np.zeros((members, 0), np.bool_)
        """(M, D): preferences that a member only validates on."""

    @property
    def size(self) -> int:
        return self._keys.shape[1]

    @property
    def counts(self) -> np.ndarray:
        """(M, D): how often each member drew each preference; each row sums to D."""
        return np.stack([np.bincount(row, minlength=self.size) for row in self._draws]) if self.size else self._draws

    def add(self, index: int | None = None) -> None:
        """One more preference, at the end or before that index; those after it move down."""
        at, members = self.size if index is None else index, len(self._keys)
        self._keys = np.insert(self._keys, [at], self._rng.random((members, 1)), axis=1)
        moved = self._draws + (self._draws >= at)
        self._draws = np.append(moved, np.full((members, 1), -1), axis=1)
        self._settle(np.insert(self.holdout, [at], True, axis=1))

    def remove(self, index: int) -> None:
        """Forgets one preference; those after it move up."""
        self._keys = np.delete(self._keys, index, axis=1)
        self._draws = np.where(self._draws == index, -1, self._draws - (self._draws > index))[:, :-1]
        self._settle(np.delete(self.holdout, index, axis=1))

    def _settle(self, untrained: np.ndarray) -> None:
        """Hold-outs and draws after a change; untrained (M, D): what a member could not draw before it."""
        self._hold_out()
        for member, row in enumerate(untrained & ~self.holdout):
            self._redraw(member, np.flatnonzero(row))

    def _hold_out(self) -> None:
        """The preferences with the smallest keys; never all of them."""
        held = min(round(self._share * self.size), self.size - 1)
        ranks = self._keys.argsort(axis=1).argsort(axis=1)
        self.holdout = ranks < held

    def _redraw(self, member: int, fresh: np.ndarray) -> None:
        """Gives each draw that points nowhere, or into the hold-out, a new uniform place.

        fresh: preferences that have become the member's to draw, by being new or by leaving its hold-out.
        """
        draws = self._draws[member]
        if not len(draws):
            return
        astray = (draws < 0) | self.holdout[member, draws]
        places = np.flatnonzero(~self.holdout[member])
        for index in fresh:
            draws[~astray & (self._rng.random(len(draws)) < 1 / len(places))] = index
        draws[astray] = self._rng.choice(places, int(astray.sum()))

    def get_state(self) -> dict[str, Any]:
        return {"keys": self._keys, "draws": self._draws}

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        self._keys, self._draws = arrays["keys"].copy(), arrays["draws"].copy()
        self._hold_out()
