"""Where the person chooses other keys."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.keys.commands import COMMANDS, KeyAction, KeyMap, symbol
from app.keys.key_button import KeyButton
from app.style.labels import label
from core.errors import UserError

_KEYS = 2
"""Keys that each command can have."""
_HOW = (
    "Choose a field with a click, or with Tab and Space; then press the key."
    " Esc keeps the old key, Delete leaves the field empty."
)


class KeyDialog(QDialog):
    """A row for each command. Nothing is changed before OK.

    Signals:
        keys_chosen(object): the KeyMap that holds from now on.
    """

    keys_chosen = Signal(object)

    def __init__(self, keys: KeyMap, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.keys = keys
        self.fields: dict[KeyAction, tuple[KeyButton, ...]] = {}
        self.told = label("notice", wrap=True)
        self.told.setMinimumHeight(2 * self.fontMetrics().height() + 4)
        column = QVBoxLayout(self)
        column.addWidget(label("detail", _HOW, wrap=True))
        column.addWidget(self._rows(), 1)
        column.addWidget(self.told)
        column.addWidget(self._buttons())
        self._refresh()
        self.fields[next(iter(COMMANDS))][0].setFocus()
        self.resize(620, 640)

    def _rows(self) -> QScrollArea:
        page = QWidget()
        grid = QGridLayout(page)
        grid.setColumnStretch(0, 1)
        for row, (meaning, entry) in enumerate(COMMANDS.items()):
            grid.addWidget(QLabel(entry.words), row, 0)
            self.fields[meaning] = tuple(self._field(meaning, place) for place in range(_KEYS))
            for place, field in enumerate(self.fields[meaning]):
                grid.addWidget(field, row, 1 + place)
        area = QScrollArea(widgetResizable=True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(page)
        return area

    def _field(self, meaning: KeyAction, place: int) -> KeyButton:
        field = KeyButton(f"{COMMANDS[meaning].words}, {('first', 'second')[place]} key")
        field.key_chosen.connect(lambda key: self.choose(meaning, place, key))
        return field

    def _buttons(self) -> QDialogButtonBox:
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel | kinds.RestoreDefaults)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(kinds.RestoreDefaults).clicked.connect(self._on_reset)
        return self.buttons

    def choose(self, meaning: KeyAction, place: int, key: str) -> None:
        """Gives it this key ('' for none) in that place, and tells what it was taken from, or why it can't have it."""
        before = self.keys.meaning(key)
        wanted = [field.key for field in self.fields[meaning]]
        if before == meaning and key != wanted[place]:
            self.told.setText(f"{symbol(key)} means “{COMMANDS[meaning].words}” already.")
            return
        wanted[place] = key
        try:
            self.keys = self.keys.rebound(meaning, *filter(None, wanted))
        except UserError as error:
            self.told.setText(str(error))
            return
        self.told.setText("" if before in (None, meaning) else _taken(key, before, meaning))
        self._refresh()

    def _on_reset(self) -> None:
        self.keys = KeyMap()
        self.told.setText("These are the usual keys.")
        self._refresh()

    def _refresh(self) -> None:
        for meaning, fields in self.fields.items():
            names = self.keys.keys_for(meaning)
            for place, field in enumerate(fields):
                field.set_key(names[place] if place < len(names) else "")

    def accept(self) -> None:
        self.keys_chosen.emit(self.keys)
        super().accept()


def _taken(key: str, before: KeyAction, meaning: KeyAction) -> str:
    return f"{symbol(key)} meant “{COMMANDS[before].words}” until now; it means “{COMMANDS[meaning].words}” instead."
