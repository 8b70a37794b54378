"""Guard of the open session's folder: notices when it is gone, and can save all that is known elsewhere. No widgets."""

import logging
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.workers.background_thread import BackgroundThread
from app.workers.preference_writer import PreferenceWriter
from app.workers.session_copy import SessionCopy
from core.io import files
from core.io.tensor_file import DAMAGE
from core.session.session import Session

log = logging.getLogger(__name__)
_CHECK_MS = 1000


class FolderGuard(QObject):
    """Checks the session's folder and copies what is new in it, every second and after each change of the answers.

    gone: the folder was deleted or moved away; nothing can be saved there

    Signals:
        gone_changed(bool): the folder is gone, or is there again.
        answers_saved(object, int, int): answers, earlier policies and votes are in a new session; the Session, open,
            and how many answers and policies it has.
        refused(str): they could not be saved; one sentence.
    """

    gone_changed = Signal(bool)
    answers_saved = Signal(object, int, int)
    refused = Signal(str)

    def __init__(self, session: Session, writer: PreferenceWriter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self.gone = session, False
        self._copy, self._copy_failed = SessionCopy(session.folder), False
        self._thread = BackgroundThread(self)
        self._thread.start()
        writer.undo_changed.connect(self.check)
        writer.answer_refused.connect(self.check)
        self._timer = QTimer(self, singleShot=True, interval=_CHECK_MS)
        self._timer.timeout.connect(self.check)
        self._timer.start()

    def check(self) -> None:
        """Check whether the folder exists, and copy what is new in it; in a thread, as its disk may be slow."""
        self._timer.stop()
        self._thread.do(self._look, self._on_checked, lambda _: self._on_checked(self.gone))

    def save_answers(self, folder: Path) -> None:
        """Make a session of all that is copied in this new folder; `answers_saved` or `refused` follows."""
        config = self._session.config

        def write() -> tuple[Session, int, int]:
            session = self._copy.write_session(folder, config)
            return session, session.labels(), self._copy.policies

        self._thread.do(write, lambda written: self.answers_saved.emit(*written), self.refused.emit)

    def close(self) -> None:
        """End the thread; block until it has ended."""
        self._timer.stop()
        self._thread.ending = True
        self._thread.do(self._copy.close)
        self._thread.close()

    def _look(self) -> bool:
        """Return whether the folder is gone; if not, copy what is new. In the guard's thread."""
        if not files.is_session(self._session.folder):
            return True
        try:
            self._copy.update(lambda: self._thread.ending)
            self._copy_failed = False
        except (*DAMAGE, MemoryError) as error:  # the store itself reports what it can't read
            if not self._copy_failed:
                log.warning("The session was not copied: %s", error)
            self._copy_failed = True
        return False

    def _on_checked(self, gone: bool) -> None:
        if self._thread.ending:
            return
        self._timer.start()
        if gone != self.gone:
            self.gone = gone
            log.warning("%s is %s", self._session.folder, "gone" if gone else "there again")
            self.gone_changed.emit(gone)
