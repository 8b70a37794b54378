"""Bars of the main window: failures and notices, a pause and a folder that is gone at the top, a film's progress below."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QSizePolicy, QWidget

from app.style.labels import button, read_out, set_property
from app.style.layouts import row

_NOTICE_MS = 12_000
_BAR = 160
"""Pixels of the progress bar of a film."""


class Banner(QFrame):
    """Bar that shows one message; hidden without one. A failure stays until it is resolved; a notice disappears after some seconds.

    Signals:
        restart_requested(): restart the failed jobs.
        quit_requested(): save and quit.
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
        row((self.text, 1), self.restart, self.quit, of=self, margins=(16, 10, 10, 10))
        self._expiry = QTimer(self, singleShot=True, interval=_NOTICE_MS)
        self._expiry.timeout.connect(self.hide)
        self.hide()

    @property
    def shows_failure(self) -> bool:
        return self.isVisible() and self.property("kind") == "failure"

    def show_failure(self, text: str, remedy: str) -> None:
        """remedy: text of the button that restarts."""
        self._expiry.stop()
        self.restart.setText(remedy)
        self._show_message(text, "failure")

    def show_notice(self, text: str) -> None:
        """Ignored while a failure is shown."""
        if not self.shows_failure:
            self._show_message(text, "notice")
            self._expiry.start()

    def clear_notice(self) -> None:
        if not self.shows_failure:
            self.hide()

    def clear_failure(self) -> None:
        """Hide a failure but keep a notice."""
        if self.property("kind") == "failure":
            self.hide()

    def _show_message(self, text: str, kind: str) -> None:
        self.text.setText(text)
        set_property(self, "kind", kind)
        self.restart.setVisible(kind == "failure")
        self.quit.setVisible(kind == "failure")
        self.show()
        read_out(self, text)


class StateBar(QFrame):
    """Says that the session is in a certain state, for as long as it is.

    action: button that ends this state
    """

    def __init__(self, style: str, text: str, action: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(style)
        self.action = button(action)
        self.words = QLabel(text, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        row((self.words, 1), self.action, of=self, margins=(16, 8, 10, 8), spacing=16)
        self.hide()


class FilmProgress(QFrame):
    """Part of the status bar, hidden unless a film is being made.

    Signals:
        cancel_requested(): the person cancels the film.
    """

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("filmBar")
        self.bar = QProgressBar(maximum=100, textVisible=False)
        self.bar.setAccessibleName("Progress of the film")
        self.cancel = button("Cancel")
        self.cancel.clicked.connect(self.cancel_requested)
        self.bar.setFixedWidth(_BAR)
        self.cancel.setObjectName("quiet")
        row(QLabel("Making the film"), self.bar, self.cancel, of=self, margins=(8, 0, 8, 0), spacing=10)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.hide()

    def set_share(self, share: float) -> None:
        """share: from 0 to 1"""
        self.bar.setValue(round(100 * share))
        self.show()
