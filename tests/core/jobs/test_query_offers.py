"""Queries of the rollout job: which and how many it offers, without repetition even after a restart."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from core.events import (
    AnswersReplayed,
    DemonstrationRecorded,
    Event,
    FinishRequested,
    JobSpec,
    JobState,
    PreferenceAdded,
    PreferenceWithdrawn,
    QueryOffered,
    QueryWithdrawn,
    RewardPublished,
    RolloutBatchReady,
    RolloutReported,
    Waited,
)
from core.io.segment_codec import fingerprint, pair_of
from core.jobs import build
from core.jobs.query_offers import QueryOffers
from core.preferences.store import PreferenceStore
from core.session.routing import deliver
from core.types import Choice, PolicyComparison, Query, Segment
from tests.core.builders import preference, segment, tiny
from tests.core.played import Played, of, published, rewarded

ASKED = {"teacher": "human", "query__ready": 4, "labels": 40, "steps": 100_000}
"""By the paper's schedule; robots in the window follow the answers."""


class Lent:
    """A rollout job as a port, and its offered queries that are not answered yet."""

    def __init__(self, store: PreferenceStore, state: JobState | None = None, schedule: str = "paper") -> None:
        self.played = Played("rollout", state, **ASKED, query__schedule=schedule)
        self.store, self.schedule = store, schedule
        self.before_the_labeller: list[Query] = []

    def send(self, event: Event) -> None:
        self.played.job.receive(event)

    def turn(self, *events: Event) -> list[Query]:
        for event in events:
            deliver(event, {"rollout": self})
        offered = [event.query for event in of(QueryOffered, self.played.turn())]
        self.before_the_labeller += offered
        return offered

    def answer(self) -> Query:
        """Answer the oldest pair, and return the query."""
        query = self.before_the_labeller.pop(0)
        self.turn(PreferenceAdded(self.store.add(query, Choice.LEFT, "human")))
        return query

    def started_again(self, state: JobState | None, waiting: tuple[Query, ...] = ()) -> tuple[Lent, list[Query]]:
        """Return another rollout from that state, and its offers after it has received the answers."""
        again = Lent(self.store, state, self.schedule)
        replayed = [PreferenceAdded(preference) for preference in self.store.each()]
        return again, again.turn(*replayed, AnswersReplayed(waiting), published(again.played, 0))


def test_a_session_with_a_taken_reward_offers_pairs_before_any_answer() -> None:
    rollout = Played("rollout", **ASKED, query__schedule="answers", rollout__steps_per_answer=1)
    offered, version = [], 0
    events = rollout.turn(published(rollout, 0), rewarded(rollout))
    while not offered and version < 50:
        version += 1
        offered += of(QueryOffered, events)
        events = rollout.turn(published(rollout, version))
    assert offered


@pytest.mark.slow_after_first
@pytest.mark.parametrize("fitted", [True, False])
def test_training_never_waits_for_an_answer_without_a_pair(fitted: bool) -> None:
    rollout = Played("rollout", **ASKED, query__schedule="answers", rollout__steps_per_answer=1, query__rest=40)
    events = rollout.turn(published(rollout, 0), *([rewarded(rollout)] if fitted else []))
    version, waiting, answered = 0, deque[Query](), 0
    while answered < 60:
        waiting += [event.query for event in of(QueryOffered, events)]
        gone = {event.query_id for event in of(QueryWithdrawn, events)}
        waiting = deque(query for query in waiting if query.id not in gone)
        if of(RolloutBatchReady, events):
            version += 1
            events = rollout.turn(published(rollout, version))
            continue
        assert waiting, events[-1]
        answered += 1
        events = rollout.turn(PreferenceAdded(preference(answered, Choice.CANT_TELL, waiting.popleft())))


@pytest.mark.slow
def test_the_untrained_policy_is_shown_once_before_the_first_fit() -> None:
    many = {"query__first_clips": 12, "rollout__demonstrate_every": 1}
    rollout = Played("rollout", **ASKED, query__schedule="answers", rollout__steps_per_answer=1, **many)
    events = rollout.turn(published(rollout, 0))
    assert len(of(RolloutReported, events)) > 2 and len(of(DemonstrationRecorded, events)) == 1


def test_nothing_is_collected_before_the_answers_are_replayed() -> None:
    job = build(JobSpec("rollout", tiny(**ASKED).to_dict(), None))
    job.receive(published(Played("rollout", **ASKED), 0))
    assert of(Waited, list(islice(job.run(), 1))) == [Waited("rollout", "waiting for the answers")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PreferenceStore]:
    made = PreferenceStore(tmp_path / "preferences")
    made.add(Query(1, segment(900), segment(901), 0.5), Choice.TIE, "human")  # else its numbers would be the pool's
    yield made
    made.close()


def pairs(queries: list[Query]) -> set[str]:
    return {pair_of(fingerprint(query.left), fingerprint(query.right)) for query in queries}


def saved_then_answered(store: PreferenceStore, snapshot: RewardPublished | None) -> tuple[Lent, JobState, list[Query]]:
    """A rollout, its checkpoint, and all its answered pairs, most of them later than the checkpoint."""
    rollout = Lent(store)
    rollout.turn(published(rollout.played, 0))
    rollout.turn(*([snapshot] if snapshot else []))
    answered = [rollout.answer() for _ in range(6)]
    state = rollout.played.job.get_state()
    return rollout, state, answered + [rollout.answer() for _ in range(12)]


def test_the_number_of_a_query_asked_after_the_checkpoint_is_not_given_again(store: PreferenceStore) -> None:
    rollout, state, answered = saved_then_answered(store, None)
    _, offered = rollout.started_again(state, (rollout.before_the_labeller[0],))
    numbers = [query.id for query in [*answered, rollout.before_the_labeller[0], *offered]]
    assert len(set(numbers)) == len(numbers) == 22
    store.add(replace(answered[0], id=(1 << 62) - 1, right=segment(77)), Choice.LEFT, "human")
    _, offered = rollout.started_again(state)
    assert max(query.id for query in offered) < 100


@pytest.mark.parametrize("fitted", [False, True])
def test_pairs_answered_after_the_checkpoint_are_not_offered_again(store: PreferenceStore, fitted: bool) -> None:
    rollout, state, answered = saved_then_answered(store, rewarded(Played("rollout")) if fitted else None)
    again, offered = rollout.started_again(state)
    offered += [again.answer() for _ in range(20)]
    assert len(pairs(answered)) == 18 and len(offered) == 24
    assert not pairs(offered) & pairs(answered)


@pytest.mark.parametrize("schedule", ["paper", "answers"])
def test_pairs_answered_before_the_first_checkpoint_are_not_offered_again(
    store: PreferenceStore, schedule: str
) -> None:
    rollout = Lent(store, schedule=schedule)
    rollout.turn(published(rollout.played, 0))
    answered = [rollout.answer() for _ in range(4)]
    again, offered = rollout.started_again(None)
    offered += [again.answer() for _ in range(4)]
    assert len(pairs(answered)) == 4 and not pairs(offered) & pairs(answered)


def test_the_pair_on_screen_is_not_offered_again_and_counts_as_ready(store: PreferenceStore) -> None:
    rollout, state, answered = saved_then_answered(store, None)
    on_screen = rollout.before_the_labeller[0]
    for waiting, ready in (((on_screen,), 3), ((answered[-1],), 4)):  # the second one was answered while it was sent
        _, offered = rollout.started_again(state, waiting)
        assert len(offered) == ready
        assert not pairs(offered) & pairs([*waiting, *answered])


def test_nothing_is_offered_before_all_answers_are_known(store: PreferenceStore) -> None:
    _, state, _ = saved_then_answered(store, None)
    job = build(JobSpec("rollout", Played("rollout", **ASKED).config.to_dict(), state))
    events = job.run()
    assert not of(QueryOffered, list(islice(events, 10)))
    job.receive(AnswersReplayed())
    assert of(QueryOffered, list(islice(events, 1)))


def test_a_new_segment_with_the_number_of_a_lost_one_is_distinct(store: PreferenceStore) -> None:
    """Segments cut after the checkpoint are lost, and new ones get their numbers."""
    left, right = segment(0), segment(1)
    lost = Query(77, replace(segment(5000), id=0), replace(segment(5001), id=1), 0.5)
    for answered, offered in ((lost, 1), (Query(78, left, right, 0.5), 0)):
        store.add(answered, Choice.LEFT, "human")
        offers = QueryOffers(tiny(**ASKED), np.random.default_rng(0))
        for event in (*map(PreferenceAdded, store.each()), AnswersReplayed()):
            deliver(event, {"rollout": SimpleNamespace(send=offers.receive)})
        assert len(list(offers.offer([left, right], 0, None))) == offered


def test_segments_are_identified_by_their_content_even_from_the_store(store: PreferenceStore) -> None:
    left, right = segment(13), segment(14)
    store.add(Query(1, left, right, 0.5), Choice.LEFT, "human")
    kept = list(store.each())[-1].query
    assert (kept.left.id, kept.right.id) != (left.id, right.id)
    assert [fingerprint(kept.left), fingerprint(kept.right)] == [fingerprint(left), fingerprint(right)]
    before = fingerprint(left)
    left.actions[-1, -1] += 1e-6
    assert len({before, fingerprint(left), fingerprint(right)}) == 3


def test_more_pairs_are_offered_if_all_are_answered_during_a_batch(store: PreferenceStore) -> None:
    rollout = Lent(store)
    rollout.turn(published(rollout.played, 0))
    rollout.turn(rewarded(rollout.played))
    deliver(published(rollout.played, 1), {"rollout": rollout})
    events = rollout.played.job.run()
    said = list(filter(None, takewhile(lambda event: event is not None, islice(events, 9))))  # until mid-batch
    assert of(RolloutBatchReady, said) == [] and len(rollout.before_the_labeller) == 4
    for query in rollout.before_the_labeller:
        answer = PreferenceAdded(store.add(query, Choice.RIGHT, "human"))
        deliver(answer, {"rollout": rollout})
    offered = list(filter(None, islice(events, 4)))
    assert len(of(QueryOffered, offered)) == 4
    said += filter(None, islice(events, 5))
    assert len(of(RolloutBatchReady, said)) == 1
    assert of(QueryOffered, said) == []


def test_cant_tell_is_replaced_by_another_pair() -> None:
    """It does not count as a label, so the schedule still requires one."""
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    first = [PreferenceAdded(preference(i, Choice.CANT_TELL, o.query)) for i, o in enumerate(offered)]
    again = of(QueryOffered, rollout.turn(*first))
    assert len(again) >= len(offered) > 0
    answers = [PreferenceAdded(preference(50 + i, Choice.TIE, o.query)) for i, o in enumerate(again)]
    assert of(QueryOffered, rollout.turn(*answers)) == []


def test_the_oracle_receives_the_pool_if_its_limits_need_it() -> None:
    rollout = Played("rollout", oracle__skip=0.2)
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    returns = [float(s.true_rewards.sum(dtype="float64")) for s in rollout.job.pool]
    so_far = [(min(returns[:n]), np.mean(returns[:n])) for n in range(1, len(returns) + 1)]
    for found in (o.query.pool_returns for o in offered):
        assert any((found.worst, found.mean) == pytest.approx(expected) for expected in so_far)
    plain = Played("rollout")
    assert [o.query.pool_returns for o in of(QueryOffered, plain.turn(published(plain, 0)))] == [None] * len(offered)
    assert offered


def test_pairs_carry_the_prediction_of_each_member() -> None:
    rollout = Played("rollout", teacher="human", query__ready=4, labels=100)
    before = of(QueryOffered, rollout.turn(published(rollout, 0)))
    assert [o.query.predicted for o in before] == [()] * 4
    ensemble = rewarded(rollout)
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(before)]
    offered = of(QueryOffered, rollout.turn(ensemble, *answers))
    assert len(offered) == 4
    for query in (o.query for o in offered):
        left, right = rollout.job.ensemble.predicted_returns([query.left, query.right]).T
        assert query.predicted == pytest.approx(1 / (1 + np.exp(right.astype(float) - left)))
        assert query.disagreement == pytest.approx(np.var(query.predicted))


def test_a_withdrawn_answer_is_due_again() -> None:
    rollout = Played("rollout")
    offered = of(QueryOffered, rollout.turn(published(rollout, 0)))
    answers = [PreferenceAdded(preference(i, Choice.LEFT, o.query)) for i, o in enumerate(offered)]
    rollout.turn(*answers)
    assert len(of(QueryOffered, rollout.turn(PreferenceWithdrawn(0)))) == 1


def test_a_pair_whose_answer_was_undone_is_not_asked_again_after_a_restart(store: PreferenceStore) -> None:
    lent = Lent(store)
    before = lent.played.job.get_state()
    lent.turn(published(lent.played, 0))
    query = lent.answer()
    assert store.undo() is not None
    (undone,) = store.undone()
    assert pairs([undone.query]) == pairs([query])
    again = Lent(store, before)
    offered = again.turn(AnswersReplayed((), (undone.query,)), published(again.played, 0))
    assert offered and not pairs([query]) & pairs(offered)
    redone = store.redo()
    assert redone is not None and store.undone() == []


def prepared(chosen_at: int) -> tuple[QueryOffers, list[Segment], list[Query]]:
    """Return offers that may be renewed after 100 steps, their pool, and three queries that they have made."""
    config = tiny(teacher="human", query__ready=3, query__schedule="answers", rollout__steps_per_answer=100)
    offers = QueryOffers(config, np.random.default_rng(0))
    offers.receive(AnswersReplayed())
    pool = [segment(number) for number in range(12)]
    return offers, pool, [event.query for event in offers.offer(pool, chosen_at, None)]


def renewed(disagreeing: float, chosen_at: int, now: int) -> list[int]:
    """Return the ids of the withdrawn ones of three prepared queries, for this disagreement on new pairs."""
    offers, pool, queries = prepared(chosen_at)
    known = {side.id for query in queries for side in (query.left, query.right)}

    class Members:
        """Two members that agree on the segments shown, and disagree by this much on all others."""

        def predicted_returns(self, segments: list[Segment]) -> np.ndarray:
            worth = np.array([0.0 if s.id in known else s.id for s in segments], np.float32)
            return np.stack([worth, -disagreeing * worth])

    withdrawn = [event.query_id for event in offers.renew(pool, now, Members())]
    assert len(list(offers.offer(pool, now, None))) == len(withdrawn)
    return withdrawn


def test_pairs_prepared_ahead_are_renewed_once_the_members_agree_on_them() -> None:
    assert renewed(disagreeing=1.0, chosen_at=0, now=100) == [2, 3]  # the first one is on screen
    assert renewed(disagreeing=1.0, chosen_at=0, now=99) == []
    assert renewed(disagreeing=-1.0, chosen_at=0, now=100) == []


def test_a_pair_with_more_than_half_of_the_best_disagreement_is_kept_until_it_is_checked_again() -> None:
    offers, pool, queries = prepared(chosen_at=0)
    left, right = {query.left.id for query in queries}, {query.right.id for query in queries}
    assert len(left | right) == 6

    def withdrawn(share: float, now: int) -> list[int]:
        """Return the withdrawn ids if the disagreement on the prepared pairs is this share of 1/4, that on new ones."""
        chance = 0.5 + math.sqrt(share) / 2  # one member's, the other's is 1 - chance
        odds = math.log(chance / (1 - chance))

        def predicted_returns(segments: list[Segment]) -> np.ndarray:
            worth = [odds if s.id in left else 0.0 if s.id in right else 1000 * (s.id + 1) for s in segments]
            return np.stack([np.array(worth), -np.array(worth)])

        members = SimpleNamespace(predicted_returns=predicted_returns)
        return [event.query_id for event in offers.renew(pool, now, members)]

    assert withdrawn(0.51, now=100) == withdrawn(0.49, now=199) == []
    assert withdrawn(0.49, now=200) == [2, 3]


def test_pairs_after_a_finish_compare_its_policy_with_earlier_ones() -> None:
    """They are not renewed when the members agree on them, because they correct a wrong reward that all agree on."""
    challenging = {"query__selection": "challenge", "query__ready": 3}
    config = tiny(teacher="human", query__schedule="answers", rollout__steps_per_answer=100, **challenging)
    offers = QueryOffers(config, np.random.default_rng(0))
    offers.receive(AnswersReplayed())

    class Members:
        """Two members that agree on segments of earlier policies, and on none of the others."""

        def predicted_returns(self, segments: list[Segment]) -> np.ndarray:
            worth = np.array([-50.0 if s.id < 6 else s.id for s in segments], np.float32)
            return np.stack([worth, np.where(worth < 0, worth, -worth)])

    pool = [replace(segment(number), env_steps=number) for number in range(12)]
    assert len(list(offers.offer(pool, 0, Members()))) == 3
    assert [event.query_id for event in offers.compare_policies(6)] == [2, 3]
    offered = [event.query for event in offers.offer(pool, 0, Members())]
    assert len(offered) == 2 and all((q.left.id < 6) != (q.right.id < 6) for q in offered)
    assert [q.comparison for q in offered] == [PolicyComparison(6, 6), PolicyComparison(6, 5)]
    assert list(offers.renew(pool, 1000, Members())) == []


def test_a_finish_keeps_the_clips_of_earlier_policies_and_ends_with_pairs_of_them() -> None:
    """The pool has 8 segments; a finish with many more segments displaces none of the earlier half."""
    small = {"query__pool": 8, "query__pool_old": 0.5, "query__selection": "challenge", "rollout__finish_steps": 4000}
    asked = {**ASKED, "query__schedule": "answers", "rollout__steps_per_answer": 100_000, **small}
    rollout = Played("rollout", **asked)
    rollout.turn(published(rollout, 0), rewarded(rollout))
    for version in range(1, 6):
        rollout.turn(published(rollout, version))
    before = list(rollout.job.pool)
    rollout.turn(FinishRequested())
    asked_at = rollout.job.budget.finish_began
    turns = (rollout.turn(published(rollout, version)) for version in range(6, 200))
    last = next(events for events in turns if of(QueryWithdrawn, events))
    offered = of(QueryOffered, last)
    earlier = [one.id for one in rollout.job.pool if one.env_steps < asked_at]
    assert len(earlier) == 4 and {one.id for one in before} >= set(earlier)
    assert offered and all((q.query.left.id in earlier) != (q.query.right.id in earlier) for q in offered)


def test_the_first_pairs_are_about_many_clips() -> None:
    """Four clips are collected for each pair; with one for each, ten pairs would show only the first eight clips."""
    rollout = Played("rollout", labels=40, steps=100_000)
    queries = [event.query for event in of(QueryOffered, rollout.turn(published(rollout, 0)))]
    assert len(queries) == 10 and len({side.id for query in queries for side in (query.left, query.right)}) > 12
