"""The voting job, which serves only local networks and extends a round without votes."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import UserError
from core.events import Waited
from core.service_events import VoteKept, VoteOpened, VotesCounted, VotesNotStored, VotingServed
from core.session.session import Session
from core.voting import job
from core.voting.ballot import Ballot
from core.voting.record import read_votes
from tests.clock import Clock
from tests.core.builders import tiny
from tests.core.voting.voter import vote


def without_network() -> str:
    raise OSError(errno.ENETUNREACH, "Network is unreachable")


@pytest.mark.parametrize(
    ("address", "words"),
    [(lambda: "8.8.8.8", "8.8.8.8, can be reached from anywhere"), (without_network, "is not connected to a network")],
)
def test_nothing_is_served_outside_a_local_network(
    address: Callable[[], str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "local_address", address)
    with pytest.raises(UserError, match=words):
        next(job.VotingJob().run())


def test_the_votes_behind_an_answer_are_stored_and_a_failure_ends_no_vote(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Session.create(tmp_path / "s", tiny()).close()
    monkeypatch.setattr(job, "local_address", lambda: "127.0.0.1")
    voting = job.VotingJob()
    with closing(voting.run()) as events:
        served = next(events)
        assert isinstance(served, VotingServed)
        for number, stored in ((1, True), (2, False)):
            voting.receive(VoteOpened(number, 15.0))
            next(event for event in events if isinstance(event, VotesCounted))
            assert vote(served.url, "a" * 32, number)[2] == b"counted\n"
            if not stored:
                (tmp_path / "s" / "votes.jsonl").rename(tmp_path / "votes")
                (tmp_path / "s" / "votes.jsonl").mkdir()
            voting.receive(VoteKept(str(tmp_path / "s"), number, 6 + number, "left"))
            voting.receive(VoteKept(str(tmp_path / "s"), 99, 50, "left"))  # votes of a round that is over
            told = next(event for event in events if isinstance(event, VotesNotStored | Waited))
            assert isinstance(told, Waited) == stored
        assert "votes.jsonl can't be written" in told.reason
        assert next(events) is not None
    (tmp_path / "s" / "votes.jsonl").rmdir()
    (tmp_path / "votes").rename(tmp_path / "s" / "votes.jsonl")
    assert {number: one.voters for number, one in read_votes(tmp_path / "s").items()} == {7: {"a" * 32: "left"}}


def test_a_round_without_votes_is_extended_by_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(job, "local_address", lambda: "127.0.0.1")
    monkeypatch.setattr(job, "Ballot", lambda: Ballot(clock))
    voting = job.VotingJob()
    voting.receive(VoteOpened(1, 15.0))
    with closing(voting.run()) as events:
        served = next(events)
        assert isinstance(served, VotingServed)
        counted: Iterator[VotesCounted] = (event for event in events if isinstance(event, VotesCounted))
        first = next(counted)
        clock.now += 15
        extended = next(counted)
        assert [(one.seconds, one.final) for one in (first, extended)] == [(15.0, False), (15.0, False)]
        assert vote(served.url, "a" * 32)[2] == b"counted\n"
        clock.now += 15
        last = next(one for one in counted if one.final)
        assert last.counts["left"] == 1
