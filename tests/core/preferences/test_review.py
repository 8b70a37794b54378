"""Doubted answers and self-consistency, checked with exact numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from core.config import QueryConfig
from core.preferences.review import (
    Consistency,
    Repeats,
    comment,
    consistency,
    contradicted,
    contradiction,
    repeatable,
)
from core.preferences.store import PreferenceSummary
from core.types import Choice

L, R, T, N = Choice.LEFT, Choice.RIGHT, Choice.TIE, Choice.CANT_TELL


def row(key: int, choice: Choice = L, *, repeats: int | None = None, swapped: bool = False) -> PreferenceSummary:
    return PreferenceSummary(key, choice, "human", 0.0, False, repeats, swapped)


@pytest.mark.parametrize(
    ("choice", "left", "expected"),
    [(L, 0.1, 0.9), (L, 1.0, 0.0), (R, 0.1, 0.1), (R, 0.8, 0.8), (T, 0.5, 0.0), (T, 0.0, 1.0), (T, 0.8, 0.6)],
)
def test_the_contradiction_of_an_answer_is_computed_from_its_prediction(
    choice: Choice, left: float, expected: float
) -> None:
    assert contradiction(choice, left) == pytest.approx(expected)


def test_only_doubted_answers_are_listed_the_most_contradicted_first() -> None:
    answers = [row(1, L), row(2, R), row(3, T), row(4, T), row(5, L), row(6, N), row(7, L), row(8, R)]
    gone = PreferenceSummary(9, L, "human", 0.0, withdrawn=True)
    left = {1: 0.4, 2: 0.95, 3: 0.2, 4: 0.3, 5: 0.6, 6: 0.0, 8: 0.5, 9: 0.0}
    found = contradicted([*answers, gone], left)
    assert [(r.id, round(much, 6)) for r, much in found] == [(2, 0.95), (1, 0.6), (3, 0.6)]


@pytest.mark.parametrize(
    ("first", "again", "swapped", "counted"),
    [
        (L, L, False, (1, 1, 0)),
        (L, R, False, (0, 1, 0)),
        (L, R, True, (1, 1, 0)),  # the same clip
        (L, L, True, (0, 1, 0)),
        (T, T, True, (1, 1, 0)),
        (T, L, False, (0, 1, 0)),
        (R, T, True, (0, 1, 0)),
        (N, N, False, (0, 0, 1)),
        (N, L, False, (0, 0, 1)),
        (T, N, True, (0, 0, 1)),
    ],
)
def test_a_repeat_agrees_if_the_same_clip_is_chosen_again(
    first: Choice, again: Choice, swapped: bool, counted: tuple[int, int, int]
) -> None:
    answers = [row(1, first), row(2, R), row(3, again, repeats=1, swapped=swapped)]
    assert consistency(answers) == Consistency(*counted)


def test_a_change_after_the_repeat_does_not_raise_consistency() -> None:
    repeat = row(30, L, repeats=1)
    since, before = (replace(row(1, L), changes=((R, newest),)) for newest in (30, 29))
    assert consistency([since, repeat]) == Consistency(0, 1, 0)
    assert consistency([before, repeat]) == Consistency(1, 1, 0)


def test_answers_of_another_labeller_do_not_count_for_the_person() -> None:
    guest = replace(row(2, R, repeats=1), labeller="guest: Ada")
    assert consistency([row(1, L), guest]) == Consistency(0, 0, 0)


def test_withdrawn_answers_do_not_count() -> None:
    gone = PreferenceSummary(1, L, "human", 0.0, withdrawn=True)
    assert consistency([gone, row(5, L, repeats=1)]) == Consistency(0, 0, 0)
    assert consistency([row(5, L, repeats=1)]) == Consistency(0, 0, 0)


def test_consistency_is_a_share_with_its_95_percent_interval() -> None:
    found = Consistency(9, 10, 3)
    assert found.share == 0.9
    assert found.interval == pytest.approx((0.5958, 0.9821), abs=1e-4)  # Wilson's, by hand
    assert math.isnan(Consistency(0, 0, 0).share) and Consistency(0, 0, 0).interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Consistency(0, 0, 0), "No pair has been shown twice yet"),
        (Consistency(0, 0, 2), "No repeated pair can be compared yet"),
        (Consistency(18, 20, 0), "this fits your answers"),
        (Consistency(30, 60, 0), "yours agree less often"),
        (Consistency(100, 100, 0), "yours agree more often"),
    ],
)
def test_the_comment_compares_the_consistency_with_the_assumed_errors(found: Consistency, words: str) -> None:
    text = comment(found, 0.1)
    assert (
        words in text
        and "If 10% of the answers were given at random, as this session assumes, 90% of the repeated" in text
    )


def test_only_old_answers_of_a_person_are_repeated() -> None:
    rows = [
        row(1),
        replace(row(2), labeller="oracle"),
        row(3, N),
        replace(row(4), withdrawn=True),
        row(5),
        row(6, N),
        row(7, repeats=5),
        row(8, T),
        row(9),
        row(10),
    ]
    assert repeatable(rows, 2, "human") == [1, 8]
    assert repeatable(rows, 7, "human") == [1]
    assert repeatable(rows, 9, "human") == []
    assert repeatable(rows, 2, "oracle") == [2]


def test_one_pair_in_twenty_is_repeated_and_none_while_switched_off() -> None:
    repeats = Repeats(QueryConfig(repeats="on"), "human", np.random.default_rng(0))
    due = sum(repeats.due() for _ in range(19_000))
    assert due / (19_000 + due) == pytest.approx(0.05, abs=0.005)
    repeats.on = False
    assert not any(repeats.due() for _ in range(1000))
    assert not Repeats(QueryConfig(), "human", np.random.default_rng(0)).on


def test_each_new_pair_is_followed_by_a_repeat_if_half_of_the_pairs_are_to_be_repeats() -> None:
    repeats = Repeats(QueryConfig(repeats="on", repeat_share=0.5), "human", np.random.default_rng(0))
    assert all(repeats.due() for _ in range(20))


def test_no_answer_is_repeated_twice() -> None:
    repeats = Repeats(QueryConfig(repeats="on", repeat_after=1), "human", np.random.default_rng(0))
    rows = [row(key) for key in range(1, 5)]
    assert sorted(key for _ in range(3) if (key := repeats.pick(rows))) == [1, 2, 3]
    assert repeats.pick(rows) is None
