"""Two clips side by side, looping in step, and the flash that confirms a choice."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import theme
from app.pairs import Pair
from app.widgets.clip_player import ClipPlayer
from app.widgets.frame_clock import FrameClock
from core.records import Choice

_FLASH_MS = 500
_FLASHES: dict[Choice, tuple[str, str]] = {
    Choice.LEFT: ("✓ Left is better", ""),
    Choice.RIGHT: ("", "✓ Right is better"),
    Choice.TIE: ("Tie", "Tie"),
    Choice.CANT_TELL: ("Can't tell", "Can't tell"),
}


class ClipPair(QWidget):
    """What is compared.

    Signals:
        flash_ended(): the confirmation of the last choice has been on screen long enough.
    """

    flash_ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.left, self.right = ClipPlayer("Left clip", self), ClipPlayer("Right clip", self)
        self.shown: Pair | None = None
        self.flashed: Choice | None = None
        self.clock = FrameClock(self)
        self.clock.frame_due.connect(self._on_frame_due)
        self._flash_end = QTimer(self, singleShot=True, interval=_FLASH_MS)
        self._flash_end.timeout.connect(self._on_flash_end)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        row.addWidget(self.left)
        row.addWidget(self.right)

    def show_pair(self, pair: Pair | None) -> None:
        """None: nothing to compare."""
        self.shown = pair
        self.left.set_frames(pair.left if pair else None)
        self.right.set_frames(pair.right if pair else None)
        if pair:
            self.clock.play(min(len(pair.left.pixels), len(pair.right.pixels)), pair.left.fps)
        else:
            self.clock.halt()

    def flash(self, choice: Choice) -> None:
        """Confirms a choice over whatever is on screen, so that the next pair need not wait for it."""
        self.flashed = choice
        for player, text in zip((self.left, self.right), _FLASHES[choice], strict=True):
            player.set_flash(theme.CHOICE_COLOURS[choice] if text else None, text)
        self._flash_end.start()

    def toggle_playback(self) -> None:
        if self.clock.playing:
            self.clock.halt()
        elif self.shown:
            self.clock.resume()

    def _on_frame_due(self, index: int) -> None:
        self.left.show_frame(index)
        self.right.show_frame(index)

    def _on_flash_end(self) -> None:
        self.flashed = None
        self.left.set_flash(None)
        self.right.set_flash(None)
        self.flash_ended.emit()
