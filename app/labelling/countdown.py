"""How long something will take, from how long it took before. Pure."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from app import settings

_REMEMBERED = 8


class Countdown:
    """Counts down while something is under way: the median of the last times, less what has passed."""

    def __init__(self, usual: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """usual: seconds, as long as nothing was measured; None where nobody knows."""
        self._clock = clock
        self._usual = usual
        self._taken: deque[float] = deque(maxlen=_REMEMBERED)
        self._began: float | None = None

    def begin(self) -> None:
        self._began = self._clock()

    def end(self) -> float | None:
        """How long it took; None where it had not begun."""
        if self._began is None:
            return None
        taken, self._began = self._clock() - self._began, None
        self._taken.append(taken)
        return taken

    def drop(self) -> None:
        """It was interrupted: how long it took would tell nothing."""
        self._began = None

    @property
    def under_way(self) -> bool:
        return self._began is not None

    @property
    def expected(self) -> float | None:
        """Seconds that the whole takes."""
        return sorted(self._taken)[len(self._taken) // 2] if self._taken else self._usual

    @property
    def left(self) -> float | None:
        """Seconds until it should be over, negative where it takes longer than ever; None where nothing is known."""
        if self._began is None or self.expected is None:
            return None
        return self.expected - (self._clock() - self._began)


USUAL_START = 10.0
"""Seconds to the first pair where nobody has measured them: four processes import their libraries on two cores."""

_LONGEST = 600.0


def usual_start(task: str) -> float:
    """Seconds from the start to the first pair, as it was the last time."""
    try:
        seconds = float(settings.text(_name(task)))
    except ValueError:
        return USUAL_START
    return seconds if math.isfinite(seconds) and seconds > 0 else USUAL_START


def keep_start(task: str, seconds: float) -> None:
    """Not where the computer must have slept in between."""
    if seconds > _LONGEST:
        return
    settings.keep(_name(task), f"{seconds:.1f}")


def _name(task: str) -> str:
    return f"start/{task.replace('/', ' ')}"
