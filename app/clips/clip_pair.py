"""Two clips side by side, looping in step, with a tick that confirms the choice of the answered pair."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app.clips.clip_player import ClipPlayer
from app.clips.frame_clock import FrameClock
from app.clips.prediction_overlay import PredictionOverlay
from app.labelling.pair_queue import Pair, clip_size
from app.style import theme
from app.style.glossary import explain
from app.style.layouts import row
from core.types import Choice

_PREDICTION_MS = 500
"""Time that a prediction is shown, also over the next pair, which follows sooner."""


def size_in(area: QWidget) -> int:
    """Return the size at which to render the clips of a pair that fills this widget: enlarged ones are jagged."""
    return clip_size(min(area.width() / 2, area.height()) * area.devicePixelRatioF())


class ClipPair(QWidget):
    """Clips of one pair.

    shown: the pair on screen

    Signals:
        playback_changed(): the clips have started, stopped, or changed their speed.
    """

    playback_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.left = ClipPlayer(
            "Left clip", self, Qt.AlignmentFlag.AlignRight
        )  # next to each other, as they are compared
        self.right = ClipPlayer("Right clip", self, Qt.AlignmentFlag.AlignLeft)
        self.overlay = PredictionOverlay(self)
        self.shown: Pair | None = None
        self.clock = FrameClock(self)
        self.clock.frame_due.connect(self._on_frame_due)
        self._prediction_end = QTimer(self, singleShot=True, interval=_PREDICTION_MS)
        self._prediction_end.timeout.connect(lambda: self.overlay.show_prediction(()))
        explain(self, "clip")
        row(self.left, self.right, of=self, spacing=16)

    def show_pair(self, pair: Pair | None) -> None:
        """Show a pair, without the tick of the last one; None for an empty screen."""
        self.shown = pair
        self._show_flash(("", ""))
        self.left.set_frames(pair.left if pair else None)
        self.right.set_frames(pair.right if pair else None)
        if pair:
            self.clock.play(min(len(pair.left.pixels), len(pair.right.pixels)), pair.left.fps)
        else:
            self.clock.halt()
        self.playback_changed.emit()

    def set_placeholder(self, text: str) -> None:
        """Set the text in place of the clips while there is no pair."""
        for player in (self.left, self.right):
            player.placeholder, player.placeholder_pixels = text, 18
            player.update()

    def flash(self, choice: Choice, predicted: tuple[float, ...] = ()) -> None:
        """Confirm a choice on top of the answered clips, until the next pair is shown or `end_flash` is called.

        predicted: P[left preferred] of each ensemble member for the answered pair, to be shown with it
        """
        self.overlay.show_prediction(predicted)
        tick = f"✓ {choice.sentence}"
        texts = {Choice.LEFT: (tick, ""), Choice.RIGHT: ("", tick)}.get(choice, (choice.sentence, choice.sentence))
        self._show_flash(texts, theme.palette().choice_colours[choice])
        self._prediction_end.start()

    def end_flash(self) -> None:
        """End the confirmation at once."""
        self._show_flash(("", ""))
        self.overlay.show_prediction(())

    def toggle_playback(self) -> None:
        if self.clock.playing:
            self.clock.halt()
        elif self.shown:
            self.clock.resume()
        self.playback_changed.emit()

    def restart(self) -> None:
        if self.shown:
            self.clock.restart()
            self.playback_changed.emit()

    def step(self, by: int) -> None:
        """Stop both clips and move by this number of frames."""
        if self.shown:
            self.clock.step(by)
            self.playback_changed.emit()

    def set_speed(self, speed: float) -> None:
        self.clock.set_speed(speed)
        self.playback_changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.overlay.place()

    def _on_frame_due(self, index: int) -> None:
        self.left.show_frame(index)
        self.right.show_frame(index)

    def _show_flash(self, texts: tuple[str, str], colour: str = "") -> None:
        """texts: over the left and the right clip; '' for none"""
        for player, text in zip((self.left, self.right), texts, strict=True):
            player.set_flash(colour, text)
