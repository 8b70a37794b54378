"""The one place where the window tells of trouble."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app.style.labels import button

_NOTICE_MS = 12_000


class Banner(QFrame):
    """Hidden unless something is to be told. A failure stays until it is dealt with; a notice goes by itself.

    Signals:
        restart_requested(): the person wants what failed to be started again.
        quit_requested(): the person wants to save and leave.
    """

    restart_requested = Signal()
    quit_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self.setAccessibleName("Message")
        self.text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.restart = button("Restart")
        self.quit = button("Save and quit")
        self.restart.clicked.connect(self.restart_requested)
        self.quit.clicked.connect(self.quit_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 10, 10)
        row.addWidget(self.text, 1)
        row.addWidget(self.restart)
        row.addWidget(self.quit)
        self._end = QTimer(self, singleShot=True, interval=_NOTICE_MS)
        self._end.timeout.connect(self.hide)
        self.hide()

    @property
    def shows_failure(self) -> bool:
        return self.isVisible() and self.property("kind") == "failure"

    def tell_failure(self, text: str, remedy: str) -> None:
        """remedy: what the button to go on says."""
        self._end.stop()
        self.restart.setText(remedy)
        self._tell(text, "failure")

    def tell_notice(self, text: str) -> None:
        """A failure on screen is the more important of the two."""
        if not self.shows_failure:
            self._tell(text, "notice")
            self._end.start()

    def clear_notice(self) -> None:
        if not self.shows_failure:
            self.hide()

    def clear_failure(self) -> None:
        """It is dealt with; what a notice tells is not."""
        if self.property("kind") == "failure":
            self.hide()

    def _tell(self, text: str, kind: str) -> None:
        self.text.setText(text)
        self.setAccessibleDescription(text)
        self.setProperty("kind", kind)
        self.style().polish(self)  # the style sheet looks at `kind`
        self.restart.setVisible(kind == "failure")
        self.quit.setVisible(kind == "failure")
        self.show()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))  # read out at once
