"""The keys of labelling, shown and clickable."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.keys.commands import COMMANDS, Command, KeyAction, KeyMap, symbol, symbols
from app.style.labels import button
from core.types import Choice

_SHOWN: tuple[KeyAction, ...] = (*Choice, Command.UNDO)


class KeyHints(QWidget):
    """One button for each. A click leaves the focus where it is.

    Signals:
        meaning_requested(object): a Choice or Command was clicked.
    """

    meaning_requested = Signal(object)

    def __init__(self, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Answers")
        self.buttons: dict[KeyAction, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addStretch(1)
        for meaning in _SHOWN:
            row.addWidget(self._button(meaning))
        row.addStretch(1)
        self.bind(keys)

    def bind(self, keys: KeyMap) -> None:
        """Shows these keys."""
        for meaning, made in self.buttons.items():
            names, words = keys.keys_for(meaning), COMMANDS[meaning].words
            made.setText("  ".join([*map(symbol, names[:1]), words]))
            made.setAccessibleName(words)
            made.setAccessibleDescription(f"key {symbols(names)}" if names else "")

    def enable_choices(self, on: bool) -> None:
        for meaning, made in self.buttons.items():
            if isinstance(meaning, Choice):
                made.setEnabled(on)

    def _button(self, meaning: KeyAction) -> QPushButton:
        made = button("")
        made.clicked.connect(lambda: self.meaning_requested.emit(meaning))
        self.buttons[meaning] = made
        return made
