"""A game to play oneself: before labelling, it shows within minutes what good and bad play is (B.2)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent, QFocusEvent, QHideEvent, QIcon, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.clips.game_screen import GameScreen
from app.style import assets
from app.style.labels import label
from core.events import ControlsHeld, GameShown
from core.tasks.atari import AtariTask

_CONTROLS = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_Space: "fire",
}


class PlayWindow(QWidget):
    """Shows the game and tells which keys are held.

    Signals:
        controls_changed(object): the keys that are held now, as ControlsHeld.
        left(): the person has had enough; the window has gone.
    """

    controls_changed = Signal(object)
    left = Signal()

    def __init__(self, task: AtariTask, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle(f"Play {task.title} – Somersault")
        self.setWindowIcon(QIcon(str(assets.path("logo.svg"))))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setObjectName("play")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._held: set[str] = set()
        self._hint = f"{task.controls}      Esc leaves"
        self.screen_ = GameScreen()
        self.score, self.told = label("figure", "Score –"), label("caption", "The game is starting.", wrap=True)
        head = QHBoxLayout()
        head.addWidget(self.score)
        head.addStretch(1)
        head.addWidget(label("caption", "Five minutes show what good play is. Nothing of this game is kept."))
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 14, 20, 14)
        column.setSpacing(10)
        column.addLayout(head)
        column.addWidget(self.screen_, 1)
        column.addWidget(self.told)
        self.told.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.resize(620, 780)

    def show_game(self, shown: GameShown) -> None:
        self.screen_.show_picture(shown.pixels)
        lives = f"      Lives {shown.lives}" if shown.lives else ""
        self.score.setText(f"Score {shown.score}{lives}")
        self.told.setText(self._hint)

    def tell(self, sentence: str) -> None:
        """Something went wrong; the last picture stays."""
        self.told.setText(sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            self._change(event, held=True)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self._change(event, held=False)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Keys that are let go elsewhere are not heard of here."""
        super().focusOutEvent(event)
        self._hold(set())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._hold(set())

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.left.emit()

    def _change(self, event: QKeyEvent, held: bool) -> None:
        control = _CONTROLS.get(Qt.Key(event.key()))
        if control is None:
            event.ignore()
        elif not event.isAutoRepeat():
            self._hold(self._held | {control} if held else self._held - {control})

    def _hold(self, controls: set[str]) -> None:
        if controls != self._held:
            self._held = controls
            self.controls_changed.emit(ControlsHeld(**dict.fromkeys(controls, True)))
