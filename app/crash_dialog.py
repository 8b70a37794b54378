"""The dialog for an error that nobody foresaw."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QDialog, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.style.labels import label

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
