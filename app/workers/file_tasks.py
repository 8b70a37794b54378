"""Files that are written on request: exports, diagnostics and plots. They are written in a thread, and can be abandoned."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from app.workers.background_thread import BackgroundThread
from core.errors import UserError
from core.io import files
from core.session.archive import export_session
from core.session.diagnostics import collect
from core.session.session import Session

log = logging.getLogger(__name__)
_DEADLINE_MS = 2000
"""Time that a closing window waits for a file; in all it closes within three seconds."""


def saved_sentence(*paths: Path) -> str:
    """Return a sentence about files that have been written to one folder."""
    *others, last = (path.name for path in paths)
    names = f"{', '.join(others)} and {last}" if others else last
    return f"Saved {names} in {paths[0].absolute().parent}."


class FileTasks(QObject):
    """Writes the requested files in a thread of its own, so that the last checkpoint does not wait for an export.

    An abandoned task leaves no file.

    deadline: time until unfinished tasks are abandoned; started when the window closes
    abandoned: sentence about the last abandoned file; '' if there is none

    Signals:
        task_done(str): a task is done; one sentence.
        task_failed(str): a task has failed or was abandoned; one sentence.
    """

    task_done = Signal(str)
    task_failed = Signal(str)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._unfinished = list[str]()
        """Names of the files whose tasks have not ended; '' for a task without a file."""
        self._thread = BackgroundThread(self)
        self._expired = threading.Event()
        self.deadline = QTimer(self, singleShot=True, interval=_DEADLINE_MS)
        self.deadline.timeout.connect(self._expired.set)
        self.abandoned = ""

    @property
    def running(self) -> bool:
        return bool(self._unfinished)

    @property
    def unfinished(self) -> list[str]:
        """Names of the files that are being written."""
        return [name for name in self._unfinished if name]

    @property
    def deadline_set(self) -> bool:
        return self.deadline.isActive() or self._expired.is_set()

    def export(self, target: Path) -> None:
        """Write the session, as it is on disk, to one file."""
        self._write(target, lambda check: export_session(self._session, target, check))

    def collect_diagnostics(self, target: Path) -> None:
        self._write(target, lambda check: collect(self._session.folder, target, check))

    def write(self, target: Path, make_content: Callable[[], bytes]) -> None:
        """Write a file; its content is made in the thread."""

        def make(check: Callable[[], None]) -> None:
            content = make_content()
            check()
            files.write_atomically(target, content)

        self._write(target, make)

    def _write(self, target: Path, make: Callable[[Callable[[], None]], None]) -> None:
        """make: writes the file, and calls its argument often, which raises UserError to abandon the task"""

        def check() -> None:
            if self._expired.is_set():
                sentence = f"{target.name} was not saved because the session was closed: save it again."
                if sentence != self.abandoned:
                    log.warning("%s", sentence)
                self.abandoned = sentence
                raise UserError(sentence)

        def carry_out() -> None:
            check()
            make(check)

        self.run(carry_out, saved_sentence(target), target.name)

    def run(self, task: Callable[[], None], done: str, file: str = "") -> None:
        """Run a task with the session's files; `task_done` follows, with the sentence `done`, or `task_failed`.

        file: name of the file that the task writes, if it writes one
        """
        self._unfinished.append(file)
        self._thread.do(
            task,
            lambda _: self._on_ended(file, self.task_done, done),
            lambda text: self._on_ended(file, self.task_failed, text),
        )

    def _on_ended(self, file: str, signal: SignalInstance, sentence: str) -> None:
        self._unfinished.remove(file)
        signal.emit(sentence)

    def close(self) -> None:
        """End the thread; block until all tasks are done."""
        self.deadline.stop()
        self._thread.close()
