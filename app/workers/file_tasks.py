"""Files written on request: exports, diagnostics, plots. Each is written in a thread, and can be abandoned."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.workers.checkpointer import Checkpointer
from core.errors import UserError
from core.io import files
from core.session.archive import export_session
from core.session.diagnostics import collect
from core.session.session import Session

log = logging.getLogger(__name__)
_DEADLINE_MS = 2000
"""Time that a closing window waits for a file; in all it closes within three seconds."""


class FileTasks(QObject):
    """The checkpointer's `file_task_ended` reports each result. An abandoned task leaves no file behind.

    deadline: time until unfinished tasks are abandoned
    abandoned: sentence about the last abandoned file; '' if there is none
    """

    def __init__(self, session: Session, checkpointer: Checkpointer, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._checkpointer = session, checkpointer
        self._expired = threading.Event()
        self.deadline = QTimer(self, singleShot=True, interval=_DEADLINE_MS)
        self.deadline.timeout.connect(self._expired.set)
        self.abandoned = ""

    def set_deadline(self) -> None:
        """Abandon what is not written within two seconds: the window closes."""
        self.deadline.start()

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

        self._checkpointer.run_file_task(carry_out, f"Saved {target.name}.")
