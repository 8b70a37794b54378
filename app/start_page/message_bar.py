"""Message above the pages of the start window, with a button if what was done can be undone."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.style.labels import button, label, read_out, set_property
from app.style.layouts import row


class MessageBar(QFrame):
    """Bar with one message; hidden without one.

    Signals:
        undo_requested(): undo what the message is about.
    """

    undo_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("message")
        self.setAccessibleName("Message")
        self.words = label("messageText", wrap=True)
        self.undo = button("Undo")
        self.undo.setObjectName("small")
        self.undo.clicked.connect(self.undo_requested)
        row((self.words, 1), self.undo, of=self, margins=(30, 6, 30, 6), spacing=16)
        self.hide()

    def show_message(self, sentence: str, kind: str = "", can_undo: bool = False) -> None:
        """Show a sentence; '' hides the bar. kind: 'refusal' for what went wrong"""
        self.words.setText(sentence)
        set_property(self, "kind", kind)
        self.undo.setVisible(can_undo)
        self.setVisible(bool(sentence))
        if sentence:
            read_out(self, sentence)
