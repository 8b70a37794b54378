"""The present policy acting: loops the newest demonstration."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.live import Demonstration
from app.widgets.clip_player import ClipPlayer
from app.widgets.frame_clock import FrameClock
from app.widgets.labels import label


class LiveView(QWidget):
    """A new demonstration starts when the one on screen has ended, so that no motion is cut."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = label("plotTitle", "The policy, live")
        self._player = ClipPlayer("The present policy acting", self)
        self.shown: Demonstration | None = None
        self._next: Demonstration | None = None
        self._clock = FrameClock(self)
        self._clock.frame_due.connect(self._on_frame_due)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._title)
        column.addWidget(self._player, 1)

    def take(self, demonstration: Demonstration) -> None:
        self._next = demonstration
        if self.shown is None:
            self._swap()

    def halt(self) -> None:
        self._clock.halt()

    def _swap(self) -> None:
        if self._next is None:
            return
        self.shown, self._next = self._next, None
        frames = self.shown.frames
        self._title.setText(f"The policy after {self.shown.env_steps:,} steps")
        self._player.set_frames(frames)
        self._clock.play(len(frames.pixels), frames.fps)

    def _on_frame_due(self, index: int) -> None:
        if index == 0 and self._next:
            self._swap()
        else:
            self._player.show_frame(index)
