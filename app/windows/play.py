"""Window in which the person plays the game: five minutes show good and bad play before labelling (B.2)."""

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QFocusEvent, QHideEvent, QKeyEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.style.images import of_pixels
from app.style.labels import label
from app.style.layouts import column, row
from app.window_state import fitting
from app.workers.job_worker import MakeProcess
from app.workers.service_process import ServiceProcess
from core.config import Config
from core.errors import UserError
from core.events import Event, JobSpec
from core.service_events import ControlsHeld, GameShown
from core.tasks import get_task
from core.tasks.atari import AtariTask
from core.tasks.base import Task

_CONTROLS = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_Space: "fire",
}

_GAP = 6 * " "
"""Space between two hints, here and in the task's controls."""


class PlayWindow(QWidget):
    """Shows the game and reports which keys are held.

    pixels: the last picture, (height, width, 3) uint8 RGB; None before the first

    Signals:
        controls_changed(object): the keys that are held now, as ControlsHeld.
        left(): the window was closed.
    """

    controls_changed = Signal(object)
    left = Signal()

    def __init__(self, task: AtariTask, session: str) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self.setWindowTitle(f"Play {task.title} – {session} – Somersault")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._held: set[str] = set()
        hints = f"{task.controls}{_GAP}Esc leaves".split(_GAP)
        self._hint = _GAP.join(hint.replace(" ", "\N{NO-BREAK SPACE}") for hint in hints)  # lines break between them
        self.pixels: npt.NDArray[np.uint8] | None = None
        self.screen_ = label("game", centred=True)
        self.screen_.setAccessibleName("The game")
        self.screen_.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)  # the picture follows it
        self.screen_.setMinimumSize(160, 210)
        self.score, self.message = label("figure", "Score –"), label("caption", "The game is starting.", wrap=True)
        about = "Five minutes is enough to see what good play looks like. This game is not saved."
        head = row(self.score, (label("caption", about, wrap=True), 1), spacing=20)
        column(head, (self.screen_, 1), self.message, of=self, margins=(20, 14, 20, 14), spacing=10)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.resize(fitting(self, QSize(620, 780)))

    def show_game(self, shown: GameShown) -> None:
        self.pixels = shown.pixels
        picture = QPixmap.fromImage(of_pixels(shown.pixels))
        self.screen_.setPixmap(picture.scaled(self.screen_.size(), Qt.AspectRatioMode.KeepAspectRatio))
        lives = f"      Lives {shown.lives}" if shown.lives else ""
        self.score.setText(f"Score {shown.score}{lives}")
        self.message.setText(self._hint)

    def show_message(self, sentence: str) -> None:
        """Show an error; the last picture stays."""
        self.message.setText(sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            self._change(event, held=True)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self._change(event, held=False)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Release all keys: releases in another window are not reported here."""
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


def playable(task: Task) -> bool:
    """Return True if a person can play the task. Only games can be played: a robot has too many motors for keys."""
    return isinstance(task, AtariTask)


class Playing(QObject):
    """Opens a window with the game, and ends the game when the window closes."""

    def __init__(self, config: Config, make_process: MakeProcess, session: str, parent: QObject | None = None) -> None:
        """session: name of the session, for the window's title"""
        super().__init__(parent)
        self._config, self._session = config, session
        self.window: PlayWindow | None = None
        self._game = ServiceProcess(make_process, self._on_event, self._on_end, self)

    def open(self) -> None:
        """Open the window, or bring an open one to the front. The task must be `playable`."""
        if self.window is None:
            task = get_task(self._config.task)
            assert isinstance(task, AtariTask)
            self.window = PlayWindow(task, self._session)
            self.window.controls_changed.connect(self._game.send)
            self.window.left.connect(self._on_left)
        self._start()
        self.window.show()
        self.window.raise_()
        self.window.activateWindow()

    def close(self) -> None:
        """Close the window, and block until the game's process has ended."""
        if self.window is not None:
            self.window.close()
        self._game.close()

    def _start(self) -> None:
        assert self.window is not None
        try:
            self._game.start(JobSpec("play", self._config.to_dict()))
        except UserError as error:
            self.window.show_message(f"The game can't be started: {error}.")

    def _on_event(self, event: Event) -> None:
        if self.window is not None and isinstance(event, GameShown):
            self.window.show_game(event)

    def _on_left(self) -> None:
        """Release the window at once; the process ends later."""
        window, self.window = self.window, None
        if window is not None:
            window.deleteLater()
        self._game.cancel()

    def _on_end(self, reason: str, failure: str) -> None:
        if self.window is None:
            return
        if reason == "stopped":  # opened again while the last game was ending
            self._start()
        else:
            unexpected = "The game ended unexpectedly: press Esc to leave, then open it again."
            self.window.show_message(f"The game ended: {failure}." if failure else unexpected)
