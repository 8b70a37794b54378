"""How far a film is, and the way to give it up."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QWidget

from app.style.labels import button


class FilmProgress(QFrame):
    """Hidden unless a film is being made. The film's end is told elsewhere.

    Signals:
        cancel_requested(): the person wants no film after all.
    """

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("filmBar")
        self.bar = QProgressBar(maximum=100, textVisible=False)
        self.bar.setAccessibleName("How far the film is")
        self.cancel = button("Cancel")
        self.cancel.clicked.connect(self.cancel_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 10, 6)
        row.setSpacing(16)
        row.addWidget(QLabel("Making the film"))
        row.addWidget(self.bar, 1)
        row.addWidget(self.cancel)
        self.hide()

    def set_share(self, share: float) -> None:
        self.bar.setValue(round(100 * share))
        self.show()
