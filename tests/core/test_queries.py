"""Which pairs are asked, and how many by when (paper 2.2.4, A)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from core.config import QueryConfig
from core.queries import QuerySelector, disagreement, labels_due
from core.records import Float32, Segment
from tests.core.builders import segment

TOTAL = 10_000_000


def schedule(**numbers: Any) -> QueryConfig:
    return QueryConfig(**{"first_share": 0.25, "half_life": 2e6, **numbers})


def test_a_quarter_of_the_labels_is_asked_of_the_untrained_policy() -> None:
    assert labels_due(0, 700, TOTAL, schedule()) == 175
    assert labels_due(0, 1400, TOTAL, schedule()) == 350
    assert labels_due(0, 10, TOTAL, schedule()) == 3  # rounded up


@pytest.mark.parametrize("steps", [100_000, 1_000_000, 2_000_000, 5_000_000, 9_000_000])
def test_the_rest_follows_the_hyperbola(steps: int) -> None:
    def integral(until: int) -> float:
        middles = (np.arange(100_000) + 0.5) * until / 100_000
        return float((2e6 / (middles + 2e6)).mean() * until)

    expected = 175 + 525 * integral(steps) / integral(TOTAL)
    assert labels_due(steps, 700, TOTAL, schedule()) == pytest.approx(expected, abs=1)


def test_after_as_many_steps_as_the_half_life_labels_come_half_as_fast() -> None:
    def rate(steps: int) -> int:
        return labels_due(steps + 10_000, 10**8, TOTAL, schedule()) - labels_due(steps, 10**8, TOTAL, schedule())

    assert rate(2_000_000) / rate(0) == pytest.approx(0.5, abs=0.005)
    assert rate(6_000_000) / rate(0) == pytest.approx(0.25, abs=0.005)


def test_all_are_asked_by_the_end_and_none_after_it() -> None:
    for labels in (1, 2, 30, 100, 701):
        assert labels_due(TOTAL, labels, TOTAL, schedule()) == labels
        assert labels_due(2 * TOTAL, labels, TOTAL, schedule()) == labels


def test_the_schedule_never_goes_back() -> None:
    due = [labels_due(steps, 100, TOTAL, schedule()) for steps in range(0, TOTAL, 50_000)]
    assert all(a <= b for a, b in itertools.pairwise(due))
    assert set(due) == set(range(25, 100))  # one at a time


def test_no_labels_no_queries() -> None:
    assert labels_due(TOTAL, 0, TOTAL, schedule()) == 0


def test_disagreement_is_the_variance_of_the_predicted_preference() -> None:
    left = np.array([[0.0, 50.0, 1.0], [0.0, -50.0, 3.0]], np.float32)
    right = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]], np.float32)
    assert disagreement(left, right) == pytest.approx([0.0, 0.25, 0.0])


def test_members_that_differ_in_size_but_not_in_choice_agree() -> None:
    """What counts is which segment is preferred: a large difference of surely equal answers is worth no question."""
    sure = disagreement(np.array([[30.0], [90.0]], np.float32), np.zeros((2, 1), np.float32))
    torn = disagreement(np.array([[-1.0], [1.0]], np.float32), np.zeros((2, 1), np.float32))
    assert sure[0] < 1e-6 < 0.05 < torn[0]


def selector(seed: int = 0, **numbers: Any) -> QuerySelector:
    return QuerySelector(schedule(**{"selection": "disagreement", **numbers}), np.random.default_rng(seed))


def torn_over(*torn: int) -> Any:
    """Two members that agree on all segments but these."""

    def sums(segments: list[Segment]) -> Float32:
        values = np.array([s.id * 20.0 if s.id in torn else 0.0 for s in segments], np.float32)
        return np.stack([values, -values])

    return sums


def test_the_pair_that_members_disagree_on_is_asked() -> None:
    pool = [segment(i) for i in range(1, 6)]  # 10 pairs; most or all are among 10 times 10 tries
    for seed in range(10):
        (best,) = selector(seed, candidates=10).select(pool, 1, torn_over(4))
        assert 4 in (best.left.id, best.right.id)
        assert best.disagreement == pytest.approx(0.25, abs=1e-3)


def test_queries_come_with_the_most_disputed_first() -> None:
    def sums(segments: list[Segment]) -> Float32:
        values = np.array([0.02 * s.id**2 for s in segments], np.float32)
        return np.stack([values, -values])

    asked = selector(candidates=3).select([segment(i) for i in range(12)], 6, sums)
    scores = [each.disagreement for each in asked]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]


@pytest.mark.parametrize(("count", "candidates"), [(1, 10), (4, 10), (3, 5)])
def test_so_many_candidates_for_each_query(count: int, candidates: int) -> None:
    seen: list[int] = []

    def sums(segments: list[Segment]) -> Float32:
        seen.append(len(segments))
        return np.zeros((2, len(segments)), np.float32)

    asked = selector(candidates=candidates).select([segment(i) for i in range(100)], count, sums)
    assert len(asked) == count
    assert seen == [2 * count * candidates]


def test_a_random_selection_never_asks_the_ensemble() -> None:
    def sums(segments: list[Segment]) -> Float32:
        raise AssertionError("random queries need no predictions")

    asked = selector(selection="random").select([segment(i) for i in range(10)], 5, sums)
    assert len(asked) == 5
    assert all(np.isnan(each.disagreement) for each in asked)


def test_before_the_first_fit_pairs_are_random() -> None:
    pool = [segment(i) for i in range(8)]
    lefts = {q.left.id for seed in range(40) for q in selector(seed).select(pool, 1, None)}
    assert lefts == set(range(8))


@pytest.mark.parametrize("selection", ["random", "disagreement"])
def test_no_pair_is_asked_twice_either_way_round_and_none_with_itself(selection: str) -> None:
    chooser, pool = selector(selection=selection), [segment(i) for i in range(7)]
    asked = [q for _ in range(60) for q in chooser.select(pool, 2, torn_over(3))]
    pairs = {frozenset((q.left.id, q.right.id)) for q in asked}
    assert len(pairs) == len(asked) == 21  # all there are
    assert all(len(pair) == 2 for pair in pairs)
    assert len({q.id for q in asked}) == 21


def test_too_small_a_pool_gives_no_query() -> None:
    assert selector().select([], 3, None) == []
    assert selector().select([segment(1)], 3, None) == []


def test_a_restored_selector_asks_no_pair_again_and_goes_on_numbering() -> None:
    first, second = selector(), selector(seed=1)
    pool = [segment(i) for i in range(4)]
    asked = first.select(pool, 3, None)
    second.set_state(first.get_state())
    more = second.select(pool, 6, None)
    pairs = [frozenset((q.left.id, q.right.id)) for q in asked + more]
    assert len(set(pairs)) == 6 == len(pairs)
    assert [q.id for q in asked + more] == [1, 2, 3, 4, 5, 6]
