"""Bars of the main window: failures and notices at the top, a film's progress below."""

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QSizePolicy

from app.style.labels import tab_button
from app.style.layouts import row
from app.style.message_bar import MessageBar

_NOTICE_MS = 12_000
_BAR = 160
"""Pixels of the progress bar of a film."""


class Banner(MessageBar):
    """Bar for failures and notices. A failure stays until it is resolved; a notice disappears after some seconds.

    Signals:
        restart_requested(): restart the failed jobs.
        quit_requested(): save and quit.
    """

    restart_requested = Signal()
    quit_requested = Signal()

    def __init__(self) -> None:
        super().__init__("banner", "Restart", "Save and quit")
        self.restart, self.quit = self.buttons
        self.restart.clicked.connect(self.restart_requested)
        self.quit.clicked.connect(self.quit_requested)
        self._expiry = QTimer(self, singleShot=True, interval=_NOTICE_MS)
        self._expiry.timeout.connect(self.hide)

    @property
    def shows_failure(self) -> bool:
        return self.isVisible() and self.property("kind") == "failure"

    def show_failure(self, text: str, remedy: str) -> None:
        """remedy: text of the button that restarts."""
        self._expiry.stop()
        self.restart.setText(remedy)
        self.show_message(text, "failure")

    def show_notice(self, text: str) -> None:
        """Ignored while a failure is shown."""
        if not self.shows_failure:
            self.show_message(text, "notice", with_buttons=False)
            self._expiry.start()

    def clear_notice(self) -> None:
        if not self.shows_failure:
            self.hide()

    def clear_failure(self) -> None:
        """Hide a failure but keep a notice."""
        if self.property("kind") == "failure":
            self.hide()


class FilmProgress(QFrame):
    """Part of the status bar, hidden unless a film is being made.

    Signals:
        cancel_requested(): the person cancels the film.
    """

    cancel_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("filmBar")
        self.bar = QProgressBar(maximum=100, textVisible=False)
        self.bar.setAccessibleName("Progress of the film")
        self.cancel = tab_button("Cancel")
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
