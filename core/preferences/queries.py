"""Which pairs to ask about, and how many by when."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from core.config import QueryConfig
from core.io.segment_codec import fingerprint, pair_of
from core.types import Float32, Float64, Query, Segment

SegmentSums = Callable[[list[Segment]], Float32]
"""Segments -> (M, segments) predicted sums of each member."""
_Pair = tuple[Segment, Segment]
_NUMBERS = 1 << 53
"""No session asks so many queries: a number beyond comes from a file made by hand, and is not counted on from."""


def disagreement(sums_left: Float32, sums_right: Float32) -> Float64:
    """(M, pairs) predicted sums -> (pairs,) variance over the members of P[left preferred] (2.2.4)."""
    return _preferred(sums_left, sums_right).var(axis=0)


def information(sums_left: Float32, sums_right: Float32, error_rate: float) -> Float64:
    """(M, pairs) predicted sums -> (pairs,) nats that the answer is expected to tell about which member is right.

    The mutual information of answer and member, H(mean P) - mean H(P), where P has the labeller's error rate in it
    (2.2.3). Of the same variance, it prefers that of members which are sure, over that of members which are in doubt
    themselves. 2.2.4 names the value of information as the ideal and leaves it to future work.
    """
    chance = (1 - error_rate) * _preferred(sums_left, sums_right) + error_rate / 2
    return _entropy(chance.mean(axis=0)) - _entropy(chance).mean(axis=0)


def recency(env_steps: Float64, newest: int, half_life: float) -> Float64:
    """(pairs, 2) steps at which the segments were cut -> (pairs,) weights: a half for each half-life of mean age."""
    weights: Float64 = 0.5 ** ((newest - env_steps.mean(axis=1)) / half_life)
    return weights


def predictions(pairs: Sequence[Query], sums: SegmentSums) -> list[tuple[float, ...]]:
    """Of each pair, every member's P[left preferred] (2.2.3), without the labeller's errors."""
    if not pairs:
        return []
    both = sums([pair.left for pair in pairs] + [pair.right for pair in pairs])
    return [tuple(p.tolist()) for p in _preferred(both[:, : len(pairs)], both[:, len(pairs) :]).T]


def _preferred(sums_left: Float32, sums_right: Float32) -> Float64:
    difference = sums_left.astype(np.float64) - sums_right
    return np.asarray(1 / (1 + np.exp(-difference.clip(-60, 60))))


def _entropy(chance: Float64) -> Float64:
    """Of a coin, in nats."""
    inside = chance.clip(1e-300, 1)
    outside = (1 - chance).clip(1e-300, 1)
    return np.asarray(-chance * np.log(inside) - (1 - chance) * np.log(outside))


class QuerySelector:
    """Draws pairs from the pool. No pair is offered twice, and no segment is paired with itself.

    A selector that goes back to a checkpoint has forgotten what it offered since, and draws by the same random numbers:
    `spare` tells it what was answered of that. The store has those pairs under other numbers, hence by what is in them.

    The window may put a pair to a person a second time, to see how often the answers agree (core.preferences.review). Such a
    pair comes from the store and not from here, and no reward is fitted to its answer.

    selection=recency ranks by disagreement times `recency`: what the policy did lately matters more to it now than what
    it has left behind.
    """

    def __init__(self, config: QueryConfig, error_rate: float, rng: np.random.Generator) -> None:
        self._config = config
        self._error_rate = error_rate
        self._rng = rng
        self._offered: set[tuple[int, int]] = set()
        self._spared: set[str] = set()
        self.next_id = 0

    def spare(self, query: Query) -> bool:
        """Never to offer this pair from now on, nor to give its number to another; whether that is news."""
        if query.id < _NUMBERS:
            self.next_id = max(self.next_id, query.id)
        news = query.pair not in self._spared
        self._spared.add(query.pair)
        return news

    def select(self, pool: list[Segment], count: int, sums: SegmentSums | None) -> list[Query]:
        """Up to `count` queries, best first (2.2.4); random where the config says so, or while there are no sums."""
        if self._config.selection == "random" or sums is None:
            return [self._offer(pair, math.nan) for pair in self._draw(pool, count)]
        pairs = self._draw(pool, count * self._config.candidates)
        if not pairs:
            return []
        both = sums([left for left, _ in pairs] + [right for _, right in pairs])
        left, right = both[:, : len(pairs)], both[:, len(pairs) :]
        variance = disagreement(left, right)
        scores = variance
        if self._config.selection == "mutual_information":
            scores = information(left, right, self._error_rate)
        if self._config.selection == "recency":
            cut = np.array([[a.env_steps, b.env_steps] for a, b in pairs], np.float64)
            scores = variance * recency(cut, max(s.env_steps for s in pool), self._config.recency)
        best = np.argsort(-scores, kind="stable")[:count]
        return [self._offer(pairs[i], float(variance[i])) for i in best]

    def _draw(self, pool: list[Segment], count: int) -> list[_Pair]:
        """Distinct pairs not offered before; fewer than `count` where the pool is small."""
        pairs: dict[tuple[int, int], _Pair] = {}
        if len(pool) < 2:
            return []
        told_apart = cache(lambda i: fingerprint(pool[i]))
        for _ in range(10 * count):
            i, j = self._rng.choice(len(pool), 2, replace=False)
            key = _key(pool[i], pool[j])
            if key not in self._offered and pair_of(told_apart(i), told_apart(j)) not in self._spared:
                pairs.setdefault(key, (pool[i], pool[j]))
            if len(pairs) == count:
                break
        return list(pairs.values())

    def _offer(self, pair: _Pair, score: float) -> Query:
        left, right = pair
        self._offered.add(_key(left, right))
        self.next_id += 1
        return Query(self.next_id, left, right, score)

    def get_state(self) -> dict[str, Any]:
        return {"offered": sorted(self._offered), "next_id": self.next_id}

    def set_state(self, values: dict[str, Any]) -> None:
        self._offered = {(a, b) for a, b in values["offered"]}
        self.next_id = int(values["next_id"])


def _key(left: Segment, right: Segment) -> tuple[int, int]:
    return (min(left.id, right.id), max(left.id, right.id))
