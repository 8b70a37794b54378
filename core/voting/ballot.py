"""The votes on one pair at a time. Thread-safe; no network."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum

from core.types import Choice

CHOICES = (Choice.LEFT, Choice.TIE, Choice.RIGHT)
_MAX_VOTERS = 2000


class Verdict(StrEnum):
    """Outcome of a vote."""

    COUNTED = "counted"
    CHANGED = "changed"
    LATE = "late"
    """The round has ended, or another one is open."""
    REFUSED = "refused"
    """Too many voters."""


class Ballot:
    """Votes in rounds, each about one pair. In a round, only the last choice of each voter counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self.round = 0
        self._until = 0.0
        self._votes: dict[str, Choice] = {}

    def open(self, number: int, seconds: float) -> None:
        """Open the round with this number; votes in any other round are late from now on."""
        with self._lock:
            self.round, self._until = number, self._clock() + seconds
            self._votes = {}

    def extend(self, seconds: float) -> None:
        """Extend the round, keeping its votes: it ends `seconds` from now."""
        with self._lock:
            self._until = self._clock() + seconds

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - self._clock())

    def vote(self, voter: str, number: int, choice: Choice) -> Verdict:
        """Record a vote in the round with this number, and return its outcome."""
        with self._lock:
            if number != self.round or self._clock() >= self._until:
                return Verdict.LATE
            before = self._votes.get(voter)
            if before is None and len(self._votes) >= _MAX_VOTERS:
                return Verdict.REFUSED
            self._votes[voter] = choice
            return Verdict.COUNTED if before in (None, choice) else Verdict.CHANGED

    def votes(self) -> dict[str, Choice]:
        """Return a copy of the choices by voter."""
        with self._lock:
            return dict(self._votes)

    def counts(self) -> dict[str, int]:
        """Return the number of votes by choice."""
        found = Counter(self.votes().values())
        return {str(choice): found[choice] for choice in CHOICES}


def majority(counts: Mapping[str, int]) -> Choice | None:
    """Return the choice with the most votes; a tie if several have the most; None without votes."""
    most = max(counts.values(), default=0)
    best = [choice for choice in CHOICES if counts.get(choice, 0) == most]
    if not most:
        return None
    return best[0] if len(best) == 1 else Choice.TIE
