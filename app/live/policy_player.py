"""Looping playback of a demonstration, with its predicted reward and a legend below."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.clips.clip_player import ClipPlayer
from app.clips.frame_clock import FrameClock
from app.live.demonstrations import Demonstration
from app.live.reward_timeline import RewardLegend, RewardTimeline
from app.style.layouts import column

RECORDING = "Recording an episode…"


class PolicyPlayer(QWidget):
    """Plays a demonstration to its end before it takes the next, so that no motion is cut.

    Signals:
        demonstration_started(object): this Demonstration is now on screen.
    """

    demonstration_started = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.player, self.reward_timeline = ClipPlayer(name, self), RewardTimeline(self)
        self.player.placeholder = RECORDING
        self.legend = RewardLegend(self)
        self.shown: Demonstration | None = None
        self._next: Demonstration | None = None
        self._index = 0
        """Frame on screen."""
        self.clock = FrameClock(self)
        self.clock.frame_due.connect(self._on_frame_due)
        column((self.player, 1), self.reward_timeline, self.legend, of=self, spacing=4)

    def play_next(self, demonstration: Demonstration) -> None:
        """Show a demonstration when the current loop ends; at once if none is shown, or only one from before training."""
        if self.shown is None or not len(self.shown.predicted):
            self.play_now(demonstration)
        else:
            self._next = demonstration

    def play_now(self, demonstration: Demonstration) -> None:
        self.shown, self._next, self._index = demonstration, None, 0
        frames = self.shown.frames
        self.player.set_frames(frames)
        self.reward_timeline.set_predicted(self.shown.predicted)
        self.legend.set_columns(len(self.shown.predicted) > 0)
        self.demonstration_started.emit(self.shown)
        self.clock.play(len(frames.pixels), frames.fps)

    def clear(self) -> None:
        """Show no demonstration, but the placeholder."""
        self.shown = self._next = None
        self.clock.halt()
        self.player.set_frames(None)
        self.reward_timeline.set_predicted(None)
        self.legend.set_columns(False)

    def _on_frame_due(self, index: int) -> None:
        looped, self._index = index < self._index or index == 0, index
        if looped and self._next:
            self.play_now(self._next)
        elif self.shown:
            self.player.show_frame(index)
            self.reward_timeline.set_share(index / len(self.shown.frames.pixels))
