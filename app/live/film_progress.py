"""Progress of a film export, with a button to cancel it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QWidget

from app.style.labels import button
from app.style.layouts import row


class FilmProgress(QFrame):
    """Hidden unless a film is being made.

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
        row(QLabel("Making the film"), (self.bar, 1), self.cancel, of=self, margins=(16, 6, 10, 6), spacing=16)
        self.hide()

    def set_share(self, share: float) -> None:
        """share: from 0 to 1"""
        self.bar.setValue(round(100 * share))
        self.show()
