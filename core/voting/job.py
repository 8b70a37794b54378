"""The voting job: serves the page in a child process, counts the votes of each round, and stores them."""

import ipaddress
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from core.errors import UserError
from core.events import Event, Job, Waited
from core.service_events import VoteKept, VoteOpened, VotesCounted, VotesNotStored, VotingServed
from core.types import Choice
from core.voting.ballot import Ballot
from core.voting.record import append_votes
from core.voting.server import VotingServer, local_address


class VotingJob(Job):
    """Yields VotingServed once, then VotesCounted after each change; the last one of a round is final.

    A round without votes is extended by its duration.
    """

    def __init__(self) -> None:
        self._events: deque[Event] = deque()

    def receive(self, event: Event) -> None:
        self._events.append(event)

    def run(self) -> Iterator[Event | None]:
        ballot = Ballot()
        server = _served(_network_address(), ballot)
        try:
            yield VotingServed(server.url)
            yield from self._count(ballot)
        finally:
            server.close()

    def _count(self, ballot: Ballot) -> Iterator[Event | None]:
        opened, sent, final = VoteOpened(0, 0.0), dict[str, int](), True
        while True:
            while self._events:
                match self._events.popleft():
                    case VoteOpened() as opened:
                        ballot.open(opened.round, opened.seconds)
                        sent, final = {}, opened.seconds <= 0
                    case VoteKept(folder, number, answer, choice) if number == ballot.round:
                        try:
                            append_votes(Path(folder), answer, Choice(choice), ballot.votes())
                        except UserError as error:  # the answer itself is stored: voting continues
                            yield VotesNotStored(str(error))
            ended = ballot.seconds_left <= 0
            counts = ballot.counts()
            if not final and ended and not any(counts.values()):
                ballot.extend(opened.seconds)
                ended, sent = False, {}
            if not final and (ended or counts != sent):
                sent, final = counts, ended
                yield VotesCounted(ballot.round, counts, ballot.seconds_left, final)
            else:
                yield Waited("voting", "waiting for votes")


def _served(host: str, ballot: Ballot) -> VotingServer:
    try:
        return VotingServer(host, ballot)
    except OSError as error:
        raise UserError(f"The voting page can't be served on {host} ({error.strerror}): check the network.") from error


def _network_address() -> str:
    """Return this machine's address. Raises UserError without a network, or if the address is public."""
    try:
        address = local_address()
    except OSError as error:
        raise UserError(
            "This computer is not connected to a network: connect it to the one that the guests' phones use."
        ) from error
    if ipaddress.ip_address(address).is_global:
        raise UserError(f"This computer's address, {address}, can be reached from anywhere: use a local network.")
    return address
