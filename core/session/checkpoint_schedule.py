"""Schedule of checkpoints by training progress: a kill loses little, and a session at rest saves no checkpoints."""

import time
from collections.abc import Callable

from core.events import Event, RewardFitted, RolloutReported

INTERVAL = 20.0
"""Seconds between two checkpoints while batches are collected."""
_MUCH = 1.25
"""Ratio of a fit's number of answers to that of the last saved fit from which a checkpoint is due."""


class CheckpointSchedule:
    """Decides from the jobs' events when a checkpoint is due. The clock never affects the states themselves.

    A checkpoint is due after the first fit, after a fit to at least _MUCH times as many answers as the last saved fit, and
    after `interval` seconds in which a batch was collected.
    """

    def __init__(self, interval: float = INTERVAL, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval, self._clock = interval, clock
        self._fitted = self._fitted_then = 0
        """Number of answers of the newest fit, and of the newest fit in a checkpoint."""
        self._worked = False
        self.progress = 0
        """Number of batches and fits that the jobs have reported."""
        self._saved_at = clock()

    def note(self, event: Event) -> None:
        """Receive an event of a job; events that report no progress are ignored."""
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
        """Restart the schedule; to be called when the current states are saved."""
        self._fitted_then = self._fitted
        self._worked = False
        self._saved_at = self._clock()
