"""Errors that nobody foresaw: written to the log, then told in a dialog. The program never goes without a word."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections import deque
from types import TracebackType

from PySide6.QtCore import QObject, QThread, Signal
from PySide6.QtWidgets import QApplication, QDialog, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.style.labels import label
from core.errors import summary

_LINES = 300
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
log = logging.getLogger(__name__)


class RecentLog(logging.Handler):
    """The last lines of the log, at hand without reading a file."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter(_FORMAT))
        self._lines: deque[str] = deque(maxlen=_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))

    @property
    def text(self) -> str:
        return "\n".join(self._lines)


class CrashReporter(QObject):
    """Takes the place of Python's hooks, for this thread and all others. One dialog at a time; the rest is only logged.

    Signals:
        quit_requested(): the person wants to leave after an error.
        crashed(str): an error came up unforeseen; one sentence. From any thread.
    """

    quit_requested = Signal()
    crashed = Signal(str)

    def __init__(self, log_file: str = "", parent: QObject | None = None) -> None:
        """log_file: where the whole log is."""
        super().__init__(parent)
        self.log_file = log_file
        self._recent = RecentLog()
        self._telling = False
        self.dialog: CrashDialog | None = None
        self.crashed.connect(self._on_crashed)
        self._hooks = sys.excepthook, threading.excepthook

    def install(self) -> None:
        logging.getLogger().addHandler(self._recent)
        sys.excepthook, threading.excepthook = self._take, self._take_from_thread

    def remove(self) -> None:
        sys.excepthook, threading.excepthook = self._hooks
        logging.getLogger().removeHandler(self._recent)

    def _take_from_thread(self, told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None:  # it is None at the interpreter's end
            self._take(told.exc_type, told.exc_value, told.exc_traceback)

    def _take(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Called in the thread that the error came up in."""
        if not isinstance(error, Exception):  # Ctrl+C, and the way out
            self._hooks[0](kind, error, trace)
            return
        try:
            log.critical("Unforeseen: %s", "".join(traceback.format_exception(kind, error, trace)))
            self.crashed.emit(summary(error))
        except Exception:  # telling must not fail without a word either
            traceback.print_exc(file=sys.__stderr__)
            sys.__excepthook__(kind, error, trace)

    def _on_crashed(self, sentence: str) -> None:
        if self._telling:  # also where the dialog itself can't be made
            return
        self._telling = True
        self.dialog = CrashDialog(sentence, self._recent.text, self.log_file)
        self.dialog.quit_requested.connect(self.quit_requested)
        self.dialog.finished.connect(self._on_finished)
        if QThread.currentThread().loopLevel():
            self.dialog.open()
        else:  # before the window's loop, or after it: nobody else would keep the dialog alive
            self.dialog.exec()

    def _on_finished(self) -> None:
        self._telling = False
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None


_TEXT = "Somersault has run into an error that it did not expect: {sentence}."

_KEPT = (
    "Every answer that was confirmed is on disk. You can go on, but something in the window may no longer work; to be"
    " safe, quit and open the session again: it goes on from its last checkpoint."
)

_WIDTH = 640


class CrashDialog(QDialog):
    """Says in a sentence what happened, and offers the log.

    Signals:
        quit_requested(): the person wants to leave.
    """

    quit_requested = Signal()

    def __init__(self, sentence: str, log: str, log_file: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Somersault: an unexpected error")
        self._text = f"{log}\n\nThe whole log is in {log_file}." if log_file else log
        self.sentence = label("crash", _TEXT.format(sentence=sentence.rstrip(".")), wrap=True)
        self.log = QPlainTextEdit(self._text, readOnly=True, tabChangesFocus=True)
        self.log.setAccessibleName("Log")
        self.log.hide()
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addWidget(self.sentence)
        column.addWidget(label("detail", _KEPT, wrap=True))
        column.addWidget(self.log, 1)
        column.addLayout(self._row())
        self.resize(_WIDTH, column.totalHeightForWidth(_WIDTH))
        self.quit.setFocus()

    def _row(self) -> QHBoxLayout:
        self.show_log, self.copy = QPushButton("&Show the log"), QPushButton("&Copy")
        self.go_on, self.quit = QPushButton("&Go on"), QPushButton("&Quit")
        self.show_log.clicked.connect(self._on_show_log)
        self.copy.clicked.connect(lambda: QApplication.clipboard().setText(f"{self.sentence.text()}\n\n{self._text}"))
        self.go_on.clicked.connect(self.reject)
        self.quit.clicked.connect(self._on_quit)
        self.quit.setDefault(True)
        row = QHBoxLayout()
        row.addWidget(self.show_log)
        row.addWidget(self.copy)
        row.addStretch(1)
        row.addWidget(self.go_on)
        row.addWidget(self.quit)
        return row

    def _on_show_log(self) -> None:
        self.log.show()
        self.show_log.setEnabled(False)
        self.resize(max(self.width(), 820), 560)
        self.log.verticalScrollBar().setValue(self.log.verticalScrollBar().maximum())

    def _on_quit(self) -> None:
        self.accept()
        self.quit_requested.emit()
