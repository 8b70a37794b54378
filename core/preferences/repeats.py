"""When a pair is put to the person a second time, and which one. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from core.config import QueryConfig
from core.preferences.records import AnswerRow
from core.preferences.review import repeatable
from core.types import Preference, Query


class Repeats:
    """Draws the pairs of QueryConfig.repeats. `on` may be switched at any time."""

    def __init__(self, config: QueryConfig, labeller: str, rng: np.random.Generator) -> None:
        self.on = config.repeats == "on"
        self._config, self._labeller, self._rng = config, labeller, rng
        self._put_again: set[int] = set()

    def due(self) -> bool:
        """Asked once for each pair that is offered: whether one comes again beside it."""
        share = self._config.repeat_share
        return self.on and bool(self._rng.random() < share / (1 - share))

    def pick(self, rows: Iterable[AnswerRow]) -> int | None:
        """Number of the answer whose pair comes again; None where there is none yet. None is picked twice."""
        left = set(repeatable(rows, self._config.repeat_after, self._labeller)) - self._put_again
        if not left:
            return None
        key = sorted(left)[int(self._rng.integers(len(left)))]
        self._put_again.add(key)
        return key

    def again(self, first: Preference) -> Query:
        """The pair of that answer, left and right swapped or not by the toss of a coin."""
        left, right = first.query.left, first.query.right
        if self._rng.random() < 0.5:
            left, right = right, left
        return replace(first.query, left=left, right=right, repeats=first.id)
