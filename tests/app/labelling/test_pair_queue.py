"""The queue of pairs: order, memory, undone pairs, and restarts."""

from __future__ import annotations

from app.labelling.pair_queue import Pair, PairQueue
from core.types import Query
from tests.app.fakes import make_frames, make_query

CLIPS = (make_frames(), make_frames())


def rendered(count: int) -> tuple[PairQueue, list[Query]]:
    pairs, queries = PairQueue(), [make_query() for _ in range(count)]
    for query in queries:
        pairs.offer(query)
    for query in pairs.next_renderings():
        pairs.add_clips(query, CLIPS)
    return pairs, queries


def ids(queries: list[Query] | tuple[Query, ...]) -> list[int]:
    return [query.id for query in queries]


def test_one_pair_is_rendered_ahead() -> None:
    pairs = PairQueue()
    for _ in range(3):
        pairs.offer(make_query())
    assert len(pairs.next_renderings()) == 1 and pairs.next_renderings() == []
    assert not pairs.add_clips(make_query(), CLIPS)  # never requested


def test_a_withdrawn_query_is_dropped_unless_it_is_on_screen_or_undone() -> None:
    pairs, queries = rendered(1)
    shown, (ahead, waiting, undone) = pairs.advance(), [make_query() for _ in range(3)]
    for query in (ahead, waiting):
        pairs.offer(query)
    pairs.next_renderings()
    for query in (waiting, ahead):
        pairs.withdraw(query.id)
    assert not pairs.add_clips(ahead, CLIPS)
    assert pairs.next_renderings() == [] and pairs.rendering == 0
    pairs.withdraw(queries[0].id)
    assert pairs.shown is shown
    pairs.render_first(undone)
    pairs.withdraw(undone.id)
    assert pairs.waits_for_undone


def test_after_several_undos_only_the_last_pair_is_rendered_first() -> None:
    pairs, _ = rendered(0)
    queries = [make_query() for _ in range(50)]
    for query in queries:
        pairs.render_first(query)
    assert pairs.rendering == 1 and pairs.waits_for_undone
    assert [pairs.add_clips(query, CLIPS) for query in queries] == [False] * 49 + [True]
    shown = pairs.advance()
    assert shown is not None and shown.query is queries[-1]
    again = pairs.next_renderings()
    assert all(query is undone for query, undone in zip(again, queries[-2::-1], strict=False)) and again


def test_a_restarted_rollout_leaves_the_shown_and_the_undone_pair() -> None:
    pairs, _ = rendered(3)
    shown = pairs.advance()
    pairs.offer(make_query())
    (rendering,) = pairs.next_renderings()
    assert shown is not None and ids(pairs.known) == [shown.query.id]
    pairs.forget_offered()
    assert not pairs.add_clips(rendering, CLIPS)
    assert pairs.shown is shown and pairs.advance() is None and pairs.next_renderings() == []
    undone = make_query()
    pairs.render_first(undone)
    pairs.forget_offered()
    assert ids(pairs.known) == [undone.id] and pairs.waits_for_undone


def test_a_restarted_rollout_keeps_every_undone_pair_in_any_state() -> None:
    pairs, _ = rendered(1)
    pairs.advance()
    far, near, newest = (make_query() for _ in range(3))
    pairs.render_first(far)
    for query in (near, newest):
        pairs.show_first(Pair(query, *CLIPS))
    pairs.offer(make_query())
    pairs.forget_offered()
    assert sorted(ids(pairs.known)) == sorted(ids((far, near, newest)))
    assert pairs.shown is not None and pairs.shown.query is newest
    pairs.drop(newest)
    assert pairs.shown is None and sorted(ids(pairs.known)) == sorted(ids((far, near)))
    following = pairs.advance()
    assert following is not None and following.query is near
    pairs.drop(near)
    (rendering,) = pairs.next_renderings()
    assert rendering is far and pairs.add_clips(far, CLIPS) and pairs.ready == 1


def test_a_query_answered_by_other_means_is_dropped_in_any_state() -> None:
    pairs, (first, second) = rendered(2)
    third, fourth = make_query(), make_query()
    pairs.offer(third)
    pairs.render_first(fourth)
    for query in (fourth, third, first):
        pairs.drop(query)
    assert not pairs.waits_for_undone and pairs.rendering == 0
    (query,) = pairs.next_renderings()
    assert query is second and pairs.add_clips(second, CLIPS)
    shown = pairs.advance()
    assert shown is not None and shown.query is second and pairs.advance() is None
