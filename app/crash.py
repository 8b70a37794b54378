"""Unexpected errors: written to the log and shown in a dialog."""

import logging
import sys
import threading
import traceback
from collections import deque
from types import TracebackType

from PySide6.QtCore import QObject, Qt, QThread, Signal
from PySide6.QtWidgets import QApplication, QMessageBox

from core.errors import summary
from core.io.session_log import FORMAT

_LOG_LINES = 300
_TEXT = "Somersault has encountered an unexpected error: {sentence}."
_CONTINUE = "You can continue, but parts of the window may no longer work."
_SESSION = (
    f"All your answers are saved. {_CONTINUE} To be safe, quit and open the session again: it continues from its last"
    " checkpoint."
)
_START_PAGE = (
    f"All sessions and saved behaviours are kept. {_CONTINUE} To be safe, save the behaviour that you are editing, if there"
    " is one, then quit and start Somersault again."
)
log = logging.getLogger(__name__)


class RecentLog(logging.Handler):
    """Log handler that keeps the last lines in memory."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter(FORMAT))
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))

    @property
    def text(self) -> str:
        return "\n".join(self._lines)


class CrashReporter(QObject):
    """Replaces Python's exception hooks for all threads. One dialog at a time; further errors are only logged.

    log_file: path of the whole log; '' if there is none
    dialog: the dialog on screen

    Signals:
        quit_requested(): the person quits after an error.
        crashed(str): an unexpected error, one sentence. Emitted from any thread.
    """

    quit_requested = Signal()
    crashed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log_file = ""
        self._recent_log = RecentLog()
        self._showing = False
        self.dialog: QMessageBox | None = None
        self.crashed.connect(self._on_crashed)

    def install(self) -> None:
        logging.getLogger().addHandler(self._recent_log)
        self._previous_hooks = sys.excepthook, threading.excepthook
        sys.excepthook, threading.excepthook = self.report, self._report_from_thread

    def remove(self) -> None:
        sys.excepthook, threading.excepthook = self._previous_hooks
        logging.getLogger().removeHandler(self._recent_log)

    def report(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Log an error and request the dialog. Call it in the thread that raised the error."""
        if not isinstance(error, Exception):  # KeyboardInterrupt and SystemExit
            self._previous_hooks[0](kind, error, trace)
            return
        try:
            log.critical("Unexpected: %s", "".join(traceback.format_exception(kind, error, trace)))
            self.crashed.emit(summary(error))
        except Exception:  # the log or the signal has failed: stderr is left
            traceback.print_exc(file=sys.__stderr__)
            sys.__excepthook__(kind, error, trace)

    def _report_from_thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:  # None at the interpreter's end
            self.report(args.exc_type, args.exc_value, args.exc_traceback)

    def _on_crashed(self, sentence: str) -> None:
        if self._showing:  # stays set if the dialog itself can't be made
            return
        self._showing = True
        self.dialog = crash_dialog(sentence, self._recent_log.text, self.log_file)
        self.dialog.defaultButton().clicked.connect(self.quit_requested)
        self.dialog.finished.connect(self._on_finished)
        if QThread.currentThread().loopLevel():
            self.dialog.open()
        else:  # no event loop runs, before or after the windows: the dialog needs its own
            self.dialog.exec()

    def _on_finished(self) -> None:
        self._showing = False
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None


def crash_dialog(sentence: str, log: str, log_file: str = "") -> QMessageBox:
    """Return an error message with the recent log as its details; its Copy button copies both."""
    log = f"{log}\n\nThe whole log is in {log_file}." if log_file else log
    box = QMessageBox(textFormat=Qt.TextFormat.PlainText, detailedText=log, icon=QMessageBox.Icon.Critical)
    box.setWindowTitle("Somersault: unexpected error")
    box.setText(f"{_TEXT.format(sentence=sentence.rstrip('.'))}\n\n{_SESSION if log_file else _START_PAGE}")
    copy = box.addButton("C&opy", QMessageBox.ButtonRole.ActionRole)
    copy.clicked.disconnect()  # the box stays open
    copy.clicked.connect(lambda: QApplication.clipboard().setText(f"{box.text()}\n\n{log}"))
    box.addButton("&Continue", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(box.addButton("&Quit", QMessageBox.ButtonRole.AcceptRole))
    return box
