"""Clock for clips that play in step."""

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal

PAUSE = 0.3
"""Extra seconds, at any speed, for which the last frame of a loop stays on screen."""


class FrameClock(QObject):
    """Counts the frames of a loop, with a pause at its end.

    speed: 1 is as recorded
    stride: number of frames from one that is shown to the next; the first one of a loop is always shown

    A precise single-shot timer is started for each frame's own deadline: with a fixed interval, errors would add up.

    Signals:
        frame_due(int): show this frame of the loop.
    """

    frame_due = Signal(int)

    def __init__(self, parent: QObject | None = None, now: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(parent)
        self._now = now
        self._count, self._fps, self.speed, self.stride = 0, 30.0, 1.0, 1
        self._started, self._shown = 0.0, -1
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.tick)

    @property
    def playing(self) -> bool:
        return self._timer.isActive()

    @property
    def frame(self) -> int:
        """Index of the frame on screen."""
        return self._shown % self._count if self._count else 0

    @property
    def deadline(self) -> float:
        """Time of the next frame, in seconds of the clock `now`."""
        next_loop = (self._shown // self._count + 1) * self._count
        return self._started + self._seconds_until(min(self._shown + self.stride, next_loop))

    @property
    def _rate(self) -> float:
        return self._fps * self.speed

    @property
    def _loop_seconds(self) -> float:
        return self._count / self._rate + PAUSE

    def _seconds_until(self, frame: int) -> float:
        """Return the time from the start of the first loop; frames are counted through all loops."""
        loops, index = divmod(frame, self._count)
        return loops * self._loop_seconds + index / self._rate

    def _frame_at(self, seconds: float) -> int:
        """Return the frame that is due at this time after the start of the first loop."""
        loops, rest = divmod(seconds, self._loop_seconds)
        return int(loops) * self._count + min(int(rest * self._rate), self._count - 1)

    def play(self, count: int, fps: float) -> None:
        self._count, self._fps = count, fps
        self._start_at(0)

    def halt(self) -> None:
        self._timer.stop()

    def restart(self) -> None:
        if self._count:
            self._start_at(0)

    def resume(self) -> None:
        if self._count and not self.playing:
            self._start_at(self._shown)

    def step(self, by: int) -> None:
        """Stop and move by this number of frames; a negative number moves back."""
        self.halt()
        if self._count:
            self._shown = (self._shown + by) % self._count
            self.frame_due.emit(self._shown)

    def set_speed(self, speed: float) -> None:
        """Change the speed, starting at the frame on screen."""
        self.speed = speed
        if self.playing:
            self._start_at(self._shown)

    def tick(self) -> None:
        """Show the frame that is due by now. Called at a deadline or later."""
        now = self._frame_at(self._now() - self._started + 0.05 / self._rate)  # a timer may fire slightly early
        if now != self._shown:
            self._shown = now
            self.frame_due.emit(now % self._count)
        self._arm()

    def _start_at(self, frame: int) -> None:
        self._started = self._now() - self._seconds_until(frame)
        self._shown = frame
        self.frame_due.emit(frame % self._count)
        self._arm()

    def _arm(self) -> None:
        self._timer.start(max(0, math.ceil((self.deadline - self._now()) * 1000)))
