"""Countdowns to expected events, and the expected time to a session's first pair."""

import math
import time
from collections import deque
from collections.abc import Callable
from statistics import median_high

from app import settings

_MAX_DURATIONS = 8
DEFAULT_START_SECONDS = 10.0
"""Seconds to the first pair before any was measured: four processes import their libraries on two cores."""
_LONGEST_START = 600.0
"""Longer starts are not saved: the computer must have slept."""


class Countdown:
    """Seconds left of a recurring activity: the median of its last durations, less the time that has passed."""

    def __init__(self, usual: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """usual: expected seconds before any duration was measured; None if unknown."""
        self._clock = clock
        self._usual = usual
        self._durations: deque[float] = deque(maxlen=_MAX_DURATIONS)
        self._began: float | None = None

    def begin(self) -> None:
        self._began = self._clock()

    def end(self) -> float | None:
        """Record the duration and return it; None if nothing had begun."""
        if self._began is None:
            return None
        duration, self._began = self._clock() - self._began, None
        self._durations.append(duration)
        return duration

    def drop(self) -> None:
        """Stop without recording: the activity was interrupted."""
        self._began = None

    @property
    def under_way(self) -> bool:
        return self._began is not None

    @property
    def expected(self) -> float | None:
        """Expected duration in seconds; None if unknown."""
        return median_high(self._durations) if self._durations else self._usual

    @property
    def left(self) -> float | None:
        """Expected seconds left, negative when overdue; None if unknown or nothing has begun."""
        if self._began is None or self.expected is None:
            return None
        return self.expected - (self._clock() - self._began)


def usual_start_seconds(task: str) -> float:
    """Return the saved seconds from the start to the first pair of this task."""
    try:
        seconds = float(settings.text(_setting(task)))
    except ValueError:
        return DEFAULT_START_SECONDS
    return seconds if math.isfinite(seconds) and seconds > 0 else DEFAULT_START_SECONDS


def save_start_seconds(task: str, seconds: float) -> None:
    if seconds <= _LONGEST_START:
        settings.keep(_setting(task), f"{seconds:.1f}")


def _setting(task: str) -> str:
    return f"start/{task.replace('/', ' ')}"
