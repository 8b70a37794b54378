"""The self-test: one teaching session in the real window, driven by key presses, with screenshots.

It verifies that an installed program works on this machine: its display, simulator, child processes, keys and files.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.application import Application, run
from app.command_line import DEFAULT_TASK
from app.session.controller import State
from app.session.metrics_recorder import TRAIN_LOSS, of_member
from app.windows.demo import DemoWindow
from core.errors import UserError
from core.io.files import require_empty
from core.io.session_log import NAME
from core.session.checkpoint import CHECKPOINTS
from core.session.session import Session

_STEP_MS = 100
_PATIENCE_SECONDS = 600.0
"""Longest wait for one thing to happen; the first pair takes some ten seconds on two quiet cores."""
_TROUBLE = re.compile(r" (WARNING|ERROR|CRITICAL) .*")
Wait = tuple[str, Callable[[], bool]]
"""Description of an awaited condition, and a function that returns True once it holds."""


def self_test(folder: Path) -> int:
    """Run the test, print its outcome, and return 0 if all went well, else 1.

    folder: new or empty, for the session and the screenshots; its name is printed. An empty path creates one.

    Raises UserError if the folder has content.
    """
    place = folder if folder.name else Path(tempfile.mkdtemp(prefix="somersault-self-test-"))
    require_empty(place)
    place.mkdir(parents=True, exist_ok=True)
    session = place.absolute() / "session"
    made: list[_Driver] = []

    def drive(application: Application) -> None:
        made.append(_Driver(application, place))

    code = run(["--task", DEFAULT_TASK, "--session", str(session), "--teacher", "human"], drive)
    failure = (made[0].failure if made else "it never started") or _left_behind(session, made[0].labels)
    if code or failure:
        print(f"Self-test failed: {failure or f'exit code {code}'}. Screenshots and session: {place}", file=sys.stderr)
        return 1
    print(
        f"Self-test passed: {made[0].labels} answers given and stored, and a reward fitted. Screenshots and session: {place}"
    )
    return 0


def _left_behind(folder: Path, labels: int) -> str:
    """Return the fault found in the closed session; '' if there is none."""
    try:
        with closing(Session.open(folder)) as session:
            kept = session.labels()
    except UserError as error:
        return str(error).rstrip(".")
    if kept != labels:
        return f"{kept} answers are stored, and {labels} were given"
    if not any((folder / CHECKPOINTS).glob("*.safetensors")):
        return "no checkpoint was saved"
    trouble = _TROUBLE.search((folder / NAME).read_text("utf-8"))
    return f"the log says{trouble[0]}" if trouble else ""


class _Driver(QObject):
    """Presses keys as a person does, step by step, and ends the test if a step takes too long.

    failure: why training stopped, or which step timed out; '' if neither happened
    labels: answers that count at the end
    """

    def __init__(self, application: Application, pictures: Path) -> None:
        super().__init__(application)
        assert application.open is not None
        self._application, self._pictures = application, pictures
        self._window, self._controller = application.open.window, application.open.controller
        self._labelling, self._progress = self._controller.labelling, self._controller.progress
        self.failure, self.labels = "", 0
        self._stopped = ""
        self._controller.job_failed.connect(self._on_job_failed)
        self._steps = self._script()
        self._wait, self._since = next(self._steps), time.monotonic()
        self._timer = QTimer(self, interval=_STEP_MS)
        self._timer.timeout.connect(self._advance)
        self._timer.start()

    def _advance(self) -> None:
        what, happened = self._wait
        if happened():
            following = next(self._steps, None)
            if following is None:
                self._timer.stop()
            else:
                self._wait, self._since = following, time.monotonic()
        elif self._controller.state == State.FAILED or time.monotonic() - self._since > _PATIENCE_SECONDS:
            self.failure = self._stopped or f"timed out waiting for {what}"
            self._timer.stop()
            self._save(self._window, "failure")
            self._application.quit()

    def _on_job_failed(self, text: str, _: str) -> None:
        self._stopped = text.rstrip(".")

    def _script(self) -> Iterator[Wait]:
        window = self._window
        yield "the first pair", self._can_answer
        self._save(window, "1-pair")
        for number, key in enumerate((Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up), 1):
            self._press(window, key)
            yield f"answer {number}", partial(self._has_answers, number)
        self._press(window, Qt.Key.Key_Backspace)
        yield "undoing an answer", partial(self._has_answers, 2)
        self._press(window, Qt.Key.Key_Left)
        yield "the answer that replaces it", partial(self._has_answers, 3)
        self._save(window, "2-answered")
        self._press(window, Qt.Key.Key_F11)
        yield "the full screen", lambda: self._demo is not None and self._demo.isActiveWindow()
        assert self._demo is not None
        self._save(self._demo, "3-full-screen")
        self._press(self._demo, Qt.Key.Key_Right)
        yield "a guest's answer", lambda: self._progress.labels == 4 and self._labelling.idle
        assert self._demo is not None
        self._press(self._demo, Qt.Key.Key_Escape)
        yield "the window after the full screen", lambda: self._demo is None and self._is_active()
        self._press(window, Qt.Key.Key_F7)
        yield "the oracle's answers", lambda: self._progress.labels >= self._progress.first_labels
        yield "the fit of a reward", lambda: len(self._controller.metrics.snapshot(of_member(TRAIN_LOSS, 0))[0]) > 0
        self._press(window, Qt.Key.Key_F6)
        yield "the last answer on disk", lambda: self._labelling.idle
        self._save(window, "4-taught")
        self.labels = self._progress.labels
        self._press(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)

    @property
    def _demo(self) -> DemoWindow | None:
        return self._window.watching_commands.demo

    def _can_answer(self) -> bool:
        shown = self._labelling.pairs.shown is not None and self._labelling.open and self._labelling.idle
        return shown and self._window.pair_page.has_pair and self._is_active()

    def _is_active(self) -> bool:
        """Return whether the window is active; activate it first, as there may be no window manager to do so."""
        if not self._window.isActiveWindow():
            self._window.activateWindow()
        return self._window.isActiveWindow()

    def _has_answers(self, count: int) -> bool:
        """Return whether `count` answers have been counted and the next pair can be answered."""
        return self._progress.labels == count and self._can_answer()

    def _press(
        self, widget: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        QTest.keyClick(widget, key, modifier)

    def _save(self, widget: QWidget, name: str) -> None:
        widget.grab().save(str(self._pictures / f"{name}.png"))
