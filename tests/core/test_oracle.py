"""The synthetic labeller (paper 3.1)."""

from __future__ import annotations

import pytest

from core import oracle
from core.errors import UserError
from core.records import Choice
from tests.core.builders import query, segment


def judged(left: list[float], right: list[float], numbers: tuple[int, int] = (1, 2)) -> Choice:
    return oracle.answer(query(1, segment(numbers[0], 3, left), segment(numbers[1], 3, right)))


@pytest.mark.parametrize(
    ("left", "right", "choice"),
    [
        ([1, 1, 1], [0, 0, 2.9], Choice.LEFT),
        ([0, 0, 0], [-5, 0, 5.5], Choice.RIGHT),
        ([1, 2, 3], [3, 1, 2], Choice.TIE),
        ([-1, -1, -1], [-3, 0, -1], Choice.LEFT),
    ],
)
def test_the_larger_sum_of_true_reward_wins(left: list[float], right: list[float], choice: Choice) -> None:
    assert judged(left, right) is choice


def test_the_same_question_gets_the_same_answer() -> None:
    assert {judged([0.1, 0.2, 0.3], [0.3, 0.2, 0.1000001]) for _ in range(20)} == {Choice.RIGHT}


def test_nothing_but_the_true_reward_counts() -> None:
    """Other observations, actions and states, the same rewards."""
    answers = {judged([1, 0, 0], [0, 0.5, 0], (a, b)) for a in range(10) for b in range(20, 30)}
    assert answers == {Choice.LEFT}


def test_sides_swapped_choices_swap() -> None:
    assert judged([1, 2, 3.5], [1, 2, 3]) is Choice.LEFT
    assert judged([1, 2, 3], [1, 2, 3.5]) is Choice.RIGHT


def test_without_a_true_reward_there_is_no_oracle() -> None:
    with pytest.raises(UserError, match="human"):
        oracle.answer(query(1, segment(1), segment(2)))
