"""The queue of pairs: order, memory, undone pairs, and restarts."""

from __future__ import annotations

import itertools

from app.labelling.pair_queue import PairQueue
from core.types import Query
from tests.app.fakes import make_frames, make_query

CLIPS = (make_frames(), make_frames())


def rendered(count: int) -> tuple[PairQueue, list[Query]]:
    pairs, queries = PairQueue(itertools.count(1)), [make_query() for _ in range(count)]
    for query in queries:
        pairs.offer(query)
    for token, _ in pairs.next_renderings():
        pairs.add_clips(token, CLIPS)
    return pairs, queries


def test_three_pairs_are_rendered_ahead() -> None:
    pairs = PairQueue(itertools.count(1))
    for _ in range(9):
        pairs.offer(make_query())
    assert len(pairs.next_renderings()) == 3 and pairs.next_renderings() == []
    assert not pairs.add_clips(99, CLIPS)  # never requested


def test_of_pairs_undone_in_a_row_only_the_last_is_rendered_first() -> None:
    pairs, _ = rendered(1)
    queries = [make_query() for _ in range(50)]
    tokens = [pairs.render_first(query)[0] for query in queries]
    assert pairs.rendering == 1 and pairs.waits_for_undone
    assert [pairs.add_clips(token, CLIPS) for token in tokens] == [False] * 49 + [True]
    shown = pairs.advance()
    assert shown is not None and shown.query is queries[-1]
    again = [query for _, query in pairs.next_renderings()]
    assert all(query is undone for query, undone in zip(again, queries[-2::-1], strict=False)) and again


def test_a_restarted_rollout_leaves_the_shown_and_the_undone_pair() -> None:
    pairs, _ = rendered(3)
    shown = pairs.advance()
    pairs.offer(make_query())
    ((token, _),) = pairs.next_renderings()
    assert shown is not None and pairs.known == (shown.query,)
    assert pairs.forget_offered() == [token]
    assert pairs.shown is shown and pairs.advance() is None and pairs.next_renderings() == []
    _, undone = pairs.render_first(make_query())
    assert pairs.forget_offered() == [] and pairs.known == (undone,) and pairs.waits_for_undone


def test_a_query_that_was_answered_otherwise_is_dropped_wherever_it_waits() -> None:
    pairs, (first, second) = rendered(2)
    third, fourth = make_query(), make_query()
    pairs.offer(third)
    pairs.render_first(fourth)
    for query in (fourth, third, first):
        pairs.drop(query)
    assert not pairs.waits_for_undone and pairs.rendering == 0 and pairs.next_renderings() == []
    shown = pairs.advance()
    assert shown is not None and shown.query is second and pairs.advance() is None
