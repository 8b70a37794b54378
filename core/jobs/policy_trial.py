"""Comparison of the policy that has explored with one that starts anew, by the labeller's answers.

An exploring policy is the better start where it has found what is wanted, such as a Hopper's turns in the air. Where it
has ended up somewhere from which nothing can be learned, such as a Half-Cheetah on its back, a policy that starts anew
is better. Both are trained for the same number of steps, one after the other; then the labeller is asked about pairs
with a clip of each, and the policy that is preferred is kept. The predicted reward can't decide: a policy finds the
errors of the predictor that it is trained on, so that the newest policy always seems the better one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from core.config import Config
from core.events import Event, PolicyChosen, PolicySetAside, PreferenceAdded, QueryWithdrawn
from core.types import Segment

PAIRS = 8
"""Pairs that decide."""
_LATEST = 64
"""Newest segments of the pool, from which those of a policy are taken."""


class PolicyTrial:
    """The phases of the comparison, which begins at the first reward, if the session has explored.

    segments: of the policy that was set aside, and of the newest one; empty until each has been trained
    """

    def __init__(self, config: Config) -> None:
        self._steps, self._explored = config.rollout.trial_steps, config.explored_steps
        self._over = not (self._steps and self._explored)
        self._since: int | None = None
        """Environment steps at which the present policy's training began; None before the first reward."""
        self.segments: tuple[list[Segment], list[Segment]] = [], []
        self._asked: dict[int, int] = {}
        """Indices of pairs by the ids of their queries."""
        self._votes: dict[int, float] = {}
        """For the newest policy, 0 to 1, by the indices of pairs."""

    def receive(self, event: Event) -> None:
        match event:
            case PreferenceAdded(preference) if preference.query.id in self._asked:
                index, mu = self._asked[preference.query.id], preference.choice.mu
                self._votes[index] = 0.5 if mu is None else mu[index % 2]
            case QueryWithdrawn(query_id):
                self._asked.pop(query_id, None)

    def next_phase(self, env_steps: int, pool: Iterable[Segment]) -> Event | None:
        """Returns the change of policy that is due after so many environment steps."""
        if self._since is None:
            self._since = env_steps
            self._over |= env_steps < self._explored  # answers from an earlier session came first
        first, newest = self.segments
        if self._over or (not newest and env_steps < self._since + self._steps):
            return None
        if not first:
            first += _sample(pool)
            self._since = env_steps
            return PolicySetAside()
        if not newest:
            newest += _sample(pool)
        if len(self._votes) < len(list(zip(first, newest, strict=False))):
            return None
        self._over, self.segments = True, ([], [])
        return PolicyChosen(newest=sum(self._votes.values()) >= len(self._votes) / 2)

    def pairs(self) -> Iterator[tuple[int, Segment, Segment]]:
        """Index, left and right segment of each pair that is still to be asked about."""
        for index, (first, newest) in enumerate(zip(*self.segments, strict=False)):
            if index not in self._asked.values():
                yield (index, first, newest) if index % 2 else (index, newest, first)

    def asks(self, index: int, query_id: int) -> None:
        """Notes that the query asks about this pair."""
        self._asked[query_id] = index

    def get_state(self) -> dict[str, Any]:
        """JSON values; without the segments."""
        votes, asked = list(self._votes.items()), list(self._asked.items())
        return {"since": self._since, "over": self._over, "asked": asked, "votes": votes}

    def set_state(self, values: dict[str, Any], first: list[Segment], newest: list[Segment]) -> None:
        self._over, self.segments = bool(values["over"]), (first, newest)
        self._since = None if values["since"] is None else int(values["since"])
        self._asked = {int(query_id): int(index) for query_id, index in values["asked"]}
        self._votes |= {int(index): float(vote) for index, vote in values["votes"]}


def _sample(pool: Iterable[Segment]) -> list[Segment]:
    """PAIRS of the newest segments, or all if there are fewer."""
    latest = sorted(pool, key=lambda segment: segment.env_steps)[-_LATEST:]
    return latest[:: max(1, len(latest) // PAIRS)][:PAIRS]
