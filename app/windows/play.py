"""A game to play oneself: before labelling, it shows within minutes what good and bad play is (B.2)."""

from __future__ import annotations

import contextlib
import logging

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QFocusEvent, QHideEvent, QIcon, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.clips.game_screen import GameScreen
from app.style import assets
from app.style.labels import label
from app.workers.job_worker import JobWorker, MakeProcess, Process
from core.config import Config
from core.errors import summary
from core.events import ControlsHeld, Event, Failed, GameShown, JobSpec
from core.system.child_process import JobDiedError
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


log = logging.getLogger(__name__)

_JOB = "play"


def playable(task: Task) -> bool:
    """Games have a joystick; a robot's motors, a dozen of them, nobody could steer by keys."""
    return isinstance(task, AtariTask)


class Playing(QObject):
    """Opens a window with the game, and ends the game with the window.

    Signals:
        refused(str): there is nothing to play; one sentence.
    """

    refused = Signal(str)

    def __init__(self, config: Config, make_process: MakeProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._config, self._make_process = config, make_process
        self.window: PlayWindow | None = None
        self._process: Process | None = None
        self._worker: JobWorker | None = None

    def open(self) -> None:
        """Or brings the window to the front that is open already. Refused where the task is no game."""
        task = get_task(self._config.task)
        if not isinstance(task, AtariTask):
            self.refused.emit(f"Only games can be played: nobody could steer the motors of {task.title} by keys.")
            return
        if self.window is None:
            self.window = PlayWindow(task)
            self.window.controls_changed.connect(self._send)
            self.window.left.connect(self._on_left)
        if self._worker is None:
            self._start()
        self.window.show()
        self.window.raise_()
        self.window.activateWindow()

    def close(self) -> None:
        """Ends the game; blocks until its process has gone."""
        if self.window is not None:
            self.window.close()
        if self._worker is not None:
            self._worker.wait()
            self._worker = None

    def _start(self) -> None:
        assert self.window is not None
        try:
            self._process = self._make_process(JobSpec(_JOB, self._config.to_dict()))
        except Exception as error:  # too many open files, above all
            log.exception("A game can't be begun.")
            self.window.tell(f"The game can't be begun: {summary(error).rstrip('.')}.")
            return
        self._worker = JobWorker(_JOB, self._process, lambda event: True, self)
        self._worker.event_arrived.connect(self._on_event)
        self._worker.finished_with.connect(self._on_finished)
        self._worker.start()

    def _send(self, held: ControlsHeld) -> None:
        if self._process is not None:
            with contextlib.suppress(JobDiedError):  # _on_finished comes next, and tells
                self._process.send(held)

    def _on_event(self, event: Event) -> None:
        if self.window is None:
            return
        if isinstance(event, GameShown):
            self.window.show_game(event)
        if isinstance(event, Failed):
            log.error("The %s stage failed: %s\n%s", event.job, event.summary, event.text)
            self.window.tell(event.summary)

    def _on_left(self) -> None:
        """The window goes at once; the process is let go in the meantime."""
        window, self.window = self.window, None
        if window is not None:
            window.deleteLater()
        if self._worker is not None:
            self._worker.cancel()

    def _on_finished(self, name: str, reason: str) -> None:
        worker, self._worker, self._process = self._worker, None, None
        if worker is not None:
            worker.wait()
            worker.deleteLater()
        if self.window is not None and reason == "died":
            self.window.tell("The game has ended unexpectedly: leave with Esc, and play again if you like.")
        if self.window is not None and reason == "stopped":  # it was opened again while the last game went
            self._start()
