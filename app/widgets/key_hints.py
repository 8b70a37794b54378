"""The keys, shown and clickable."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.keys import Command, KeyMap, Meaning, symbol
from app.widgets.labels import button
from core.records import Choice

_WORDS: dict[Meaning, str] = {
    Choice.LEFT: "Left is better",
    Choice.RIGHT: "Right is better",
    Choice.TIE: "Tie",
    Choice.CANT_TELL: "Can't tell",
    Command.UNDO: "Undo",
}


class KeyHints(QWidget):
    """One button a key. They never take the focus: each has its key.

    Signals:
        meaning_requested(object): a Choice or Command was clicked.
    """

    meaning_requested = Signal(object)

    def __init__(self, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: dict[Meaning, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addStretch(1)
        for meaning, words in _WORDS.items():
            row.addWidget(self._button(meaning, words, keys))
        row.addStretch(1)

    def enable_choices(self, on: bool) -> None:
        for meaning, made in self.buttons.items():
            if isinstance(meaning, Choice):
                made.setEnabled(on)

    def _button(self, meaning: Meaning, words: str, keys: KeyMap) -> QPushButton:
        shown = [symbol(key) for key in keys.keys_for(meaning)[:1]]
        made = button("  ".join([*shown, words]))
        made.clicked.connect(lambda: self.meaning_requested.emit(meaning))
        self.buttons[meaning] = made
        return made
