"""After a kill, or a new start of the rollout alone, no pair comes to the labeller that he has seen already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path

import numpy as np
import pytest

from core.events import (
    AnswersReplayed,
    Event,
    JobSpec,
    JobState,
    PreferenceAdded,
    QueryOffered,
    RewardPublished,
    RolloutBatchReady,
)
from core.io.segment_codec import fingerprint, pair_of
from core.jobs import build
from core.preferences.store import PreferenceStore
from core.session.routing import deliver
from core.types import Choice, Query, Segment
from tests.core.builders import segment
from tests.core.picture_toys import packed_whole
from tests.core.played import Played, of, published, rewarded

ASKED = {"teacher": "human", "query__ready": 4, "labels": 40, "steps": 100_000}


class Lent:
    """A rollout as a port, and what is offered by it and not answered."""

    def __init__(self, store: PreferenceStore, state: JobState | None = None) -> None:
        self.played = Played("rollout", state, **ASKED)
        self.store = store
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
        """Its oldest pair is answered."""
        query = self.before_the_labeller.pop(0)
        self.turn(PreferenceAdded(self.store.add(query, Choice.LEFT, "human")))
        return query

    def started_again(self, state: JobState, waiting: tuple[Query, ...] = ()) -> tuple[Lent, list[Query]]:
        """Another from that state, and what it offers once it has heard of the answers."""
        again = Lent(self.store, state)
        replayed = [PreferenceAdded(preference) for preference in self.store.each()]
        return again, again.turn(*replayed, AnswersReplayed(waiting), published(again.played, 0))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PreferenceStore]:
    made = PreferenceStore(tmp_path / "preferences")
    made.add(Query(1, segment(900), segment(901), 0.5), Choice.TIE, "human")  # else its numbers would be the pool's
    yield made
    made.close()


def pairs(queries: list[Query]) -> set[str]:
    return {pair_of(fingerprint(query.left), fingerprint(query.right)) for query in queries}


def saved_then_answered(store: PreferenceStore, snapshot: RewardPublished | None) -> tuple[Lent, JobState, list[Query]]:
    """A rollout, its checkpoint, and all that it has had answered, most of it after that."""
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
def test_what_was_answered_after_the_checkpoint_is_not_offered_again(store: PreferenceStore, fitted: bool) -> None:
    rollout, state, answered = saved_then_answered(store, rewarded(Played("rollout")) if fitted else None)
    again, offered = rollout.started_again(state)
    offered += [again.answer() for _ in range(20)]
    assert len(pairs(answered)) == 18 and len(offered) == 24
    assert not pairs(offered) & pairs(answered)


def test_the_pair_on_screen_is_not_offered_again_and_counts_as_one_that_is_ready(store: PreferenceStore) -> None:
    rollout, state, answered = saved_then_answered(store, None)
    on_screen = rollout.before_the_labeller[0]
    for waiting, ready in (((on_screen,), 3), ((answered[-1],), 4)):  # the latter was answered on the way there
        _, offered = rollout.started_again(state, waiting)
        assert len(offered) == ready
        assert not pairs(offered) & pairs([*waiting, *answered])


def test_nothing_is_offered_before_all_answers_are_known(store: PreferenceStore) -> None:
    _, state, _ = saved_then_answered(store, None)
    job = build(JobSpec("rollout", Played("rollout", **ASKED).config.to_dict(), state))
    events = job.run()
    assert [type(next(events)).__name__ for _ in range(3)] == ["RolloutReported", "Waited", "Waited"]
    job.receive(AnswersReplayed())
    assert isinstance(next(events), QueryOffered)


def test_a_new_segment_with_the_number_of_a_lost_one_is_another_segment(store: PreferenceStore) -> None:
    """What was cut after the checkpoint is lost with its numbers, which others then get."""
    rollout = Lent(store)
    state = rollout.played.job.get_state()  # nothing has been cut
    rollout.turn(published(rollout.played, 0))
    pool = rollout.played.job.pool.all()  # type: ignore[attr-defined]
    lost = Query(77, replace(segment(5000), id=pool[0].id), replace(segment(5001), id=pool[1].id), 0.5)
    store.add(lost, Choice.LEFT, "human")
    again, offered = rollout.started_again(state)
    assert len(offered) == 4
    asked = Query(78, pool[0], pool[1], 0.5)
    selector = again.played.job.offers.selector  # type: ignore[attr-defined]
    selector.set_state({"offered": [], "next_id": 0})
    assert len(selector.select(pool[:2], 1, None)) == 1
    selector.set_state({"offered": [], "next_id": 0})
    again.turn(PreferenceAdded(store.add(asked, Choice.LEFT, "human")))
    assert selector.select(pool[:2], 1, None) == []


def in_pictures(number: int) -> Segment:
    rng = np.random.default_rng(3)
    plain = segment(number)
    pixels = rng.integers(0, 9, (plain.length, 4 * 6 * 5)).astype(np.uint8)
    return packed_whole(replace(plain, observations=pixels), (4, 6, 5))


@pytest.mark.parametrize("make", [segment, in_pictures])
def test_a_segment_is_known_by_what_is_in_it_also_from_the_store(
    make: Callable[[int], Segment], store: PreferenceStore
) -> None:
    left, right = make(13), make(14)
    store.add(Query(1, left, right, 0.5), Choice.LEFT, "human")
    kept = store.all()[-1].query
    assert (kept.left.id, kept.right.id) != (left.id, right.id)
    assert [fingerprint(kept.left), fingerprint(kept.right)] == [fingerprint(left), fingerprint(right)]
    moved = left.actions.copy()
    moved[-1, -1] += 1e-6
    changed = {fingerprint(left), fingerprint(right), fingerprint(replace_actions(left, moved))}
    assert len(changed) == 3


def replace_actions(of_segment: Segment, actions: np.ndarray) -> Segment:
    plain = Segment(1, of_segment.observations, actions, of_segment.states, None, of_segment.env_steps)
    return plain if of_segment.observations.dtype != np.uint8 else packed_whole(plain, (4, 6, 5))


def test_a_person_who_answers_all_that_is_ready_while_a_batch_runs_is_offered_more(store: PreferenceStore) -> None:
    rollout = Lent(store)
    rollout.turn(published(rollout.played, 0))
    rollout.turn(rewarded(rollout.played))
    deliver(published(rollout.played, 1), {"rollout": rollout})
    events = rollout.played.job.run()
    said = list(filter(None, takewhile(lambda event: event is not None, islice(events, 9))))  # till amid the batch
    assert of(RolloutBatchReady, said) == [] and len(rollout.before_the_labeller) == 4
    for query in rollout.before_the_labeller:
        answer = PreferenceAdded(store.add(query, Choice.RIGHT, "human"))
        deliver(answer, {"rollout": rollout})
    offered = list(filter(None, islice(events, 4)))
    assert len(of(QueryOffered, offered)) == 4
    said += filter(None, islice(events, 5))
    assert len(of(RolloutBatchReady, said)) == 1
    assert of(QueryOffered, said) == []
