"""One clock for clips that play in step."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QObject, Qt, QTimer, Signal


class FrameClock(QObject):
    """Counts the frames of a loop.

    A precise single-shot timer is armed anew to each frame's own deadline: a timer at a fixed interval would beat
    against the frames, and an error would add up.

    Signals:
        frame_due(int): this frame of the loop is to be shown.
    """

    frame_due = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._count, self._fps = 0, 30.0
        self._started, self._shown = 0.0, -1
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_deadline)

    @property
    def playing(self) -> bool:
        return self._timer.isActive()

    def play(self, count: int, fps: float) -> None:
        """Starts a loop of `count` frames at its first frame."""
        self._count, self._fps = count, fps
        self._start_at(0)

    def halt(self) -> None:
        self._timer.stop()

    def resume(self) -> None:
        if self._count and not self.playing:
            self._start_at(self._shown)

    def _start_at(self, frame: int) -> None:
        self._started = time.perf_counter() - frame / self._fps
        self._shown = frame
        self.frame_due.emit(frame % self._count)
        self._arm()

    def _on_deadline(self) -> None:
        now = int((time.perf_counter() - self._started) * self._fps + 0.05)  # a timer may fire a hair early
        if now != self._shown:
            self._shown = now
            self.frame_due.emit(now % self._count)
        self._arm()

    def _arm(self) -> None:
        deadline = self._started + (self._shown + 1) / self._fps
        self._timer.start(max(0, math.ceil((deadline - time.perf_counter()) * 1000)))
