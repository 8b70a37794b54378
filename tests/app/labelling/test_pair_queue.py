from __future__ import annotations

import itertools

from app.labelling.pair_queue import PairQueue
from core.types import Query
from tests.app.fakes import make_frames, make_query

CLIPS = (make_frames(), make_frames())


def filled(count: int) -> tuple[PairQueue, list[Query]]:
    pairs, queries = PairQueue(itertools.count(1)), [make_query() for _ in range(count)]
    for query in queries:
        pairs.offer(query)
    for token, _ in pairs.next_renderings():
        pairs.drawn(token, CLIPS)
    return pairs, queries


def test_pairs_show_in_the_order_offered() -> None:
    pairs, queries = filled(3)
    assert [pair.query for pair in (pairs.advance(), pairs.advance(), pairs.advance()) if pair] == queries
    assert pairs.advance() is None


def test_only_three_are_drawn_ahead() -> None:
    pairs = PairQueue(itertools.count(1))
    for _ in range(9):
        pairs.offer(make_query())
    assert len(pairs.next_renderings()) == 3
    assert pairs.next_renderings() == []


def test_clips_that_nobody_waits_for_are_not_taken() -> None:
    assert not PairQueue(itertools.count(1)).drawn(7, CLIPS)


def test_a_pair_taken_back_goes_before_the_shown_one() -> None:
    pairs, queries = filled(3)
    first = pairs.advance()
    assert first
    pairs.advance()
    pairs.put_first(first)
    assert pairs.shown is first
    following = pairs.advance()
    assert following and following.query is queries[1]


def test_nothing_shows_before_a_pair_that_is_drawn_anew() -> None:
    pairs, _ = filled(2)
    pairs.advance()
    old = make_query()
    token, _ = pairs.draw_first(old)
    assert pairs.shown is None and pairs.advance() is None
    pairs.drawn(token, CLIPS)
    back = pairs.advance()
    assert back and back.query is old


def test_taking_many_back_keeps_few_clips_in_memory() -> None:
    pairs, _ = filled(3)
    pairs.advance()
    for _ in range(20):
        token, _ = pairs.draw_first(make_query())
        pairs.drawn(token, CLIPS)
        pairs.advance()
    assert len(pairs._ready) <= 4


def test_what_a_new_rollout_does_not_know_is_forgotten() -> None:
    pairs, _ = filled(3)
    shown = pairs.advance()
    pairs.offer(make_query())
    assert shown is not None and pairs.kept == (shown.query,)
    pairs.forget_offered()
    assert pairs.shown is shown
    assert pairs.advance() is None and pairs.next_renderings() == [] and pairs.kept == ()


def test_a_pair_that_was_taken_back_is_kept_while_it_is_drawn() -> None:
    pairs, _ = filled(3)
    pairs.advance()
    _, query = pairs.draw_first(make_query())
    assert pairs.kept == (query,)
    pairs.forget_offered()
    assert pairs.kept == (query,) and pairs.waits_for_undone


def test_what_was_being_drawn_can_be_asked_for_again() -> None:
    pairs = PairQueue(itertools.count(1))
    pairs.offer(make_query())
    asked = pairs.next_renderings()
    assert pairs.redraw() == asked


def test_answers_taken_back_in_a_row_do_not_fill_the_memory() -> None:
    pairs, _ = filled(1)
    queries = [make_query() for _ in range(50)]
    asked = [pairs.draw_first(query) for query in queries]
    assert pairs.rendering == 1 and pairs.waits_for_undone
    assert [pairs.drawn(token, CLIPS) for token, _ in asked] == [False] * 49 + [True]
    shown = pairs.advance()
    assert shown is not None and shown.query is queries[-1]
    again = [query for _, query in pairs.next_renderings()]
    assert [query is wanted for query, wanted in zip(again, queries[-2::-1], strict=False)] == [True] * len(again)


def test_what_was_answered_otherwise_is_dropped_wherever_it_waits() -> None:
    pairs, (first, second) = filled(2)
    third, fourth = make_query(), make_query()
    pairs.offer(third)
    pairs.draw_first(fourth)
    for query in (fourth, third, first):
        pairs.drop(query)
    assert not pairs.waits_for_undone and pairs.rendering == 0 and pairs.next_renderings() == []
    shown = pairs.advance()
    assert shown is not None and shown.query is second and pairs.advance() is None
