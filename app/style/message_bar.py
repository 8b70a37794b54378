"""Bar above a page with one message and buttons for the possible actions."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel

from app.style.labels import read_out, set_property, tab_button
from app.style.layouts import Margins, row


class MessageBar(QFrame):
    """Bar with one message; hidden without one.

    text: label with the message
    buttons: in the order of their texts
    """

    def __init__(self, style: str, *buttons: str, margins: Margins = (16, 8, 10, 8)) -> None:
        """style: name in the style sheet; buttons: their texts"""
        super().__init__()
        self.setObjectName(style)
        self.setAccessibleName("Message")
        self.text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.buttons = [tab_button(text) for text in buttons]
        row((self.text, 1), *self.buttons, of=self, margins=margins, spacing=10)
        self.hide()

    def show_message(self, sentence: str, kind: str = "", with_buttons: bool = True) -> None:
        """Show a sentence; '' hides the bar. kind: variant of the style"""
        self.text.setText(sentence)
        set_property(self, "kind", kind)
        for one in self.buttons:
            one.setVisible(with_buttons)
        self.setVisible(bool(sentence))
        if sentence:
            read_out(self, sentence)
