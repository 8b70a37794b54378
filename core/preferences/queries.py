"""Selection of the pairs of segments that are put to the labeller (paper 2.2.4)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from core.config import QueryConfig
from core.io.segment_codec import fingerprint, pair_of
from core.types import Float32, Float64, PolicyComparison, Query, Segment

PredictReturns = Callable[[list[Segment]], Float32]
"""Maps segments to each member's predicted return of each segment, (M, segments)."""
_Pair = tuple[Segment, Segment]
_TRIES = 50
"""Number of failed draws after which a pool is assumed to have no further pair."""
_MAX_ID = 1 << 53
"""Bound on the ids of a session's queries; larger ones are from hand-made files and do not advance `last_id`."""


def disagreement(left: Float32, right: Float32) -> Float64:
    """Return the variance (pairs,) over the members of P[left is preferred] (2.2.4).

    left, right: predicted returns (M, pairs)
    """
    return _preference_probability(left, right).var(axis=0)


def features(segments: Sequence[Segment]) -> Float32 | None:
    """Return features (segments, 2 o) float32: mean and standard deviation of each observed number over a segment's steps.

    They are in standard deviations over the segments, and scaled up if some numbers never vary, so that the mean square
    difference of two random rows is 2. None for pictures.
    """
    if not segments or segments[0].observations.dtype != np.float32:
        return None
    steps = np.stack([segment.observations for segment in segments])
    rows = np.concatenate([steps.mean(1), steps.std(1)], axis=1)
    deviation = rows.std(0)
    varies = deviation > 1e-6
    scale = math.sqrt(len(varies) / max(1, int(varies.sum())))
    return np.asarray(scale * (rows - rows.mean(0)) / np.where(varies, deviation, np.inf), np.float32)


def agreement(left: Float32, right: Float32) -> float:
    """Return the share of the pairs in which all members prefer the same segment.

    left, right: predicted returns (M, pairs)
    """
    votes = (left > right).mean(axis=0)
    return float(((votes == 0) | (votes == 1)).mean())


def predictions(pairs: Sequence[Query], predict: PredictReturns) -> list[tuple[float, ...]]:
    """Return every member's P[left is preferred] for each pair (2.2.3), without the labeller's errors."""
    if not pairs:
        return []
    probabilities = _preference_probability(*_sides([(pair.left, pair.right) for pair in pairs], predict))
    return [tuple(members.tolist()) for members in probabilities.T]


def _sides(pairs: Sequence[_Pair], predict: PredictReturns) -> tuple[Float32, Float32]:
    """Return the predicted returns of the left and of the right segments, (M, pairs) each."""
    returns = predict([left for left, _ in pairs] + [right for _, right in pairs])
    return returns[:, : len(pairs)], returns[:, len(pairs) :]


def _preference_probability(left: Float32, right: Float32) -> Float64:
    """Return P[left is preferred] in float64, for predicted returns of any shape."""
    difference = left.astype(np.float64) - right
    return np.asarray(1 / (1 + np.exp(-difference.clip(-60, 60))))


class QuerySelector:
    """Draws pairs of segments from the pool. No pair is offered twice, and no segment is paired with itself.

    A selector restored from a checkpoint does not know the pairs offered after it, and repeats the same random draws:
    pairs that have been answered are marked with `exclude`. The store numbers segments differently, so pairs are
    recognized by their content.

    The window may show a human a pair a second time, to measure how often the answers agree (core.preferences.review).
    Such pairs come from the store, not from the selector.

    With selection=challenge, a clip that may be the best is compared with the one on which the members disagree most in
    comparison with it. After a finish, the first pairs compare the newest policy with those just before it instead.

    last_id: id of the query offered last
    policy_pairs: number of pairs of two policies that are still to be answered
    policy_split: environment steps that separate these policies
    """

    def __init__(self, config: QueryConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._offered: set[tuple[int, int]] = set()
        self._excluded: set[str] = set()
        self._shown: deque[int] = deque(maxlen=2 * config.rest)
        """Ids of the segments offered last."""
        self.last_id = 0
        self.policy_pairs = self.policy_split = 0
        self._of_two_policies: set[int] = set()
        """Ids of the offered pairs of two policies that are not answered yet."""

    def exclude(self, query: Query) -> bool:
        """Exclude this pair and its id from later selections. Returns False if the pair was excluded before."""
        if query.id < _MAX_ID:
            self.last_id = max(self.last_id, query.id)
        if query.id in self._of_two_policies:
            self._of_two_policies.remove(query.id)
            self.policy_pairs -= 1
        new = query.pair not in self._excluded
        self._excluded.add(query.pair)
        return new

    def await_answer(self, query: Query) -> None:
        """Register a query that was offered before a restart and has no answer yet."""
        if query.comparison is not None and len(self._of_two_policies) < self.policy_pairs:
            self._of_two_policies.add(query.id)

    def select(self, pool: list[Segment], count: int, predict: PredictReturns | None) -> list[Query]:
        """Return up to `count` queries, best first (2.2.4).

        They are random if config.selection is 'random'. Without predictions they are random too, but spread over the pool
        if config.schedule is 'answers'.
        """
        config = self._config
        if config.selection == "random" or predict is None:
            spread = config.by_answers and config.selection != "random"
            pairs = self._draw_spread(pool, count) if spread else self._draw(pool, count)
            return [self._offer(pair, math.nan) for pair in pairs]
        if config.selection == "challenge":
            queries: list[Query] = []
            while len(queries) < count:
                due = self.policy_pairs - len(self._of_two_policies)
                if due > 0 and (pair := self._draw_policy_pair(pool, predict)):
                    queries.append(self._offer(pair, math.nan, PolicyComparison(self.policy_split, due)))
                    self._of_two_policies.add(self.last_id)
                elif challenge := self._draw_challenge(pool, predict):
                    queries.append(self._offer(*challenge))
                else:
                    break
            return queries
        pairs = self._draw(pool, count * config.candidates)
        if not pairs:
            return []
        left, right = _sides(pairs, predict)
        variance = disagreement(left, right)
        best = np.argsort(-variance, kind="stable")[:count]
        return [self._offer(pairs[i], float(variance[i])) for i in best]

    def compare_policies(self, count: int, split: int) -> None:
        """Make the next `count` pairs compare the policies from `split` environment steps on with those before."""
        self.policy_pairs, self.policy_split = count, split
        self._of_two_policies.clear()

    def best_disagreement(self, pool: list[Segment], predict: PredictReturns) -> float:
        """Return the disagreement on the pair that would be chosen now, without offering it."""
        if self._config.selection == "challenge":
            challenge = self._draw_challenge(pool, predict)
            return challenge[1] if challenge else 0.0
        pairs = self._draw(pool, self._config.candidates)
        if not pairs:
            return 0.0
        return float(disagreement(*_sides(pairs, predict)).max())

    def _draw_challenge(self, pool: list[Segment], predict: PredictReturns) -> tuple[_Pair, float] | None:
        """Pair the segment that one member rates highest with the one for which the members disagree most about the comparison.

        Both are among `candidates` random segments, and the member is random, so that each segment that may be the best
        has its turn. The answer corrects a reward that is too high before the policy exploits it, and no answers are
        spent on two bad clips. The idea is that of dueling bandits (Wu and Liu, Double Thompson Sampling for Dueling
        Bandits, 2016). Returns the pair and the disagreement, or None if all such pairs were offered or are too alike.
        """
        pool, rows = self._rested(pool)
        if len(pool) < 2:
            return None
        for _ in range(_TRIES):
            drawn = self._rng.choice(len(pool), min(self._config.candidates, len(pool)), replace=False)
            returns = predict([pool[i] for i in drawn])
            best = int(returns[self._rng.integers(len(returns))].argmax())
            variance = disagreement(np.repeat(returns[:, best, None], len(drawn), axis=1), returns)
            champion = pool[drawn[best]]
            variance[[i == best or _key(champion, pool[j]) in self._offered for i, j in enumerate(drawn)]] = -1
            if rows is not None:
                variance[self._alike(rows[drawn], rows[drawn[best]])] = -1
            other = int(variance.argmax())
            if variance[other] < 0:
                continue
            sides = champion, pool[drawn[other]]
            left, right = sides if self._rng.random() < 0.5 else sides[::-1]
            if not self._was_asked(left, right):
                return (left, right), float(variance[other])
        return None

    def _draw_policy_pair(self, pool: list[Segment], predict: PredictReturns) -> _Pair | None:
        """Pair the best segment of the newest policy with the best one of the policies just before `policy_split`.

        A policy that exploits an error of the reward shows only behaviour that the reward prefers. Challenges among such
        clips do not correct the error, but clips of the behaviour that was unlearned do. The best ones are a random
        member's choice among the latest `candidates` segments of each side: in older ones the robot often falls. Returns
        None if there is no such pair.
        """
        pool, rows = self._rested(pool)
        by_age, most = sorted(range(len(pool)), key=lambda i: pool[i].env_steps), self._config.candidates
        before = [i for i in by_age if pool[i].env_steps < self.policy_split][-most:]
        newest = [i for i in by_age if pool[i].env_steps >= self.policy_split][-most:]
        if not before or not newest:
            return None
        returns = predict([pool[i] for i in (*before, *newest)])
        rating = dict(zip((*before, *newest), returns[self._rng.integers(len(returns))], strict=True))
        best_first = (sorted(side, key=lambda i: -rating[i]) for side in (before, newest))
        for i, j in product(*best_first):
            alike = rows is not None and self._alike(rows[i], rows[j])
            if not alike and not self._was_asked(pool[i], pool[j]):
                return (pool[i], pool[j]) if self._rng.random() < 0.5 else (pool[j], pool[i])
        return None

    def _draw(self, pool: list[Segment], count: int) -> list[_Pair]:
        """Return up to `count` distinct random pairs that were not offered before; fewer from a small pool."""
        pairs: dict[tuple[int, int], _Pair] = {}
        pool, rows = self._rested(pool)
        if len(pool) < 2:
            return []
        for _ in range(10 * count):
            i, j = self._rng.choice(len(pool), 2, replace=False)
            if rows is not None and self._alike(rows[i], rows[j]):
                continue
            if not self._was_asked(pool[i], pool[j]):
                pairs.setdefault(_key(pool[i], pool[j]), (pool[i], pool[j]))
            if len(pairs) == count:
                break
        return list(pairs.values())

    def _rested(self, pool: list[Segment]) -> tuple[list[Segment], Float32 | None]:
        """Return the segments that were not shown recently, and their features if alike ones must not be paired."""
        rested = [segment for segment in pool if segment.id not in self._shown]
        return rested, features(rested) if self._config.alike else None

    def _alike(self, rows: Float32, row: Float32) -> Any:
        """Return whether features (..., f) and (f,) are too similar for a pair, (...) bool."""
        return np.square(rows - row).mean(-1) < 2 * self._config.alike**2

    def _draw_spread(self, pool: list[Segment], count: int) -> list[_Pair]:
        """Return up to `count` pairs of segments that differ from each other and from those shown last.

        Each segment is drawn with a probability proportional to its squared distance to the nearest of these (k-means++).
        """
        rows = features(pool)
        if rows is None:
            return self._draw(pool, count)
        near = [i for i, segment in enumerate(pool) if segment.id in self._shown]
        pairs: dict[tuple[int, int], _Pair] = {}
        for _ in range(_TRIES):
            distances = np.square(rows[:, None] - rows[near]).sum(2).min(1) if near else np.ones(len(pool))
            chosen: list[int] = []
            while len(chosen) < 2 * (count - len(pairs)) and distances.any():
                chosen.append(int(self._rng.choice(len(pool), p=distances / distances.sum())))
                distances = np.minimum(
                    distances if len(chosen) > 1 or near else np.inf, np.square(rows - rows[chosen[-1]]).sum(1)
                )
            order = self._rng.permutation(chosen)
            drawn = [(pool[i], pool[j]) for i, j in zip(order[::2], order[1::2], strict=False)]
            pairs |= {_key(*pair): pair for pair in drawn if not self._was_asked(*pair)}
            if len(pairs) == count:
                break
        return list(pairs.values())

    def _was_asked(self, left: Segment, right: Segment) -> bool:
        """Return whether the pair was offered before, by this selector or before a restart."""
        return _key(left, right) in self._offered or pair_of(fingerprint(left), fingerprint(right)) in self._excluded

    def _offer(self, pair: _Pair, variance: float, comparison: PolicyComparison | None = None) -> Query:
        left, right = pair
        self._offered.add(_key(left, right))
        self._shown += (left.id, right.id)
        self.last_id += 1
        return Query(self.last_id, left, right, variance, comparison=comparison)

    def get_state(self) -> dict[str, Any]:
        """Return the state as JSON values, without the random generator, and the excluded pairs, which are in the store."""
        return {
            "offered": sorted(self._offered),
            "next_id": self.last_id,
            "shown": list(self._shown),
            "policy_pairs": [self.policy_pairs, self.policy_split],
        }

    def set_state(self, values: dict[str, Any]) -> None:
        self._offered = {(a, b) for a, b in values["offered"]}
        self._shown.extend(map(int, values["shown"]))
        self.last_id = int(values["next_id"])
        self.policy_pairs, self.policy_split = map(int, values["policy_pairs"])


def _key(left: Segment, right: Segment) -> tuple[int, int]:
    return (min(left.id, right.id), max(left.id, right.id))
