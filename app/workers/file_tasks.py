"""The files that the person asks for: written in a thread, and given up where the window is not to wait for them."""

from __future__ import annotations

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
_PATIENCE_MS = 2000
"""How long a window that is to close waits for a file: all in all it closes within three seconds."""


class FileTasks(QObject):
    """Each tells what has become of it by the checkpointer's `file_task_ended`. One given up leaves nothing behind."""

    def __init__(self, session: Session, checkpoints: Checkpointer, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._checkpoints = session, checkpoints
        self._given_up = threading.Event()
        self.patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self.patience.timeout.connect(self._given_up.set)
        self.abandoned = ""
        """What was given up, in one sentence."""

    def hurry(self) -> None:
        """The window closes: what is not done within two seconds is given up, at the next place where it looks."""
        self.patience.start()

    @property
    def hurries(self) -> bool:
        return self.patience.isActive() or self._given_up.is_set()

    def export(self, target: Path) -> None:
        """Writes the session as one file, as it is on disk."""
        self._write(target, lambda go_on: export_session(self._session, target, go_on))

    def collect_diagnostics(self, target: Path) -> None:
        self._write(target, lambda go_on: collect(self._session.folder, target, go_on))

    def write(self, target: Path, content: Callable[[], bytes]) -> None:
        """What is in the file is made in the thread that writes it."""

        def made(go_on: Callable[[], None]) -> None:
            whole = content()
            go_on()
            files.write_atomically(target, whole)

        self._write(target, made)

    def _write(self, target: Path, make: Callable[[Callable[[], None]], None]) -> None:
        """`make` calls what it is handed as often as it can, to be stopped by it."""

        def go_on() -> None:
            if self._given_up.is_set():
                raise UserError(self._give_up(target))

        def carry_out() -> None:
            go_on()
            make(go_on)

        self._checkpoints.run(carry_out, f"{target.name} is written.")

    def _give_up(self, target: Path) -> str:
        """In the errands' thread."""
        told = f"{target.name} was not written, as the session was closed meanwhile: ask for it once more."
        if told != self.abandoned:
            log.warning("%s", told)
        self.abandoned = told
        return told
