"""Schedule of checkpoints: they follow the learning, so a kill costs little of it and a session at rest takes none."""

import time
from collections.abc import Callable

from core.events import Event, RewardFitted, RolloutReported

INTERVAL = 20.0
"""Seconds of work between two checkpoints."""
_MUCH = 1.25
"""A fit has changed much if it has this many times the answers of the last one that was saved."""


class CheckpointSchedule:
    """Follows the events of the jobs. The clock decides when states are saved, and never what they are.

    A checkpoint is due at the first fit, at a fit that has changed much, and after `interval` seconds in which a batch
    was collected.
    """

    def __init__(self, interval: float = INTERVAL, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval, self._clock = interval, clock
        self._fitted = self._fitted_then = 0
        """Answers of the newest fit, and of the newest one in a checkpoint."""
        self._worked = False
        self.progress = 0
        """Batches and fits that the jobs have reported."""
        self._saved_at = clock()

    def note(self, event: Event) -> None:
        """Take an event of a job; those that say nothing of its progress are ignored."""
        match event:
            case RolloutReported(batch_steps=steps):
                self._worked |= steps > 0
                self.progress += steps > 0
            case RewardFitted(preferences=count):
                self._fitted = count
                self.progress += 1

    @property
    def due(self) -> bool:
        changed_much = self._fitted >= max(1, _MUCH * self._fitted_then)
        waited = self._worked and self._clock() - self._saved_at >= self._interval
        return changed_much or waited

    def saved(self) -> None:
        """Count from here: the current states are being saved."""
        self._fitted_then = self._fitted
        self._worked = False
        self._saved_at = self._clock()
