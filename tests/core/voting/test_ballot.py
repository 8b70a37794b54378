"""Rounds of votes: counted votes, the majority, and the file of votes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.session.session import Session
from core.types import Choice
from core.voting.ballot import Ballot, Verdict, majority
from core.voting.record import NAME, append_votes, read_votes
from tests.clock import Clock
from tests.core.builders import tiny


def test_a_voter_counts_once_with_the_last_choice_and_not_after_the_end() -> None:
    clock = Clock()
    ballot = Ballot(clock)
    assert ballot.vote("a", 0, Choice.LEFT) == Verdict.LATE  # no round is open yet
    ballot.open(1, 15)
    assert ballot.vote("a", 1, Choice.LEFT) == Verdict.COUNTED
    assert ballot.vote("b", 1, Choice.TIE) == Verdict.COUNTED
    assert ballot.vote("a", 1, Choice.RIGHT) == Verdict.CHANGED
    assert ballot.vote("a", 1, Choice.RIGHT) == Verdict.COUNTED  # the vote stays counted
    assert ballot.vote("c", 7, Choice.RIGHT) == Verdict.LATE
    clock.now += 15
    assert ballot.vote("c", 1, Choice.RIGHT) == Verdict.LATE
    assert ballot.counts() == {"left": 0, "tie": 1, "right": 1}
    ballot.open(2, 15)
    assert ballot.vote("a", 1, Choice.LEFT) == Verdict.LATE and not ballot.votes()


def test_a_round_counts_two_thousand_voters() -> None:
    ballot = Ballot()
    ballot.open(1, 60)
    assert {ballot.vote(f"{number}", 1, Choice.LEFT) for number in range(2000)} == {Verdict.COUNTED}
    assert ballot.vote("2000", 1, Choice.LEFT) == Verdict.REFUSED
    assert ballot.vote("0", 1, Choice.RIGHT) == Verdict.CHANGED


@pytest.mark.parametrize(
    ("counts", "choice"),
    [
        ({"left": 3, "tie": 1, "right": 2}, Choice.LEFT),
        ({"left": 2, "tie": 1, "right": 2}, Choice.TIE),
        ({"left": 1, "tie": 3, "right": 2}, Choice.TIE),
        ({"left": 0, "tie": 2, "right": 2}, Choice.TIE),
        ({"left": 0, "tie": 0, "right": 0}, None),
    ],
)
def test_the_choice_with_most_votes_wins_and_equal_sides_tie(counts: dict[str, int], choice: Choice | None) -> None:
    assert majority(counts) == choice


def test_votes_are_kept_by_answer_and_voter_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    Session.create(tmp_path / "s", tiny()).close()
    assert read_votes(tmp_path / "s") == {}
    append_votes(tmp_path / "s", 4, Choice.LEFT, {"a" * 32: Choice.LEFT, "b" * 32: Choice.TIE})
    append_votes(tmp_path / "s", 5, Choice.RIGHT, {"a" * 32: Choice.RIGHT})
    with open(tmp_path / "s" / NAME, "a") as file:
        file.write('{"answer": 6, "choi')
    append_votes(tmp_path / "s", 7, Choice.TIE, {"c" * 32: Choice.TIE})
    found = read_votes(tmp_path / "s")
    assert [*found] == [4, 5, 7] and found[4].counts["left"] == 1 and found[4].voters["b" * 32] == "tie"
