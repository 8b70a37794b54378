"""Quarters of the planned labels: what a person labels towards. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_SHARES = (25, 50, 75, 100)


@dataclass(frozen=True)
class Milestone:
    """percent of the planned labels, and how many labels that is."""

    percent: int
    labels: int


def milestones(target: int) -> tuple[Milestone, ...]:
    """Those of a session with so many planned labels; of several that few labels make one, the last."""
    found = {-(-target * share // 100): share for share in _SHARES}
    return tuple(Milestone(share, labels) for labels, share in found.items() if labels > 0)


class Tracker:
    """Tells each milestone once, however often answers are taken back and given again."""

    def __init__(self, target: int) -> None:
        self._all = milestones(target)
        self._best = 0

    def start(self, labels: int) -> None:
        """A session that goes on has these already."""
        self._best = max(self._best, labels)

    def reached(self, labels: int) -> Milestone | None:
        """The milestone that so many labels reach for the first time."""
        new = [milestone for milestone in self._all if self._best < milestone.labels <= labels]
        self.start(labels)
        return new[-1] if new else None

    def next(self, labels: int) -> Milestone | None:
        return next((milestone for milestone in self._all if milestone.labels > labels), None)
