"""Answers in the film for a talk, and the votes that it shows with them."""

from __future__ import annotations

import pytest

from core.film.talk import decides, telling_answers
from core.preferences.store import PreferenceSummary
from core.types import AUDIENCE, Choice
from core.voting.record import Votes


def answer(number: int, choice: Choice = Choice.LEFT, labeller: str = "human") -> PreferenceSummary:
    return PreferenceSummary(number, choice, labeller, 0.0)


@pytest.mark.parametrize(
    ("voted", "expected"),
    [
        ([], [1, 18, 35]),
        ([4], [1, 4, 35]),
        ([33, 34], [1, 33, 34]),
        ([6, 7, 8, 9, 10], [6, 8, 10]),
        ([99], [1, 18, 35]),
    ],
)
def test_answers_with_votes_come_first_and_others_fill_up(voted: list[int], expected: list[int]) -> None:
    rows = [answer(number) for number in range(1, 36)]
    assert [row.id for row in telling_answers(rows, 3, voted)] == expected


def test_answers_that_prefer_a_clip_come_before_ties() -> None:
    rows = [answer(1, Choice.TIE), answer(2, Choice.RIGHT), answer(3, Choice.CANT_TELL)]
    assert telling_answers(rows, 3, [1]) == [rows[1]] and telling_answers(rows[:1], 3) == [rows[0]]
    assert telling_answers([], 3) == []


@pytest.mark.parametrize(
    ("votes", "choice", "labeller", "expected"),
    [
        ("LLR", Choice.LEFT, AUDIENCE, True),
        ("LLR", Choice.RIGHT, "human", False),
        ("LLR", Choice.LEFT, "human", False),
        ("LR", Choice.TIE, AUDIENCE, False),
        ("TTR", Choice.TIE, AUDIENCE, True),
    ],
    ids=["the audience's", "changed", "changed back", "a draw", "a tie by votes"],
)
def test_votes_are_shown_with_the_audiences_own_answer(
    votes: str, choice: Choice, labeller: str, expected: bool
) -> None:
    counts = {"left": votes.count("L"), "right": votes.count("R"), "tie": votes.count("T")}
    recorded = Choice.TIE if choice == Choice.TIE else Choice.LEFT
    assert decides(Votes(1, recorded, counts, {}), answer(1, choice, labeller)) == expected
