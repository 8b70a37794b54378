"""Selection of pairs, and the schedule of labels (paper 2.2.4, A)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.config import Config, QueryConfig, replaced
from core.preferences.queries import QuerySelector, agreement, disagreement, features, predictions
from core.preferences.schedule import labels_due, scheduled
from core.types import Float32, PolicyComparison, Query, Segment
from tests.core.builders import raising, segment

TOTAL = 10_000_000


def schedule(**numbers: Any) -> QueryConfig:
    return QueryConfig(**{"first_share": 0.25, "half_life": 2e6, **numbers})


def test_a_quarter_of_the_labels_is_asked_of_the_untrained_policy() -> None:
    assert labels_due(0, 700, TOTAL, schedule()) == 175
    assert labels_due(0, 1400, TOTAL, schedule()) == 350
    assert labels_due(0, 10, TOTAL, schedule()) == 3  # rounded up


@pytest.mark.parametrize(("labels", "first"), [(5500, 500), (500, 500), (350, 350)])
def test_the_first_labels_may_be_given_as_a_number(labels: int, first: int) -> None:
    config = schedule(first_labels=500)
    assert config.first_of(labels) == labels_due(0, labels, TOTAL, config) == first
    assert labels_due(TOTAL, labels, TOTAL, config) == labels


@pytest.mark.parametrize("quarter", [0, 1, 2, 3, 4])
def test_the_annealed_rate_adds_up_exactly(quarter: int) -> None:
    """With h = 1000, the integral of h / (T + h) up to T = 1000 * (2^n - 1) is 1000 * n * log(2)."""
    due = labels_due(1000 * (2**quarter - 1), 800, 1000 * (2**4 - 1), schedule(half_life=1000))
    assert due == 200 + quarter * 150


def test_an_endless_session_spreads_its_labels_over_its_horizon() -> None:
    session = replaced(Config(), labels=700, steps=10**12, query__horizon=TOTAL)
    assert [scheduled(t, session) for t in (0, 2_000_000, TOTAL, 10**12)] == [
        labels_due(t, 700, TOTAL, schedule()) for t in (0, 2_000_000, TOTAL, TOTAL)
    ]
    short = replaced(session, steps=TOTAL // 2)
    assert scheduled(TOTAL // 2, short) == 700 and short.planned_steps == TOTAL // 2
    endless, plain = replaced(session, query__horizon=0), replaced(session, steps=TOTAL, query__horizon=0)
    assert scheduled(TOTAL, endless) < 400 and scheduled(TOTAL, plain) == 700


@pytest.mark.parametrize("labels", [0, 1, 2, 30, 701])
def test_all_labels_are_due_by_the_end_and_none_after_it(labels: int) -> None:
    assert labels_due(TOTAL, labels, TOTAL, schedule()) == labels_due(2 * TOTAL, labels, TOTAL, schedule()) == labels


def test_the_schedule_never_decreases_and_starts_with_one_label_at_least() -> None:
    due = [labels_due(steps, 100, TOTAL, schedule()) for steps in range(0, TOTAL, 50_000)]
    assert all(a <= b for a, b in itertools.pairwise(due))
    assert set(due) == set(range(25, 100))  # one at a time
    assert labels_due(0, 8, TOTAL, schedule(first_share=0.0)) == 1  # with no labels there would never be a reward


def logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


def test_disagreement_is_the_variance_of_the_members_probabilities() -> None:
    left = np.array([[logit(0.9), logit(0.5)], [logit(0.6), logit(0.2)], [logit(0.3), logit(0.2)]], np.float32)
    assert disagreement(left, np.zeros_like(left)) == pytest.approx([0.06, 0.02])


def test_a_prediction_is_the_probability_of_left_by_each_member() -> None:
    """Returns higher by log(3) and log(9) are odds of 3 and 9 to 1."""
    odds = {1: (3.0, 1.0), 2: (1.0, 9.0), 3: (1.0, 1.0)}

    def predict(segments: list[Segment]) -> Float32:
        return np.log(np.array([odds[s.id] for s in segments], np.float32)).T

    pairs = [Query(1, segment(1), segment(2), 0.0), Query(2, segment(2), segment(3), 0.0)]
    predicted = predictions(pairs, predict)
    assert [tuple(round(p, 6) for p in members) for members in predicted] == [(0.75, 0.1), (0.5, 0.9)]
    assert predictions([], predict) == []


def selector(seed: int = 0, **numbers: Any) -> QuerySelector:
    return QuerySelector(schedule(**{"selection": "disagreement", **numbers}), np.random.default_rng(seed))


def hand_made(segments: list[Segment]) -> Float32:
    """Predict returns by three members: against segment 0, one disagrees about 3 and, less, about 1; all differ about 2."""
    worth = {0: (0, 0, 0), 1: (-4, 4, 4), 2: (-1.5, 0, 1.5), 3: (-9, 9, 9)}
    return np.array([worth[s.id] for s in segments], np.float32).T


@pytest.mark.parametrize("choosing", ["disagreement", "challenge"])
def test_each_selection_asks_its_highest_rated_pair(choosing: str) -> None:
    for seed in range(5):
        (best,) = selector(seed, selection=choosing, candidates=100).select(list(map(segment, range(4))), 1, hand_made)
        assert {best.left.id, best.right.id} == {0, 3}


def torn_over(*torn: int) -> Any:
    """Return two members that agree on all segments except these."""

    def predict(segments: list[Segment]) -> Float32:
        values = np.array([s.id * 20.0 if s.id in torn else 0.0 for s in segments], np.float32)
        return np.stack([values, -values])

    return predict


@pytest.mark.parametrize(("count", "candidates"), [(1, 10), (4, 10), (3, 5)])
def test_each_query_is_the_best_of_its_candidates_and_the_best_comes_first(count: int, candidates: int) -> None:
    sizes: list[int] = []

    def predict(segments: list[Segment]) -> Float32:
        sizes.append(len(segments))
        values = np.array([0.001 * s.id**2 for s in segments], np.float32)
        return np.stack([values, -values])

    asked = selector(candidates=candidates).select([segment(i) for i in range(100)], count, predict)
    assert len(asked) == count
    assert sizes == [2 * count * candidates]
    scores = [each.disagreement for each in asked]
    assert scores == sorted(scores, reverse=True)


def test_a_random_selection_never_asks_the_ensemble() -> None:
    unasked = raising(AssertionError("random queries need no predictions"))
    asked = selector(selection="random").select([segment(i) for i in range(10)], 5, unasked)
    assert len(asked) == 5
    assert all(np.isnan(each.disagreement) for each in asked)


@pytest.mark.parametrize("selection", ["random", "disagreement"])
def test_no_pair_is_asked_twice_in_either_order_or_with_itself(selection: str) -> None:
    chooser, pool = selector(selection=selection), [segment(i) for i in range(7)]
    asked = [q for _ in range(60) for q in chooser.select(pool, 2, torn_over(3))]
    pairs = {frozenset((q.left.id, q.right.id)) for q in asked}
    assert len(pairs) == len(asked) == 21  # all possible pairs
    assert all(len(pair) == 2 for pair in pairs)
    assert len({q.id for q in asked}) == 21


def opinions(segments: list[Segment]) -> Float32:
    """Predict with three members that each prefer a different one of segments 97, 98 and 99 and agree on all others."""
    worth = np.array([[s.id / 100 for s in segments]] * 3, np.float32)
    for member, favourite in enumerate((97, 98, 99)):
        worth[member, [s.id == favourite for s in segments]] += 10
    return worth


def test_a_challenge_pairs_a_favourite_with_the_most_disputed_other_segment() -> None:
    pool = [segment(i) for i in range(100)]
    chooser = selector(selection="challenge", candidates=100)
    (asked,) = chooser.select(pool, 1, opinions)
    assert {asked.left.id, asked.right.id} < {97, 98, 99}
    again = selector(selection="challenge", candidates=100)
    assert asked.disagreement == pytest.approx(again.best_disagreement(pool, opinions)) and asked.disagreement > 0.1


def test_a_challenge_has_the_favourite_of_one_member_and_not_that_of_their_mean() -> None:
    """The members' favourites are 1 and 2, and their mean is highest for 3."""
    worth = {0: (0, 0), 1: (10, 0), 2: (0, 10), 3: (6, 6)}
    for seed in range(5):
        (asked,) = selector(seed, selection="challenge").select(
            list(map(segment, worth)), 1, lambda segments: np.array([worth[s.id] for s in segments], np.float32).T
        )
        assert {asked.left.id, asked.right.id} == {1, 2}


def dated(count: int) -> list[Segment]:
    """Return segments whose environment steps are their numbers."""
    return [replace(segment(i), env_steps=i) for i in range(count)]


def test_pairs_of_two_policies_come_first_while_requested() -> None:
    """Which of the two is on the left is random, and no pair is asked twice."""
    pool = dated(100)
    made = selector(selection="challenge")
    made.policy_pairs, made.policy_split = 60, 40
    asked = made.select(pool, 62, opinions)
    compared, challenges = asked[:60], asked[60:]
    assert all((q.left.id < 40) != (q.right.id < 40) and math.isnan(q.disagreement) for q in compared)
    assert 15 < sum(q.left.id < 40 for q in compared) < 45
    assert len({frozenset((q.left.id, q.right.id)) for q in asked}) == 62
    assert [q.comparison for q in compared] == [PolicyComparison(40, left) for left in range(60, 0, -1)]
    assert {q.comparison for q in challenges} == {None}
    assert not any(math.isnan(q.disagreement) for q in challenges)


def test_pairs_of_two_policies_show_the_best_of_the_latest_clips_of_each() -> None:
    """Both members rate 39 highest of the four latest of 40 earlier clips, and 3 highest of all 40; 99 of the newest ones."""

    def predict(segments: list[Segment]) -> Float32:
        return np.stack([np.array([1000 if s.id == 3 else s.id for s in segments], np.float32)] * 2)

    made = selector(selection="challenge", candidates=4)
    made.policy_pairs, made.policy_split = 16, 40
    asked = made.select(dated(100), 16, predict)
    sides = [tuple(sorted((q.left.id, q.right.id))) for q in asked]
    assert sides == [(earlier, later) for earlier in (39, 38, 37, 36) for later in (99, 98, 97, 96)]


def test_pairs_of_two_policies_outlast_a_restart_and_need_earlier_policies() -> None:
    first, again, pool = selector(selection="challenge"), selector(selection="challenge"), dated(9)
    first.policy_pairs, first.policy_split = 2, 4
    (asked,) = first.select(pool[4:], 1, opinions)
    assert not math.isnan(asked.disagreement)
    again.set_state(first.get_state())
    asked = again.select(pool, 3, opinions)
    assert [math.isnan(q.disagreement) for q in asked] == [True, True, False]
    again.exclude(asked[0])  # answered; the other one is lost with the program
    last = selector(selection="challenge")
    last.set_state(again.get_state())
    assert [math.isnan(q.disagreement) for q in last.select(pool, 2, opinions)] == [True, False]


def test_a_pair_of_two_policies_pending_over_a_restart_counts_as_one() -> None:
    first, again, pool = selector(selection="challenge"), selector(selection="challenge"), dated(9)
    first.compare_policies(2, 4)
    (waiting,) = first.select(pool, 1, opinions)
    again.set_state(first.get_state())
    again.exclude(waiting)
    again.await_answer(waiting)
    left = [q.comparison.left for q in again.select(pool, 3, opinions) if q.comparison]
    assert left == [1]
    again.exclude(waiting)
    assert again.policy_pairs == 1


def test_a_challenge_has_only_a_few_random_candidates_with_the_best_on_either_side() -> None:
    sizes: list[int] = []

    def predict(segments: list[Segment]) -> Float32:
        sizes.append(len(segments))
        return np.stack([np.array([s.id for s in segments], np.float32)] * 2)

    chooser = selector(selection="challenge", candidates=8)
    asked = chooser.select([segment(i) for i in range(100)], 40, predict)
    assert len(asked) == 40 and set(sizes) == {8}
    assert len({max(q.left.id, q.right.id) for q in asked}) > 10
    assert 10 < sum(q.left.id > q.right.id for q in asked) < 30


def test_no_pair_is_challenged_twice_and_an_exhausted_pool_gives_none() -> None:
    chooser, pool = selector(selection="challenge"), [segment(i) for i in range(3)]
    asked = [q for _ in range(9) for q in chooser.select(pool, 2, torn_over(1))]
    pairs = {frozenset((q.left.id, q.right.id)) for q in asked}
    assert len(pairs) == len(asked) > 0 and all(len(pair) == 2 for pair in pairs)
    assert chooser.select(pool, 1, torn_over(1)) == [] and chooser.best_disagreement(pool, torn_over(1)) == 0
    assert selector(selection="challenge").select(pool[:1], 1, torn_over(1)) == []


def test_the_search_for_challenges_ends_at_the_first_failure() -> None:
    calls: list[int] = []

    def predict(segments: list[Segment]) -> Float32:
        calls.append(len(segments))
        return torn_over(1)(segments)

    chooser = selector(selection="challenge")
    assert 0 < len(chooser.select([segment(i) for i in range(3)], 10_000, predict)) <= 3
    assert len(calls) < 200


def test_a_restored_selector_asks_no_pair_again_and_continues_numbering() -> None:
    first, second = selector(), selector(seed=1)
    pool = [segment(i) for i in range(4)]
    asked = first.select(pool, 3, None)
    second.set_state(first.get_state())
    more = second.select(pool, 6, None)
    pairs = [frozenset((q.left.id, q.right.id)) for q in asked + more]
    assert len(set(pairs)) == 6 == len(pairs)
    assert [q.id for q in asked + more] == [1, 2, 3, 4, 5, 6]


def lying(number: int, place: float, rng: np.random.Generator) -> Segment:
    """Return a segment with the same motion as all others, near `place` on every axis."""
    motion = np.sin(np.arange(80)).reshape(20, 4)
    return replace(segment(number, 20), observations=(motion + rng.normal(place, 0.1, 4)).astype(np.float32))


def clusters() -> list[Segment]:
    """Return a hundred segments at one place and two at each of four others."""
    rng = np.random.default_rng(0)
    places = [0.0] * 100 + [10.0, 10.0, -10.0, -10.0, 20.0, 20.0, -20.0, -20.0]
    return [lying(number, place, rng) for number, place in enumerate(places)]


def answering_selector(**settings: Any) -> QuerySelector:
    return QuerySelector(QueryConfig(schedule="answers", **settings), np.random.default_rng(0))


def test_the_first_pairs_are_spread_over_the_pool_and_show_no_segment_twice() -> None:
    pairs = answering_selector().select(clusters(), 5, None)
    ids = [side.id for pair in pairs for side in (pair.left, pair.right)]
    assert len(pairs) == 5 and len(set(ids)) == 10
    assert len({float(clusters()[i].observations.mean().round(-1)) for i in ids}) == 5


@pytest.mark.parametrize("selection", ["disagreement", "challenge"])
def test_similar_segments_are_not_paired(selection: str) -> None:
    pool = clusters()
    predict = lambda segments: np.random.default_rng(1).random((3, len(segments))).astype(np.float32)  # noqa: E731
    pairs = answering_selector(alike=0.2, selection=selection).select(pool, 20, predict)
    assert len(pairs) == 20
    for pair in pairs:
        assert abs(pair.left.observations.mean() - pair.right.observations.mean()) > 5


@pytest.mark.parametrize(("alike", "pairs"), [(0.63, 6), (0.635, 3)])
def test_the_least_distance_of_a_pair_is_relative_to_that_of_random_ones(alike: float, pairs: int) -> None:
    """Four segments in a row have a variance of 1.25: neighbours have a distance of sqrt(1 / (2 * 1.25)) = 0.6325."""
    pool = [replace(segment(place, 20), observations=np.full((20, 4), place, np.float32)) for place in range(4)]
    asked = selector(selection="random", alike=alike).select(pool, 20, None)
    assert len(asked) == pairs
    assert min(abs(query.left.id - query.right.id) for query in asked) == (1 if pairs == 6 else 2)


def test_a_segment_is_not_shown_again_for_a_while() -> None:
    pool = clusters()[:9]
    made = answering_selector(rest=3)
    shown = [query for _ in range(6) for query in made.select(pool, 1, None)]
    ids = [{query.left.id, query.right.id} for query in shown]
    assert len(shown) == 6
    assert all(not ids[i] & ids[j] for i in range(6) for j in range(max(0, i - 3), i))
    again = answering_selector(rest=3)
    again.set_state(made.get_state())
    (following,) = again.select(pool, 1, None)
    assert not {following.left.id, following.right.id} & set().union(*ids[-3:])


@pytest.mark.parametrize("varying", [4, 1])
def test_random_rows_of_features_differ_by_two_in_the_mean_square(varying: int) -> None:
    rng = np.random.default_rng(0)
    noise = (rng.standard_normal((20, 4)).astype(np.float32) * (np.arange(4) < varying) for _ in range(400))
    rows = features([replace(segment(number, 20), observations=rows) for number, rows in enumerate(noise)])
    assert rows is not None and rows.shape == (400, 8)
    assert np.square(rows[:200] - rows[200:]).mean() == pytest.approx(2, rel=0.1)


def test_agreement_is_the_share_of_unanimous_pairs() -> None:
    left = np.array([[1, 1, 0], [1, 0, 0]], np.float32)
    assert agreement(left, np.full((2, 3), 0.5, np.float32)) == pytest.approx(2 / 3)
