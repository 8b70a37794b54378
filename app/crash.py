"""Unexpected errors: written to the log and shown in a dialog."""

import logging
import sys
import threading
import traceback
from collections import deque
from types import TracebackType

from PySide6.QtCore import QObject, QThread, Signal
from PySide6.QtWidgets import QApplication, QDialog, QPlainTextEdit, QPushButton, QWidget

from app.style.labels import label
from app.style.layouts import column, row
from core.errors import summary

_LOG_LINES = 300
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_TEXT = "Somersault has encountered an unexpected error: {sentence}."
_ADVICE = (
    "All your answers are saved. You can continue, but parts of the window may no longer work. To be safe, quit and"
    " open the session again: it continues from its last checkpoint."
)
_WIDTH = 640
log = logging.getLogger(__name__)


class RecentLog(logging.Handler):
    """Keeps the last lines of the log in memory."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter(_FORMAT))
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

    def __init__(self, log_file: str = "", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log_file = log_file
        self._recent_log = RecentLog()
        self._showing = False
        self.dialog: CrashDialog | None = None
        self.crashed.connect(self._on_crashed)
        self._previous_hooks = sys.excepthook, threading.excepthook

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
        self.dialog = CrashDialog(sentence, self._recent_log.text, self.log_file)
        self.dialog.quit_requested.connect(self.quit_requested)
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


class CrashDialog(QDialog):
    """Error message with the recent log.

    Signals:
        quit_requested(): the person quits.
    """

    quit_requested = Signal()

    def __init__(self, sentence: str, log: str, log_file: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Somersault: unexpected error")
        self._text = f"{log}\n\nThe whole log is in {log_file}." if log_file else log
        self.sentence = label("crash", _TEXT.format(sentence=sentence.rstrip(".")), wrap=True)
        self.log = QPlainTextEdit(self._text, readOnly=True, tabChangesFocus=True)
        self.log.setAccessibleName("Log")
        self.log.hide()
        self.show_log, self.copy = QPushButton("&Show log"), QPushButton("C&opy")
        self.dismiss, self.quit = QPushButton("&Continue"), QPushButton("&Quit")
        self.show_log.clicked.connect(self._on_show_log)
        self.copy.clicked.connect(lambda: QApplication.clipboard().setText(f"{self.sentence.text()}\n\n{self._text}"))
        self.dismiss.clicked.connect(self.reject)
        self.quit.clicked.connect(self._on_quit)
        self.quit.setDefault(True)
        buttons = row(self.show_log, self.copy, None, self.dismiss, self.quit)
        advice = label("detail", _ADVICE, wrap=True)
        page = column(self.sentence, advice, (self.log, 1), buttons, of=self, margins=None, spacing=12)
        self.resize(_WIDTH, page.totalHeightForWidth(_WIDTH))
        self.quit.setFocus()

    def _on_show_log(self) -> None:
        self.log.show()
        self.show_log.setEnabled(False)
        self.resize(max(self.width(), 820), 560)
        self.log.verticalScrollBar().setValue(self.log.verticalScrollBar().maximum())

    def _on_quit(self) -> None:
        self.accept()
        self.quit_requested.emit()
