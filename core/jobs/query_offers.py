"""Queries that the rollout offers to the labeller: how many are due, which pairs, and which are waiting for an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from core.config import Config
from core.events import (
    AnswersReplayed,
    Event,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    QueryOffered,
    QueryWithdrawn,
)
from core.preferences import oracle, person
from core.preferences.queries import QuerySelector, disagreement, predictions
from core.preferences.schedule import scheduled
from core.reward.ensemble import RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.types import Query, Segment, Teacher

_POLICY_PAIRS = 6
"""Pairs after a finish that compare the finished policy with earlier ones: enough to correct a reward that overrates it."""


class QueryOffers:
    """Offers as many queries as the schedule asks for, or keeps some ready for a human."""

    def __init__(self, config: Config, rng: np.random.Generator) -> None:
        self._config = config
        self.selector = QuerySelector(config.query, rng)
        self._outstanding: dict[int, tuple[Query | None, int]] = {}
        """Queries that wait for an answer, by id, oldest first, each with the environment steps when it was chosen. None
        in place of a query whose segments only the labeller has."""
        self.usable: set[int] = set()
        """Ids of the preferences that count as labels: all but "can't tell"."""
        self.replayed = False
        """True if the answers that the session had when this job was started have been received."""

    @property
    def any_waiting(self) -> bool:
        """True if a query is waiting for an answer."""
        return bool(self._outstanding)

    def receive(self, event: Event) -> None:
        match event:
            case PreferenceAdded(preference) | PreferenceChanged(preference):
                self.selector.exclude(preference.query)
                self._outstanding.pop(preference.query.id, None)
                self.usable.discard(preference.id)
                if preference.choice.usable:
                    self.usable.add(preference.id)
            case PreferenceWithdrawn(preference_id):
                self.usable.discard(preference_id)
            case QueryWithdrawn(query_id):
                self._outstanding.pop(query_id, None)
            case AnswersReplayed(waiting, undone):
                self.replayed = True
                # A waiting query that was answered meanwhile is among the replayed ones.
                for query in waiting:
                    if self.selector.exclude(query):
                        self.selector.await_answer(query)
                        self._outstanding[query.id] = None, 0
                for query in undone:
                    self.selector.exclude(query)

    def offer(
        self,
        pool: Iterable[Segment],
        env_steps: int,
        ensemble: RewardEnsemble | ImageEnsemble | None,
        most: int | None = None,
    ) -> Iterator[QueryOffered]:
        """Offer the queries that are missing now, ranked by the ensemble if there is one.

        most: largest number of answers and waiting queries together; None for as many as are due
        """
        if not self.replayed:  # stored pairs must not be offered again
            return
        human = self._config.teacher == Teacher.HUMAN
        missing = self._config.query.ready if human else scheduled(env_steps, self._config) - len(self.usable)
        missing -= len(self._outstanding)
        if most is not None:
            missing = min(missing, most - len(self.usable) - len(self._outstanding))
        if missing <= 0:
            return
        segment_sums = ensemble.predicted_returns if ensemble else None
        segments = list(pool)
        simulated = self._config.teacher == Teacher.PERSON
        returns = person.pool_returns(segments) if simulated else oracle.pool_returns(segments, self._config.oracle)
        queries = self.selector.select(segments, missing, segment_sums)
        predicted: list[tuple[float, ...]] = [()] * len(queries)
        if segment_sums and human:  # shown on request after the answer
            predicted = predictions(queries, segment_sums)
        for query, of_members in zip(queries, predicted, strict=True):
            self._outstanding[query.id] = query, env_steps
            yield QueryOffered(replace(query, pool_returns=returns, predicted=of_members))

    def compare_policies(self, before: int) -> Iterator[QueryWithdrawn]:
        """Make the next pairs compare the newest policy with those from before this number of environment steps.

        Prepared pairs are withdrawn, except the one on screen.
        """
        self.selector.compare_policies(_POLICY_PAIRS, before)
        for query_id in list(self._outstanding)[1:]:
            del self._outstanding[query_id]
            yield QueryWithdrawn(query_id)

    def renew(
        self, pool: Iterable[Segment], env_steps: int, ensemble: RewardEnsemble | ImageEnsemble
    ) -> Iterator[QueryWithdrawn]:
        """Withdraw prepared queries on which the members disagree less than half as much as on a new pair.

        The oldest query, which is on screen, stays, as do those that compare the newest policy with earlier ones, which
        were not chosen for disagreement. Any other is checked again only after config.rollout.steps_per_answer steps,
        because the clips of a new query have to be rendered.
        """
        old = [
            query
            for query, chosen in list(self._outstanding.values())[1:]
            if query is not None
            and query.comparison is None
            and env_steps - chosen >= self._config.rollout.steps_per_answer
        ]
        if not old:
            return
        score = self.selector.best_disagreement(list(pool), ensemble.predicted_returns)
        returns = ensemble.predicted_returns([side for query in old for side in (query.left, query.right)])
        for query, now in zip(old, disagreement(returns[:, ::2], returns[:, 1::2]), strict=True):
            if now < score / 2:
                del self._outstanding[query.id]
                yield QueryWithdrawn(query.id)
            else:
                self._outstanding[query.id] = query, env_steps
