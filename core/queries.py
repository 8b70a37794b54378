"""Which pairs to ask about, and how many by when."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from core.config import QueryConfig
from core.records import Float32, Query, Segment

SegmentSums = Callable[[list[Segment]], Float32]
"""Segments -> (M, segments) predicted sums of each member."""


def labels_due(env_steps: int, labels: int, total_steps: int, config: QueryConfig) -> int:
    """How many labels the schedule wants by now (A.1).

    A first share at T = 0, then at a rate proportional to h / (T + h), scaled so that all are asked by total_steps.
    """
    first = math.ceil(config.first_share * labels)
    h = config.half_life
    progress = math.log1p(min(env_steps, total_steps) / h) / math.log1p(total_steps / h)
    return min(labels, first + int((labels - first) * progress + 1e-9))


def disagreement(sums_left: Float32, sums_right: Float32) -> Float32:
    """(M, pairs) predicted sums -> (pairs,) variance over the members of P[left preferred] (2.2.4)."""
    return (1 / (1 + np.exp(-(sums_left - sums_right).clip(-60, 60)))).var(axis=0)


class QuerySelector:
    """Draws pairs from the pool. No pair is offered twice, and no segment is paired with itself."""

    def __init__(self, config: QueryConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._offered: set[tuple[int, int]] = set()
        self.next_id = 0

    def select(self, pool: list[Segment], count: int, sums: SegmentSums | None) -> list[Query]:
        """Up to `count` queries; by disagreement where the config says so and there are sums (2.2.4)."""
        ranked = self._config.selection == "disagreement" and sums is not None
        pairs = self._draw(pool, count * (self._config.candidates if ranked else 1))
        if not pairs:
            return []
        scores = self._scores(pairs, sums) if ranked and sums is not None else np.full(len(pairs), np.nan)
        best = np.argsort(-np.nan_to_num(scores), kind="stable")[:count]
        return [self._offer(pairs[i], float(scores[i])) for i in best]

    def _draw(self, pool: list[Segment], count: int) -> list[tuple[Segment, Segment]]:
        """Distinct pairs not offered before; fewer than `count` where the pool is small."""
        pairs: dict[tuple[int, int], tuple[Segment, Segment]] = {}
        if len(pool) < 2:
            return []
        for _ in range(10 * count):
            i, j = self._rng.choice(len(pool), 2, replace=False)
            key = _key(pool[i], pool[j])
            if key not in self._offered:
                pairs.setdefault(key, (pool[i], pool[j]))
            if len(pairs) == count:
                break
        return list(pairs.values())

    def _scores(self, pairs: list[tuple[Segment, Segment]], sums: SegmentSums) -> Float32:
        both = sums([left for left, _ in pairs] + [right for _, right in pairs])
        return disagreement(both[:, : len(pairs)], both[:, len(pairs) :])

    def _offer(self, pair: tuple[Segment, Segment], score: float) -> Query:
        left, right = pair
        self._offered.add(_key(left, right))
        self.next_id += 1
        return Query(self.next_id, left, right, score)

    def get_state(self) -> dict[str, Any]:
        return {"offered": sorted(self._offered), "next_id": self.next_id}

    def set_state(self, values: dict[str, Any]) -> None:
        self._offered = {(a, b) for a, b in values["offered"]}
        self.next_id = values["next_id"]


def _key(left: Segment, right: Segment) -> tuple[int, int]:
    return (min(left.id, right.id), max(left.id, right.id))
