"""Guard of the open session's folder: notices when it is gone, and can save all that is known elsewhere. No widgets."""

import logging
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.workers.answer_copy import AnswerCopy
from app.workers.background_thread import BackgroundThread
from app.workers.file_copy import FileCopy
from app.workers.preference_writer import PreferenceWriter
from core.io import files
from core.io.tensor_file import DAMAGE
from core.preferences.store import FOLDER
from core.session.session import Session

log = logging.getLogger(__name__)
_CHECK_MS = 1000


class FolderGuard(QObject):
    """Checks the session's folder every second, and after each refused answer.

    gone: the folder was deleted or moved away; nothing can be saved there
    copied: number of files other than answers of which there are copies: earlier policies, and the votes of an audience

    Signals:
        gone_changed(bool): the folder is gone, or is there again.
        answers_saved(object, int, int): all answers and earlier policies are in a new session; the Session, open, and
            how many answers and policies it has.
        refused(str): they could not be saved; one sentence.
    """

    gone_changed = Signal(bool)
    answers_saved = Signal(object, int, int)
    refused = Signal(str)

    def __init__(self, session: Session, writer: PreferenceWriter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self.gone, self.copied, self._checking = session, False, 0, False
        self._behind = False
        """True if the answers could not be copied when they changed last."""
        self._copy, self._others = AnswerCopy(session.folder / FOLDER), FileCopy(session.folder)
        self._thread = BackgroundThread(self)
        self._thread.start()
        for changed in (
            *(writer.answers_counted, writer.answer_kept, writer.answer_withdrawn),
            *(writer.answer_given_again, writer.answer_changed),
        ):
            changed.connect(self._on_answers_changed)
        writer.answer_refused.connect(self.check)
        self._timer = QTimer(self, interval=_CHECK_MS)
        self._timer.timeout.connect(self.check)
        self._timer.start()

    def check(self) -> None:
        """Check whether the folder exists; in a thread, as its disk may be slow."""
        if not self._checking:
            self._checking = True
            self._thread.do(self._look, self._on_checked, self._on_checked)

    def save_answers(self, folder: Path) -> None:
        """Make a session with all answers in this new folder; `answers_saved` or `refused` follows."""
        config = self._session.config

        def write() -> tuple[Session, int, int]:
            session = self._copy.write_session(folder, config, self._others.write)
            return session, session.labels(), self._others.policies

        self._thread.do(write, lambda written: self.answers_saved.emit(*written), self.refused.emit)

    def copy_policies(self) -> None:
        """Copy what was saved since the last time, except answers."""
        self._thread.do(self._others.update, self._on_copied)

    def close(self) -> None:
        """End the thread; block until it has ended."""
        self._timer.stop()
        self._thread.ending = True
        self._thread.do(self._copy.close)
        self._thread.do(self._others.close)
        self._thread.close()

    def _look(self) -> bool:
        """Return whether the folder is gone; if not, what is not copied yet is copied next. In the guard's thread."""
        gone = not files.is_session(self._session.folder)
        if not gone:
            self.copy_policies()
            if self._behind:
                self._on_answers_changed()
        return gone

    def _on_copied(self, number: int) -> None:
        self.copied = number

    def _on_answers_changed(self) -> None:
        self._thread.do(self._update)

    def _update(self) -> None:
        try:
            self._copy.update(lambda: self._thread.ending)
            self._behind = False
        except DAMAGE as error:  # the store itself reports what it can't read
            if not self._behind:
                log.warning("The answers were not copied: %s", error)
            self._behind = True

    def _on_checked(self, gone: bool | str) -> None:
        """gone: whether the folder is gone, or a sentence if the check failed"""
        self._checking = False
        if bool(gone) != self.gone:
            self.gone = bool(gone)
            log.warning("%s is %s", self._session.folder, "gone" if gone else "there again")
            self.gone_changed.emit(self.gone)
