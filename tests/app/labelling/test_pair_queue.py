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


def test_one_pair_is_rendered_ahead() -> None:
    pairs = PairQueue(itertools.count(1))
    for _ in range(3):
        pairs.offer(make_query())
    assert len(pairs.next_renderings()) == 1 and pairs.next_renderings() == []
    assert not pairs.add_clips(99, CLIPS)  # never requested


def test_a_withdrawn_query_is_dropped_unless_it_is_on_screen_or_undone() -> None:
    pairs, queries = rendered(1)
    shown, (ahead, waiting, undone) = pairs.advance(), [make_query() for _ in range(3)]
    for query in (ahead, waiting):
        pairs.offer(query)
    ((token, _),) = pairs.next_renderings()
    assert pairs.withdraw(waiting.id) == [] and pairs.withdraw(ahead.id) == [token]
    assert pairs.next_renderings() == [] and pairs.rendering == 0
    assert pairs.withdraw(queries[0].id) == [] and pairs.shown is shown
    pairs.render_first(undone)
    assert pairs.withdraw(undone.id) == [] and pairs.waits_for_undone


def test_of_pairs_undone_in_a_row_only_the_last_is_rendered_first() -> None:
    pairs, _ = rendered(0)
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
    assert not pairs.waits_for_undone and pairs.rendering == 0
    ((token, query),) = pairs.next_renderings()
    assert query is second and pairs.add_clips(token, CLIPS)
    shown = pairs.advance()
    assert shown is not None and shown.query is second and pairs.advance() is None
