"""Milestones: quarters of a session's planned labels. Pure."""

from dataclasses import dataclass

_PERCENTAGES = (25, 50, 75, 100)


@dataclass(frozen=True)
class Milestone:
    """Share of the planned labels, and the number of labels that reaches it."""

    percent: int
    labels: int


def milestones(target: int) -> tuple[Milestone, ...]:
    """Return the milestones for this number of planned labels; if several coincide, only the last."""
    percent_by_labels = {-(-target * percent // 100): percent for percent in _PERCENTAGES}
    return tuple(Milestone(percent, labels) for labels, percent in percent_by_labels.items() if labels > 0)


class MilestoneTracker:
    """Reports each milestone once, even if answers are undone and redone."""

    def __init__(self, target: int) -> None:
        self._all = milestones(target)
        self._most_labels = 0

    def start(self, labels: int) -> None:
        """Skip the milestones that an opened session has reached already."""
        self._most_labels = max(self._most_labels, labels)

    def reached(self, labels: int) -> Milestone | None:
        """Return the milestone that this number of labels reaches for the first time."""
        new = [milestone for milestone in self._all if self._most_labels < milestone.labels <= labels]
        self.start(labels)
        return new[-1] if new else None

    def next(self, labels: int) -> Milestone | None:
        return next((milestone for milestone in self._all if milestone.labels > labels), None)
